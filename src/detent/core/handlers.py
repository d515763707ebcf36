"""Handlers: how an update merges into what a key holds. Each is pure: (current, update) -> next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar, cast

from detent.core.frozen import Log

T = TypeVar("T")
U = TypeVar("U")

Handler: TypeAlias = Callable[[T, U], T]
"""Merges the current value of a key with an update into the next value."""


def replace_values(current: object, update: T) -> T:
    """The update takes the place of the current value. The default for keys that are not lists."""
    return update


def merge_lists(current: Sequence[T] | None, update: Sequence[T] | None) -> Sequence[T]:
    """The update's items follow the current ones. The default for lists.

    A list or tuple adds its items, None adds nothing, any other value is one item. A current value
    that is no list counts as a list of that value; None counts as empty.

    >>> merge_lists([1], [2, 3])
    [1, 2, 3]
    """
    before: Log[T] = current if isinstance(current, Log) else Log(_items(current))
    return before + _items(update)


def _items(value: Sequence[T] | None) -> list[T] | tuple[T, ...]:
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (cast("T", value),)
