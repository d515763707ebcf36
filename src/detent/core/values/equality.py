"""Equality: what stands for a value in a set, where the value itself has no hash.

To compare each of n values with all others takes their square. Most classes whose instances have no
hash say what they compare: these parts have one, or are made of such that have.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, TypeAlias, cast

import attrs
from attrs import frozen

from detent.core.values.frozen import FrozenDict, FrozenList, FrozenSet

Compared: TypeAlias = Callable[[Any], Iterable[object]]
"""What an instance is compared by."""

GENERATED = ("<string>", "<attrs generated")
"""How what dataclasses and attrs have written begins to say where it stands: in no file."""


@frozen
class Whole:
    """A value without a hash, as its class and all that it is compared by."""

    kind: object
    parts: object


@frozen(eq=False)
class Opaque:
    """A value of which only its class knows what it is equal to. All such have one hash."""

    value: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(Opaque)


def hashable(value: object) -> object:
    """What has a hash, and is equal for two values that are: the value itself, if it has one.

    RULE: an equality that somebody has written himself is asked, and nothing else is.
    """
    try:
        hash(value)
    except TypeError:
        return _whole(value)
    return value


def _whole(value: Any) -> object:
    kind: Any = type(value)
    if kind is dict or kind is FrozenDict:
        entries = cast("Mapping[object, object]", value).items()
        return Whole(dict, frozenset((name, _part(item)) for name, item in entries))
    if kind is list or kind is FrozenList:
        return Whole(list, tuple(map(_part, value)))
    if kind is set or kind is FrozenSet:
        return Whole(set, frozenset(value))
    if kind.__eq__ is tuple.__eq__:
        return Whole(tuple, tuple(map(_part, value)))
    found = _compared(kind)
    if found is None:
        return Opaque(value)
    of, compared = found
    return Whole(of, tuple(map(_part, compared(value))))


def _part(value: object) -> object:
    """As `hashable`, of what stands in another value, frozen or not."""
    return _whole(value) if isinstance(value, dict | list | set | tuple) else hashable(value)


@lru_cache(maxsize=1024)
def _compared(kind: Any) -> tuple[object, Compared] | None:
    """With what the class says is of one kind. None where it does not tell what it compares."""
    owner = next(one for one in kind.__mro__ if "__eq__" in vars(one))
    equal = vars(owner)["__eq__"]
    if (owner.__module__, owner.__qualname__) == ("pydantic.main", "BaseModel"):
        return kind.__pydantic_generic_metadata__["origin"] or kind, _of_model
    code = getattr(equal, "__code__", None)
    if code is None or not code.co_filename.startswith(GENERATED):
        return None
    if attrs.has(owner):
        compared = [(one.name, one.eq_key) for one in attrs.fields(owner) if one.eq]
    elif dataclasses.is_dataclass(owner):
        compared = [(one.name, None) for one in dataclasses.fields(owner) if one.compare]
    else:
        return None
    return kind, partial(_of_fields, compared)


def _of_fields(
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
