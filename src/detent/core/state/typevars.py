"""The type variables of an agent: of which state it is, and of which type its answers are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detent.core.state.state import BaseState

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=None)
else:  # what a checker needs of it is not worth an import
    from typing import TypeVar

    T = TypeVar("T")

S = TypeVar("S", bound=BaseState)
