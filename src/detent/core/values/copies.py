"""How a state keeps what it is given: frozen, or behind a guard that gives out copies.

RULE: nothing that is held can be changed by anybody. Containers are frozen. Instances of frozen
classes are kept as they are, their fields frozen too. An instance that can be changed is copied
when it comes in and each time it is read: the state keeps one, a reader gets one of his own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from copy import copy, deepcopy
from enum import Enum, EnumType
from functools import lru_cache
from typing import Any, TypeVar, cast

import attrs

from detent.core.errors import StateTypeError
from detent.core.values.frozen import ATOMS, EMPTY, FrozenDict, freeze, is_deep

T = TypeVar("T")


class CopyOnRead:
    """A value that can be changed, kept where nobody reaches it."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        try:
            self._value = deepcopy(value)  # on the way in too: the writer still has his
        except Exception as error:
            raise StateTypeError(
                f"a {type(value).__name__} can be changed and cannot be copied ({error}), so a "
                "state cannot hold it; keep it outside, e.g. in the tool that needs it"
            ) from error

    def copy(self) -> Any:
        """One for the reader, who may change it."""
        return deepcopy(self._value)

    def peek(self) -> Any:
        """The value itself, for those who only look."""
        return self._value

    def __eq__(self, other: object) -> bool:
        return bool(self._value == (other._value if type(other) is CopyOnRead else other))

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return repr(self._value)


def protect(value: object) -> object:
    """`value` as a state keeps it: frozen, or `CopyOnRead`.

    Raises:
        StateTypeError: the value can be changed and cannot be copied, or contains itself.
    """
    if type(value) in ATOMS or type(value) is CopyOnRead:
        return value
    try:
        return freeze(value, _frozen_instance)
    except _CanChange:
        return CopyOnRead(value)
    except RecursionError:
        raise StateTypeError(
            f"a {type(value).__name__} that contains itself, or is nested too deep, cannot be held"
        ) from None


def read_copy(value: object) -> Any:
    """What a reader gets: the value, or his own copy of it."""
    return value.copy() if type(value) is CopyOnRead else value


def peek(value: object) -> Any:
    """What is held, for those who only look at it."""
    return value.peek() if type(value) is CopyOnRead else value


def frozen_leaf(value: object) -> object:
    """For `freeze`: any mapping as a plain one, else an instance that nobody can change.

    Raises:
        TypeError: it can be changed.
    """
    if isinstance(value, Mapping):
        return freeze(dict(cast("Mapping[object, object]", value)), frozen_leaf)
    try:
        return _frozen_instance(value)
    except _CanChange:
        raise TypeError(
            f"a message holds JSON values and what cannot be changed, not a {type(value).__name__}"
        ) from None


DEPTH_MAX = 100
"""How deep JSON in a message may be nested: as deep as every interpreter can follow it."""


def sealed_mapping(value: Mapping[str, object]) -> FrozenDict[str, object]:
    """A mapping as a message holds it: nothing in it can be changed, however deep.

    Raises:
        TypeError: something in it can, or it is nested too deep.
    """
    if not value:
        return EMPTY
    if not isinstance(value, (dict, Mapping)):  # most are dicts: that is seen at once
        raise TypeError(f"a dict goes here, as in ToolCall('f', {{'n': 1}}), got {value!r:.80}")
    if ATOMS.issuperset(map(type, value.values())):
        return value if type(value) is FrozenDict else FrozenDict(value)
    if is_deep(value, DEPTH_MAX):
        raise TypeError(f"what a message holds is nested too deep: more than {DEPTH_MAX} levels")
    return FrozenDict({key: freeze(item, frozen_leaf) for key, item in value.items()})


class _CanChange(Exception):  # noqa: N818  # never leaves this module
    """Somewhere in a value is an instance that can be changed."""


def _frozen_instance(value: object) -> object:
    kind: Any = type(value)
    names = frozen_fields(kind)
    if names is not None:
        return _frozen_record(value, names)
    if issubclass(kind, Enum | type):
        return value
    make = getattr(kind, "_make", None)  # a named tuple has it
    if issubclass(kind, tuple) and make is not None:
        fields = cast("tuple[object, ...]", value)
        return make([freeze(field, _frozen_instance) for field in fields])
    if hasattr(kind, "__deepcopy__") and deepcopy(value) is value:
        return value  # its class says that it cannot be changed
    raise _CanChange


def _frozen_record(value: T, names: Iterable[str]) -> T:
    changes: dict[str, object] = {}
    for name in names:
        before = getattr(value, name, None)
        if type(before) in ATOMS or type(type(before)) is EnumType:
            continue
        after = freeze(before, _frozen_instance)
        if after is not before:
            changes[name] = after
    if not changes:
        return value
    twin = copy(value)  # not evolve: a constructor may refuse, or convert, what is frozen
    for name, item in changes.items():
        object.__setattr__(twin, name, item)
    return twin


@lru_cache(maxsize=1024)
def frozen_fields(kind: type) -> tuple[str, ...] | None:
    """The fields of a frozen attrs class or dataclass; None for any other class."""
    if attrs.has(kind):
        names = tuple(field.name for field in attrs.fields(kind))
    elif dataclasses.is_dataclass(kind):
        names = tuple(field.name for field in dataclasses.fields(kind))
    else:
        return None
    try:  # frozen is what refuses, whichever way it was made so
        setattr(object.__new__(kind), names[0] if names else "_", None)
    except (attrs.exceptions.FrozenError, dataclasses.FrozenInstanceError):
        return names
    except Exception:  # noqa: BLE001  # what a setter of the class says is not to the point
        return None
    return None
