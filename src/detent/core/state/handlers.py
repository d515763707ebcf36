"""Handlers: how an update merges into what a key holds. Each is pure: (current, update) -> next.

`current` is None when the key holds nothing yet. A docstring ends with the laws that the handler
keeps. *Associative*: two updates merged one after the other are the same as one made of both.
*Idempotent*: an update that comes twice counts once. *Commutative*: updates may come in any order.
*Identity*: the update that changes nothing.

RULE: what looks for equal keys or items raises ValueError for more than some different ones of one
hash, see `require_spread`: a tool may hand on what a model wrote. So it does for those that have no
hash and of which only their class knows what is equal to them, see `hashable`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any, Protocol, TypeAlias, TypeVar, cast

from detent.core.values.copies import peek
from detent.core.values.equality import hashable
from detent.core.values.frozen import FrozenDict, FrozenSet, freeze
from detent.core.values.hashes import require_spread
from detent.core.values.shared_list import SharedList

T = TypeVar("T")
U = TypeVar("U")
K = TypeVar("K")
V = TypeVar("V")
Addable = TypeVar("Addable", bound="SupportsAdd")
Ordered = TypeVar("Ordered", bound="SupportsOrder")

Handler: TypeAlias = Callable[[T, U], T]
"""Merges the current value of a key with an update into the next value."""


ListHandler: TypeAlias = Callable[[Sequence[T] | None, Sequence[T] | None], Sequence[T]]
"""A handler of lists that takes None for an empty one."""


class SupportsAdd(Protocol):
    """What can be added up: numbers, `Decimal`, `timedelta`."""

    def __add__(self, other: Any, /) -> Any: ...


class SupportsOrder(Protocol):
    """What has an order: numbers, dates, texts."""

    def __lt__(self, other: Any, /) -> bool: ...


def replace_values(current: object, update: T) -> T:
    """The update takes the place of the current value. The default for keys that are not lists.

    Associative, idempotent.
    """
    return update


def merge_lists(current: Sequence[T] | T | None, update: Sequence[T] | T | None) -> Sequence[T]:
    """The update's items follow the current ones. The default for lists.

    A list or tuple adds its items, None adds nothing, any other value is one item; so is a current
    value that is no list. The cost does not grow with the list. Associative; identity: [].

    >>> merge_lists([1], [2, 3])
    [1, 2, 3]
    """
    if type(current) is SharedList and type(update) is SharedList:  # it costs what is new
        return current + update
    return _log_of(cast(Any, current)) + _items(cast(Any, update))


def append_unique(current: Sequence[T] | None, update: Sequence[T] | None) -> Sequence[T]:
    """The update's items follow the current ones, except those that are there already.

    The cost grows with the list. Associative, idempotent; identity: [].

    >>> append_unique(["a", "b"], ["b", "c", "c"])
    ['a', 'b', 'c']
    """
    return _with_new(current, update, None)


def append_unique_by(key: Callable[[T], object]) -> ListHandler[T]:
    """A handler like `append_unique`, for which items with an equal `key` are the same.

    The first of them stays. Associative, idempotent; identity: [].

    >>> append_unique_by(str.lower)(["a"], ["A", "b"])
    ['a', 'b']
    """

    def append_unique_by_key(
        current: Sequence[T] | None, update: Sequence[T] | None
    ) -> Sequence[T]:
        return _with_new(current, update, key)

    return append_unique_by_key


def keep_last(count: int) -> ListHandler[Any]:
    """A handler that appends and keeps only the last `count` items. Associative; identity: [].

    Raises:
        ValueError: `count` is no number, or less than 1.

    >>> keep_last(3)([1, 2], [3, 4])
    [2, 3, 4]
    """
    if not isinstance(count, int) or count < 1:
        raise ValueError(f"keep_last keeps a number of items, at least one, got {count!r}")

    def keep_last_items(
        current: Sequence[object] | None, update: Sequence[object] | None
    ) -> Sequence[object]:
        return [*_items(current), *_items(update)][-count:]

    return keep_last_items


def merge_dicts(current: Mapping[K, V] | None, update: Mapping[K, V] | None) -> Mapping[K, V]:
    """The update's entries join the current ones; where both have a key, the update's value counts.

    Associative, idempotent; identity: {}.

    >>> merge_dicts({"a": 1, "b": 2}, {"b": 3})
    {'a': 1, 'b': 3}
    """
    before, new = current or {}, update or {}
    if isinstance(new, Mapping):  # else Python says what it is
        require_spread(new, before)
    return {**before, **new}


def unite_sets(current: AbstractSet[T] | None, update: Iterable[T] | None) -> AbstractSet[T]:
    """The items of both. An update that is no set, list or tuple is one item.

    Associative, commutative, idempotent; identity: the empty set.

    >>> unite_sets({1}, [1, 2])
    {1, 2}
    """
    before, new = current or (), update if isinstance(update, AbstractSet) else _items(update)
    require_spread(new, before)
    return {*before, *new}


Joinable: TypeAlias = FrozenDict[Any, Any] | FrozenSet[Any]


def join_frozen(current: Joinable, new: Joinable) -> Joinable:
    """What `merge_dicts` or `unite_sets` makes of both, frozen.

    It costs a copy of the references: nothing in `current` is looked at, nor frozen anew.
    """
    require_spread(new, current)
    joined = type(current)()
    base: Any = dict if isinstance(current, dict) else set
    base.update(joined, current)  # of its base: nobody else has seen it by now
    base.update(joined, new)
    return joined


def add_numbers(current: Addable | None, update: Addable) -> Addable:
    """The sum of both. Associative and commutative for integers; identity: 0.

    >>> add_numbers(2, 3)
    5
    """
    return update if current is None else cast(Addable, current + update)


def keep_max(current: Ordered | None, update: Ordered) -> Ordered:
    """The greater of both, the current one if they are equal. Associative, idempotent.

    >>> keep_max(2, 3)
    3
    """
    return update if current is None or current < update else current


def keep_min(current: Ordered | None, update: Ordered) -> Ordered:
    """The lesser of both, the current one if they are equal. Associative, idempotent.

    >>> keep_min(2, 3)
    2
    """
    return update if current is None or update < current else current


def _items(value: Iterable[T] | None) -> Sequence[T]:
    if value is None:
        return ()
    return value if isinstance(value, list | tuple | SharedList) else (cast(T, value),)


def _log_of(value: Sequence[T] | None) -> SharedList[T]:
    return value if type(value) is SharedList else SharedList(_items(value))


def _with_new(
    current: Sequence[T] | None, update: Sequence[T] | None, key: Callable[[T], object] | None
) -> Sequence[T]:
    before, items = _log_of(current), _items(update)
    marks = [*map(hashable, map(freeze, chain(_marks(before, key), _marks(items, key))))]
    require_spread(marks)
    known = set(marks[: len(before)])
    new: list[T] = []
    for item, mark in zip(items, marks[len(before) :], strict=True):
        if mark not in known:
            known.add(mark)
            new.append(item)
    return before + new


def _marks(items: Sequence[T], key: Callable[[T], object] | None) -> Iterable[object]:
    """What is compared of items; without a key nobody gets them, and none is copied."""
    if key is not None:
        return map(key, items)
    return map(peek, items.held() if isinstance(items, SharedList) else items)
