"""The type variables of an agent: of which state it is, and of which type its answers are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detent.core.state.state import BaseState, State

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    S = TypeVar("S", bound=BaseState, default=State)
    T = TypeVar("T", default=None)
else:  # what a checker needs of it is not worth an import
    from typing import TypeVar

    S = TypeVar("S", bound=BaseState)
    T = TypeVar("T")
