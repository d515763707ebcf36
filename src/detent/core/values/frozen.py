"""Containers that nobody can change: what enters a run is frozen, what leaves it may be thawed.

Each is a real dict, list or set (it prints, compares and encodes as such) whose methods refuse
every change. Python itself can be made to go behind a class, as ``list.append(frozen, item)`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from operator import is_
from types import BuiltinFunctionType, FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Never, TypeVar, cast

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

ATOMS: set[type] = {
    *(str, int, float, bool, type(None), bytes, complex, range, type(...)),
    *(datetime, date, time, timedelta, timezone, Decimal),
    *(type, FunctionType, BuiltinFunctionType),
}
"""Types whose own instances nobody can change, and that hold nothing that can be changed."""


def sealed(kind: type[T]) -> type[T]:
    """A class whose instances freeze all that comes in, so that no write need look into one."""
    ATOMS.add(kind)
    return kind


def _refuse(self: object, *args: object, **kwargs: object) -> Never:
    kind = type(self).__name__
    raise TypeError(f"a {kind} cannot be changed; make a copy first, e.g. with thaw(value)")


def _filling(base: Any) -> Any:
    """A ``__new__`` that fills it already: anybody can call the ``__init__`` of `base` again."""

    def new(cls: Any, *items: object, **entries: object) -> object:
        instance = base.__new__(cls)
        base.__init__(instance, *items, **entries)
        return instance

    return new


class FrozenDict(dict[K, V]):
    """A dict that refuses every change. Hashable when its values are."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    if not TYPE_CHECKING:  # a checker takes the constructor of dict
        __new__, __init__ = _filling(dict), object.__init__

    def __hash__(self) -> int:  # type: ignore[override]  # a dict has no hash; a frozen one has
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[FrozenDict[K, V]], tuple[dict[K, V]]]:
        return type(self), (dict(self),)


EMPTY: FrozenDict[str, Any] = FrozenDict()


class FrozenList(list[T]):
    """A list that refuses every change. Hashable when its items are."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = remove = clear = _refuse
    pop = sort = reverse = _refuse

    if not TYPE_CHECKING:  # a checker takes the constructor of list
        __new__, __init__ = _filling(list), object.__init__

    def __hash__(self) -> int:  # type: ignore[override]  # a list has no hash; a frozen one has
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type[FrozenList[T]], tuple[list[T]]]:
        return type(self), (list(self),)


class FrozenSet(set[T]):
    """A set that refuses every change, and is a `set` to those who ask. Hashable."""

    __slots__ = ()
    __ior__ = __iand__ = __isub__ = __ixor__ = _refuse
    add = discard = remove = pop = clear = update = _refuse
    difference_update = intersection_update = symmetric_difference_update = _refuse

    if not TYPE_CHECKING:  # a checker takes the constructor of set
        __new__, __init__ = _filling(set), object.__init__

    def __hash__(self) -> int:  # type: ignore[override]  # a set has no hash; a frozen one has
        return hash(frozenset(self))

    def __repr__(self) -> str:
        return repr(set(self))

    def __reduce__(self) -> tuple[type[FrozenSet[T]], tuple[set[T]]]:
        return type(self), (set(self),)


Leaf = Callable[[Any], object]


def _plain(value: object) -> object:
    """Any mapping and any list counts as a plain one; all else is taken as it is."""
    if isinstance(value, Mapping):
        return freeze(dict(cast("Mapping[object, object]", value)))
    if isinstance(value, list):
        return freeze(list(cast("list[object]", value)))
    return value


def freeze(value: object, leaf: Leaf = _plain) -> object:
    """`value` with every dict, list and set in it, however deep, replaced by a frozen one.

    A value in which nothing had to be replaced is given back itself. `leaf` decides on all that is
    neither an atom nor a plain container.
    """
    kind = type(value)
    if kind in ATOMS:
        return value
    if kind is dict or kind is FrozenDict or kind is MappingProxyType:
        return _frozen_dict(cast("Mapping[object, object]", value), leaf)
    if kind in _COLLECTIONS:
        return _frozen_collection(cast("Iterable[object]", value), leaf)
    return leaf(value)


def frozen_mapping(value: Mapping[str, object]) -> FrozenDict[str, object]:
    """The converter of every field that holds a mapping of JSON values."""
    if type(value) is FrozenDict:
        return value
    return FrozenDict({key: freeze(item) for key, item in value.items()})


_COLLECTIONS: Mapping[type, Callable[[Iterable[object]], Any]] = {
    list: FrozenList,
    FrozenList: FrozenList,
    tuple: tuple,
    set: FrozenSet,
    FrozenSet: FrozenSet,
    frozenset: frozenset,
}


def _frozen_dict(value: Mapping[object, object], leaf: Leaf) -> FrozenDict[object, object]:
    if not value and type(value) is FrozenDict:
        return value
    if ATOMS.issuperset(map(type, value)) and ATOMS.issuperset(map(type, value.values())):
        return value if type(value) is FrozenDict else FrozenDict(value)
    keys = [freeze(key, leaf) for key in value]
    items = [freeze(item, leaf) for item in value.values()]
    if type(value) is FrozenDict and _same(keys, value) and _same(items, value.values()):
        return value
    return FrozenDict(zip(keys, items, strict=True))


def _frozen_collection(value: Iterable[object], leaf: Leaf) -> object:
    kind = _COLLECTIONS[type(value)]
    if ATOMS.issuperset(map(type, value)):
        return value if type(value) is kind else kind(value)
    items = [freeze(item, leaf) for item in value]
    return value if type(value) is kind and _same(items, value) else kind(items)


def _same(left: Iterable[object], right: Iterable[object]) -> bool:
    return all(map(is_, left, right))


def is_deep(value: object, levels: int) -> bool:
    """Whether what stands in a value stands so many levels deep, in mappings, lists and tuples."""
    level = [value]
    for _ in range(levels - 1):  # level by level: a recursion would fail at the depth it looks for
        level = [item for container in level for item in _containers(parts_of(container))]
        if not level:
            return False
    return any(len(parts_of(container)) for container in level)


def parts_of(value: object) -> Collection[object]:
    """What stands in a list, a tuple or a mapping; nothing in any other value."""
    if isinstance(value, (list, tuple)):  # `|` takes thrice as long, and an abstract class as well
        return cast("Collection[object]", value)
    if isinstance(value, (dict, Mapping)):
        return cast("Mapping[object, object]", value).values()
    return ()


def _containers(items: Collection[object]) -> Iterable[object]:
    """Those of the items in which others may stand: what writes texts and numbers writes many."""
    if not items or ATOMS.issuperset(map(type, items)):
        return ()
    return [item for item in items if type(item) not in ATOMS]


def thaw(value: object) -> object:
    """A copy of `value` in plain dicts, lists and sets, however deep, for its owner to change."""
    if isinstance(value, dict):
        return {k: x if type(x) in ATOMS else thaw(x) for k, x in value.items()}
    if isinstance(value, list):
        return [item if type(item) in ATOMS else thaw(item) for item in value]
    if type(value) is tuple:
        return tuple(map(thaw, value))
    if type(value) is FrozenSet:
        return set(value)
    return value
