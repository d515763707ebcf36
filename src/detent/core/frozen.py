"""Containers that nobody can change: what enters a run is frozen, what leaves it may be thawed.

`FrozenDict` and `FrozenList` are real dicts and lists (they print, compare and encode as such) that
refuse every change. `Log` is a list that grows by sharing: appending costs what is new, never what
is already there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Generic, Never, TypeVar, cast, overload

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)


def _refuse(self: object, *args: object, **kwargs: object) -> Never:
    kind = type(self).__name__
    raise TypeError(f"a {kind} cannot be changed; make a copy first, e.g. with thaw(value)")


class FrozenDict(dict[K, V]):
    """A dict that refuses every change. Hashable when its values are."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # a dict has no hash; a frozen one has
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[FrozenDict[K, V]], tuple[dict[K, V]]]:
        return type(self), (dict(self),)


class FrozenList(list[T]):
    """A list that refuses every change. Hashable when its items are."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = remove = clear = _refuse
    pop = sort = reverse = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # a list has no hash; a frozen one has
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type[FrozenList[T]], tuple[list[T]]]:
        return type(self), (list(self),)


class _Shared(Generic[T]):
    """A buffer that many logs look into; `tip` holds the one length at which it may grow."""

    __slots__ = ("items", "tip")

    def __init__(self, items: list[T]) -> None:
        self.items = items
        self.tip = {len(items): True}


class Log(Sequence[Item_co]):
    """A list that grows by sharing: ``log + more`` is a new log and costs only what is new.

    A log is a length and a buffer that it shares with the logs it grew from. The newest one extends
    the buffer in place; growing an older one copies. It equals a list with the same items, prints
    like one and says that it is one to ``isinstance``; to encode it, take ``list(log)``.

    >>> first = Log([1, 2])
    >>> second = first + [3]
    >>> first, second
    ([1, 2], [1, 2, 3])
    """

    __slots__ = ("_length", "_shared")
    _shared: _Shared[Item_co]
    _length: int

    def __init__(self, items: Iterable[Item_co] = ()) -> None:
        buffer = list(items)
        self._shared = _Shared(buffer)
        self._length = len(buffer)

    if not TYPE_CHECKING:

        @property
        def __class__(self) -> type:
            """A list, for ``isinstance``: user code that asks for a list is content with a log."""
            return list

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Item_co]:
        return islice(self._shared.items, self._length)

    @overload
    def __getitem__(self, index: int) -> Item_co: ...
    @overload
    def __getitem__(self, index: slice) -> FrozenList[Item_co]: ...
    def __getitem__(self, index: int | slice) -> Item_co | FrozenList[Item_co]:
        if isinstance(index, slice):
            start, stop, stride = index.indices(self._length)
            chosen = range(start, stop, stride)
            items = self._shared.items
            if stride == 1:
                return FrozenList(items[start:stop])
            return FrozenList([items[at] for at in chosen])
        at = index + self._length if index < 0 else index
        if not 0 <= at < self._length:
            raise IndexError(f"index {index} is outside a list of {self._length}")
        return self._shared.items[at]

    def __add__(self, more: Iterable[Item]) -> Log[Item_co | Item]:
        if not isinstance(more, list | tuple):
            return NotImplemented
        shared, length = self._shared, self._length
        grown: Log[Item_co | Item] = Log.__new__(Log)
        # pop is atomic: of two threads that grow one log, one extends the buffer, one copies.
        if not shared.tip.pop(length, False):
            shared = _Shared(shared.items[:length])
            shared.tip.clear()
        shared.items.extend(cast("list[Item_co]", more))  # logs of both item types see the buffer
        grown._length = length + len(more)
        shared.tip[grown._length] = True
        grown._shared = shared  # type: ignore[assignment]  # logs of both types see it
        return grown

    def __radd__(self, before: list[Item]) -> list[Item_co | Item]:
        return [*before, *self]

    def __eq__(self, other: object) -> bool:
        if type(other) is Log and other._shared is self._shared and other._length == self._length:
            return True
        if not isinstance(other, list) or len(other) != self._length:
            return False
        return all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(list(self))

    def __reduce__(self) -> tuple[type[Log[Item_co]], tuple[list[Item_co]]]:
        return Log, (list(self),)


def freeze(value: object) -> object:
    """`value` with every dict, list and set in it, however deep, made unchangeable.

    Values of other types are taken as they are. A value that is frozen already costs one look.
    """
    if type(value) in _FROZEN:
        return value
    if isinstance(value, Mapping):
        return FrozenDict({key: freeze(item) for key, item in value.items()})
    if isinstance(value, list):
        return FrozenList(map(freeze, value))
    if type(value) is tuple:
        return tuple(map(freeze, value))
    if isinstance(value, set):
        return frozenset(value)
    return value


_FROZEN = frozenset({str, int, float, bool, type(None), FrozenDict, FrozenList, Log, frozenset})


def thaw(value: object) -> object:
    """A copy of `value` made of plain dicts and lists, however deep, which its owner may change."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list):
        return [thaw(item) for item in value]
    if type(value) is tuple:
        return tuple(map(thaw, value))
    return value
