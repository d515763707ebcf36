"""Fields: how the keys of a `TypedState` are declared in its body.

Brackets say types, parentheses say values: ``queries = Appended[str]()``, ``limit = Replaced(10)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

from detent.core.state.fields import NO_DEFAULT, Field
from detent.core.state.handlers import (
    Addable,
    Ordered,
    add_numbers,
    append_unique,
    append_unique_by,
    keep_last,
    keep_max,
    keep_min,
    merge_dicts,
    replace_values,
    unite_sets,
)

T = TypeVar("T")
Item = TypeVar("Item")
K = TypeVar("K")
V = TypeVar("V")


class Replaced(Field[T, T]):
    """A key whose update takes the place of what it holds. Without a default it begins unset."""

    def __init__(self, default: T = NO_DEFAULT) -> None:
        super().__init__(default, replace_values)


class Unique(Field[Sequence[Item], list[Item] | tuple[Item, ...]]):
    """A list that grows by the items that it has not got; with `key`, by those with a new key."""

    container = list

    def __init__(self, key: Callable[[Item], object] | None = None) -> None:
        super().__init__([], append_unique if key is None else append_unique_by(key))


class LastN(Field[Sequence[Item], list[Item] | tuple[Item, ...]]):
    """A list that keeps its last `count` items."""

    container = list

    def __init__(self, count: int) -> None:
        super().__init__([], keep_last(count))


class Merged(Field[Mapping[K, V], Mapping[K, V]]):
    """A dict that every update adds entries to, or replaces some of."""

    container = dict

    def __init__(self, default: Mapping[K, V] | None = None) -> None:
        super().__init__(default or {}, merge_dicts)


class SetUnion(Field[AbstractSet[Item], AbstractSet[Item] | list[Item] | tuple[Item, ...]]):
    """A set that every update adds items to."""

    container = set

    def __init__(self, default: AbstractSet[Item] = frozenset()) -> None:
        super().__init__(set(default), unite_sets)


class Counter(Field[Addable, Addable]):
    """A counter: every update is added to it."""

    def __init__(self, default: Addable) -> None:
        super().__init__(default, add_numbers)


class Maximum(Field[Ordered, Ordered]):
    """The greatest of all updates."""

    def __init__(self, default: Ordered = NO_DEFAULT) -> None:
        super().__init__(default, keep_max)


class Minimum(Field[Ordered, Ordered]):
    """The least of all updates."""

    def __init__(self, default: Ordered = NO_DEFAULT) -> None:
        super().__init__(default, keep_min)
