"""Twins: quick ways to the frozen values of which every turn makes some.

attrs fills a frozen instance field by field through ``object.__setattr__``, which takes most of the
time. A function that has a twin of the class begins with an instance of that, which can be changed,
fills it, and makes it one of the class itself with the last assignment: of four fields in 2,000
instructions in place of 5,700.

RULE: nothing is converted, and nobody else has seen the instance before it is frozen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast


def twin(kind: type[object]) -> Callable[[], Any]:
    """What makes empty instances, to be filled, of a frozen attrs class with slots.

    Once they are, assign the class: ``new.__class__ = kind``.
    """
    free = {"__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    empty = {"__slots__": (), "__init__": object.__init__, **free}
    return cast("Callable[[], Any]", type(f"{kind.__name__}Twin", (kind,), empty))
