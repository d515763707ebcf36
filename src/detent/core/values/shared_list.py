"""`SharedList`: a list that nobody can change and that grows by sharing."""

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

    >>> first = SharedList([1, 2])
    >>> second = first + [3]
    >>> first, second
    ([1, 2], [1, 2, 3])
    """

    __slots__ = ("_piece",)
    _piece: _Piece

    def __new__(cls, items: Iterable[Item_co] = ()) -> Self:
        """Fill it here already: without an ``__init__`` nobody can begin it again."""
        held: list[object] = list(items)  # a copy: the caller may go on changing his
        plain = ATOMS.issuperset(map(type, held))
        if not plain:
            held = list(map(protect, held))
        guarded = not plain and CopyOnRead in map(type, held)
        self = object.__new__(cls)
        self._piece = _Piece(None, _Buffer(held), len(held), guarded=guarded)
        return self

    @classmethod
    def of_frozen(cls, items: list[Item]) -> SharedList[Item]:
        """A log of items that nobody can change. The list must be nobody else's."""
        return SharedList._of(
            _Piece(None, _Buffer(cast("list[object]", items)), len(items), guarded=False)
        )

    @classmethod
    def _of(cls, piece: _Piece) -> Self:
        self = object.__new__(cls)
        self._piece = piece
        return self

    def __len__(self) -> int:
        return self._piece.length

    def __iter__(self) -> Iterator[Item_co]:
        held = cast(Iterator[Item_co], self.held())
        return map(read_copy, held) if self._piece.guarded else held

    def held(self) -> Iterator[object]:
        """The items as they are kept: guarded ones are not copied."""
        return _items(self._piece)

    def beyond(self, earlier: SharedList[Any]) -> list[object]:
        """The items behind those that this log shares with `earlier`: all that can be new in it.

        They are for looking only: guarded ones are not copied.
        """
        new = _items_from(self._piece, _shared_length(self._piece, _piece_of(earlier)))
        return list(map(peek, new)) if self._piece.guarded else new

    @overload
    def __getitem__(self, index: int) -> Item_co: ...
    @overload
    def __getitem__(self, index: slice) -> FrozenList[Item_co]: ...
    def __getitem__(self, index: int | slice) -> Item_co | FrozenList[Item_co]:
        if isinstance(index, slice):
            start, stop, stride = index.indices(len(self))
            if stride != 1:
                return FrozenList([self[at] for at in range(start, stop, stride)])
            some = _items_from(self._piece, start)[: max(stop - start, 0)]
            return FrozenList(map(read_copy, some))
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(f"index {index} is outside a list of {len(self)}")
        return cast(Item_co, read_copy(_at(self._piece, at)))

    def __add__(self, more: Iterable[Item]) -> SharedList[Item_co | Item]:
        if type(more) is not SharedList:
            return self + SharedList(more) if isinstance(more, (list, tuple)) else NotImplemented
        added: SharedList[Item_co | Item] = more
        mine, theirs = self._piece, added._piece
        if not mine.length or not theirs.length:
            return added if theirs.length else self
        return SharedList._of(_grown(mine, list(_items(theirs)), guarded=theirs.guarded))

    def followed_by(self, items: Sequence[Item]) -> SharedList[Item_co | Item]:
        """The log with more items, of classes whose instances nobody can change."""
        if not items:
            return self
        grown: SharedList[Item_co | Item] = object.__new__(SharedList)
        grown._piece = _grown(self._piece, items, guarded=False)
        return grown

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
        theirs = other.held() if type(other) is SharedList else cast(Iterable[object], other)
        return list(self.held()) == list(theirs)

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


def read(held: object) -> Any:
    """What a reader gets of what a state holds: a value of the type that the key declares.

    A shared list is a real list then, frozen: handlers and tools ask ``isinstance``, and
    ``json.dumps`` takes no other. That copies its references; who only adds to it need not read it.
    """
    return FrozenList(held) if type(held) is SharedList else read_copy(held)


def bare(held: object) -> Any:
    """What a state holds, for those who only look at it: nothing is copied."""
    if type(held) is not SharedList:
        return peek(held)
    items = held.held()
    return list(map(peek, items)) if _piece_of(held).guarded else list(items)


def _piece_of(log: SharedList[Any]) -> _Piece:
    return log._piece  # noqa: SLF001  # logs know each other


class _Buffer:
    """Items that several logs look into. `tip` has the one length at which they may grow."""

    __slots__ = ("items", "tip")

    def __init__(self, items: list[object]) -> None:
        self.items = items
        self.tip = {len(items): True}


class _Piece:
    """The end of a log: the first items of a buffer, behind the piece that came before.

    `length` counts the items of the whole log, `own` those in this buffer.
    """

    __slots__ = ("before", "buffer", "guarded", "length", "own", "start")
    length: int

    def __init__(self, before: _Piece | None, buffer: _Buffer, own: int, *, guarded: bool) -> None:
        self.before = before
        self.buffer = buffer
        self.own = own
        self.start = 0 if before is None else before.length
        self.length = self.start + own
        self.guarded = guarded


def _grown(piece: _Piece, added: Sequence[object], *, guarded: bool) -> _Piece:
    """The newest log of a buffer extends it in place, where older ones do not look; others fork.

    A fork has the new items in a buffer of its own behind the old one.
    """
    buffer, own = piece.buffer, piece.own + len(added)
    # pop is atomic: of several threads that grow one log, one extends the buffer, the others fork
    if buffer.tip.pop(piece.own, False):
        buffer.items.extend(added)
        buffer.tip[own] = True
        return _Piece(piece.before, buffer, own, guarded=piece.guarded or guarded)
    if piece.before is not None and piece.before.own < 2 * piece.own:
        piece = _behind(piece.before, _tail(piece))
    return _behind(piece, list(added))


def _behind(before: _Piece | None, items: list[object]) -> _Piece:
    """`items` in a buffer of their own behind `before`.

    A piece that is not twice as long as the one behind it is merged with that. So a log of n items
    has at most log2(n) pieces, and an item is not copied much more often.
    """
    while before is not None and before.own < 2 * len(items):
        items = _tail(before) + items
        before = before.before
    guarded = CopyOnRead in map(type, items) or (before is not None and before.guarded)
    return _Piece(before, _Buffer(items), len(items), guarded=guarded)


def _tail(piece: _Piece) -> list[object]:
    return piece.buffer.items[: piece.own]


def _items(piece: _Piece) -> Iterator[object]:
    own = islice(piece.buffer.items, piece.own)
    return own if piece.before is None else chain(_items(piece.before), own)


def _at(piece: _Piece, at: int) -> object:
    while at < piece.start and piece.before is not None:
        piece = piece.before
    return piece.buffer.items[at - piece.start]


def _items_from(piece: _Piece, first: int) -> list[object]:
    if first < piece.start:
        return list(islice(_items(piece), first, None))
    return piece.buffer.items[first - piece.start : piece.own]


def _pieces(piece: _Piece | None) -> Iterator[_Piece]:
    while piece is not None:
        yield piece
        piece = piece.before


def _shared_length(piece: _Piece, other: _Piece) -> int:
    """How many leading items of two logs are the same, whichever buffers they are in.

    A buffer in common saves looking at them.
    """
    ends = {part.buffer: part.length for part in _pieces(other)}
    common = (min(part.length, ends[part.buffer]) for part in _pieces(piece) if part.buffer in ends)
    shared = next(common, 0)
    if shared == min(piece.length, other.length):
        return shared
    both = zip(_items_from(piece, shared), _items_from(other, shared), strict=False)
    # `is`, not `==`: what is equal may be of another type, and to compare costs what to write does
    return shared + sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], both))
