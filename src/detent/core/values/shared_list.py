"""`SharedList`: a list that nobody can change and that grows by sharing."""

# ruff: noqa: SLF001  # lists know each other

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, takewhile
from typing import TYPE_CHECKING, Any, Never, Self, TypeVar, cast, overload

from detent.core.values.copies import CopyOnRead, peek, protect, read_copy
from detent.core.values.frozen import ATOMS, FrozenList

Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)


class SharedList(Sequence[Item_co]):
    """A list that grows by sharing: ``log + more`` is a new log and costs what is new.

    Its items are frozen, or guarded: what can be changed is copied when it is read. It equals a
    list with the same items and prints like one, but is none: `read` makes one for who reads it.

    A log is the first `_own` items of a buffer, behind those of the log `_before`, which end at
    `_start`. Buffers only grow, and only where no log looks into them yet.

    >>> first = SharedList([1, 2])
    >>> second = first + [3]
    >>> first, second
    ([1, 2], [1, 2, 3])
    """

    __slots__ = ("_before", "_buffer", "_guarded", "_length", "_own", "_start")
    _before: SharedList[Any] | None
    _buffer: _Buffer
    _guarded: bool
    _length: int
    _own: int
    _start: int

    def __new__(cls, items: Iterable[Item_co] = ()) -> SharedList[Item_co]:
        """Fill it here already: without an ``__init__`` nobody can begin it again."""
        content: list[object] = list(items)  # a copy: the caller may go on changing his
        if ATOMS.issuperset(map(type, content)):
            return _log(None, _Buffer(content), len(content), guarded=False)
        return _behind(None, list(map(protect, content)))

    @classmethod
    def of_frozen(cls, items: list[Item]) -> SharedList[Item]:
        """A log of items that nobody can change. The list must be nobody else's."""
        return _log(None, _Buffer(cast("list[object]", items)), len(items), guarded=False)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Item_co]:
        content: Iterator[Any] = self.held()
        return map(read_copy, content) if self._guarded else content

    def held(self) -> Iterator[object]:
        """The items as they are kept: guarded ones are not copied."""
        own = islice(self._buffer.items, self._own)
        return own if self._before is None else chain(self._before.held(), own)

    def shared_with(self, earlier: SharedList[Any]) -> int:
        """How many leading items of two logs are the same, whichever buffers they are in.

        A buffer in common saves looking at them.
        """
        ends = {part._buffer: part._length for part in _parts(earlier)}
        common = (min(at._length, ends[at._buffer]) for at in _parts(self) if at._buffer in ends)
        length = next(common, 0)
        if length == min(len(self), len(earlier)):
            return length
        pairs = zip(_items_from(self, length), _items_from(earlier, length), strict=False)
        # `is`, not `==`: what is equal may be of another type, and to compare costs what to write
        # does
        return length + sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))

    def beyond(self, earlier: SharedList[Any]) -> list[object]:
        """The items behind those that this log shares with `earlier`: all that can be new in it.

        They are for looking only: guarded ones are not copied.
        """
        new = _items_from(self, self.shared_with(earlier))
        return list(map(peek, new)) if self._guarded else new

    @overload
    def __getitem__(self, index: int) -> Item_co: ...
    @overload
    def __getitem__(self, index: slice) -> FrozenList[Item_co]: ...
    def __getitem__(self, index: int | slice) -> Item_co | FrozenList[Item_co]:
        if isinstance(index, slice):
            start, stop, stride = index.indices(len(self))
            if stride != 1:
                return FrozenList([self[place] for place in range(start, stop, stride)])
            items = _items_from(self, start)[: max(stop - start, 0)]
            return FrozenList(map(read_copy, items))
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"index {index} is outside a list of {len(self)}")
        part: SharedList[Any] = self
        while place < part._start and part._before is not None:
            part = part._before
        return cast(Item_co, read_copy(part._buffer.items[place - part._start]))

    def __add__(self, items: Iterable[Item]) -> SharedList[Item_co | Item]:
        if type(items) is not SharedList:
            return self + SharedList(items) if isinstance(items, (list, tuple)) else NotImplemented
        tail: SharedList[Item_co | Item] = items
        if not self._length or not tail._length:
            return tail if tail._length else self
        return _extend(self, list(tail.held()), guarded=tail._guarded)

    def followed_by(self, items: Sequence[Item]) -> SharedList[Item_co | Item]:
        """The log with more items, of classes whose instances nobody can change."""
        return _extend(self, items, guarded=False) if items else self

    def __radd__(self, before: list[Item]) -> list[Item | Item_co]:
        return [*before, *self] if isinstance(before, list) else NotImplemented

    def copy(self) -> list[Item_co]:
        """A plain list of the items."""
        return list(self)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __eq__(self, other: object) -> bool:
        if type(other) is not SharedList and not isinstance(other, list):
            return NotImplemented
        items = other.held() if type(other) is SharedList else cast(Iterable[object], other)
        return list(self.held()) == list(items)

    def __hash__(self) -> int:
        return hash(tuple(self.held()))

    def __repr__(self) -> str:
        return repr(list(self.held()))

    def __reduce__(self) -> tuple[type[SharedList[Item_co]], tuple[list[Item_co]]]:
        return SharedList, (list(self),)

    if not TYPE_CHECKING:  # a checker knows that a Sequence has none of these; others are told

        def _refuse(self, *args: object, **kwargs: object) -> Never:
            raise TypeError(
                "a list that a state holds cannot be changed; write to the state, or change list(…)"
            )

        __setitem__ = __delitem__ = append = extend = insert = remove = _refuse
        clear = pop = sort = reverse = _refuse


def read(value: object) -> Any:
    """What a reader gets of what a state holds: a value of the type that the key declares.

    A shared list is a real list then, frozen: handlers and tools ask ``isinstance``, and
    ``json.dumps`` takes no other. That copies its references; who only adds to it need not read it.
    """
    return FrozenList(value) if type(value) is SharedList else read_copy(value)


def bare(value: object) -> Any:
    """What a state holds, for those who only look at it: nothing is copied."""
    if type(value) is not SharedList:
        return peek(value)
    items = value.held()
    return list(map(peek, items)) if value._guarded else list(items)


class _Buffer:
    """Items that several logs look into. `tip` has the one length at which they may grow."""

    __slots__ = ("items", "tip")

    def __init__(self, items: list[object]) -> None:
        self.items = items
        self.tip = {len(items): True}


def _log(
    before: SharedList[Any] | None, buffer: _Buffer, own: int, *, guarded: bool
) -> SharedList[Any]:
    log: SharedList[Any] = object.__new__(SharedList)
    log._before = before
    log._buffer = buffer
    log._own = own
    log._start = 0 if before is None else before._length
    log._length = log._start + own
    log._guarded = guarded
    return log


def _extend(log: SharedList[Any], items: Sequence[object], *, guarded: bool) -> SharedList[Any]:
    """The newest log of a buffer extends it in place, where older ones do not look; others fork.

    A fork has the new items in a buffer of its own behind the old one.
    """
    buffer, own = log._buffer, log._own + len(items)
    # pop is atomic: of several threads that grow one log, one extends the buffer, the others fork
    if buffer.tip.pop(log._own, False):
        buffer.items.extend(items)
        buffer.tip[own] = True
        return _log(log._before, buffer, own, guarded=log._guarded or guarded)
    if log._before is not None and log._before._own < 2 * log._own:
        log = _behind(log._before, _tail(log))
    return _behind(log, list(items))


def _behind(before: SharedList[Any] | None, items: list[object]) -> SharedList[Any]:
    """`items` in a buffer of their own behind `before`.

    A log that is not twice as long as the one behind it is merged with that. So one of n items
    has at most log2(n) buffers, and an item is not copied much more often.
    """
    while before is not None and before._own < 2 * len(items):
        items = _tail(before) + items
        before = before._before
    guarded = CopyOnRead in map(type, items) or (before is not None and before._guarded)
    return _log(before, _Buffer(items), len(items), guarded=guarded)


def _tail(log: SharedList[Any]) -> list[object]:
    return log._buffer.items[: log._own]


def _items_from(log: SharedList[Any], start: int) -> list[object]:
    if start < log._start:
        return list(islice(log.held(), start, None))
    return log._buffer.items[start - log._start : log._own]


def _parts(log: SharedList[Any] | None) -> Iterator[SharedList[Any]]:
    """The log, and those that it grew behind."""
    while log is not None:
        yield log
        log = log._before
