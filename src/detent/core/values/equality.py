"""Equality: what stands for a value in a set, where the value itself has no hash.

To compare each of n values with all others takes their square. Most classes whose instances have no
hash say what they compare: a hash can be made of these parts.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from numbers import Number
from types import MappingProxyType
from typing import Any, TypeAlias

import attrs
from attrs import frozen

Compared: TypeAlias = Callable[[Any], Iterable[object]]
"""What an instance is compared by."""

Code: TypeAlias = Callable[[Any], int]
"""Makes the hash of an instance."""

GENERATED = ("<string>", "<attrs generated")
"""How what dataclasses and attrs have written begins to say where it stands: in no file."""

PYDANTIC = frozenset({("pydantic.main", "BaseModel"), ("pydantic.root_model", "RootModel")})
"""The classes whose equality compares what pydantic keeps of a model."""

MINUS_ONE = 1_000_003
"""The hash of -1 here: to Python it is that of -2, so that rows of both would have but one."""

OPAQUE = 1_000_033
"""The hash of all values of which only their class knows what they are equal to."""


@frozen(eq=False)
class Mark:
    """A value, with a hash that it need not have itself.

    RULE: two marks are equal exactly when their values are. For that the values are asked, and it
    is the hash alone that is made of what they are compared by: what this cannot see, as that one
    kind of a dict minds the order, makes no two of what is equal.
    """

    value: object
    code: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mark) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return self.code


def hashable(value: object) -> object:
    """What has a hash, and is equal for two values that are: a mark, or a value without parts."""
    kind: Any = type(value)
    if _code_by_parts(kind) is not None:
        return Mark(value, _code(value))
    try:
        hash(value)
    except TypeError:
        return Mark(value, OPAQUE)
    return value


def _code(value: object) -> int:
    """A hash that values which are equal have both: a set has none itself, and a frozenset has."""
    kind: Any = type(value)
    by_parts = _code_by_parts(kind)
    if by_parts is not None:
        return by_parts(value)
    try:
        code = hash(value)
    except TypeError:
        return OPAQUE
    if code == hash(-1) and isinstance(value, Number) and _is_minus_one(value):
        return MINUS_ONE
    return code


def _is_minus_one(number: Any) -> bool:
    return bool(number == -1)


def _of_items(items: Iterable[object]) -> int:
    return hash(tuple(map(_code, items)))


def _of_members(members: Iterable[object]) -> int:
    return hash(frozenset(map(_code, members)))


def _of_entries(entries: Mapping[object, object]) -> int:
    return hash(frozenset((_code(name), _code(item)) for name, item in entries.items()))


def _of_counts(counts: Mapping[object, object]) -> int:
    """To a Counter what is not there is there 0 times."""
    return _of_entries({name: count for name, count in counts.items() if _code(count)})


FORMS: Mapping[object, Code] = {
    **dict.fromkeys((list.__eq__, tuple.__eq__, deque.__eq__), _of_items),
    **dict.fromkeys((set.__eq__, frozenset.__eq__), _of_members),
    **dict.fromkeys((dict.__eq__, OrderedDict.__eq__, MappingProxyType.__eq__), _of_entries),
    Counter.__eq__: _of_counts,
    bytearray.__eq__: lambda data: hash(bytes(data)),
}
"""By an equality of Python's the hash that goes with it, of whatever class has it."""


@lru_cache(maxsize=1024)
def _code_by_parts(kind: Any) -> Code | None:
    """None where a class does not tell what it compares."""
    form = FORMS.get(kind.__eq__)
    if form is not None:
        return form
    owner = next(one for one in kind.__mro__ if "__eq__" in vars(one))
    if (owner.__module__, owner.__qualname__) in PYDANTIC:
        of = kind.__pydantic_generic_metadata__["origin"] or kind
        return partial(_of_fields, of, _of_model)
    code = getattr(vars(owner)["__eq__"], "__code__", None)
    if code is None or not code.co_filename.startswith(GENERATED):
        return None
    compared: list[tuple[str, Callable[[Any], object] | None]]
    if attrs.has(owner):
        compared = [(one.name, one.eq_key) for one in attrs.fields(owner) if one.eq]
    elif dataclasses.is_dataclass(owner):
        compared = [(one.name, None) for one in dataclasses.fields(owner) if one.compare]
    else:
        return None
    return partial(_of_fields, kind, partial(_of_record, compared))


def _of_fields(kind: object, compared: Compared, value: object) -> int:
    return hash((kind, _of_items(compared(value))))


def _of_record(
    compared: Iterable[tuple[str, Callable[[Any], object] | None]], value: object
) -> Iterable[object]:
    for name, key in compared:
        part = getattr(value, name)
        yield part if key is None else key(part)


def _of_model(value: Any) -> Iterable[object]:
    """As pydantic compares: what is cached beside the fields counts for nothing."""
    held = vars(value)
    yield {name: held[name] for name in type(value).__pydantic_fields__ if name in held}
    yield getattr(value, "__pydantic_private__", None)
    yield value.__pydantic_extra__ or {}
