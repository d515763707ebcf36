"""What pydantic reads of a value, and by which names: no other may be shown than runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isinf
from typing import Any

from detent.core.schema.json_values import short_json
from detent.core.schema.record_fields import alias_of, field_names

LARGE = 1 << 1023
"""Below it, each integer has a float next to it."""


def no_float(value: object, made: object) -> str:
    """Why a float is not the number that was written; "" where it is, or is somebody's own.

    JSON writes integers that no float is, and people were shown the other one.
    """
    if type(value) is not int or not isinstance(made, float) or made == value:
        return ""
    is_nearest = isinf(made) or (abs(value) < LARGE and made == float(value))
    return f"no float is {short_json(value)}; the nearest is {made!r}" if is_nearest else ""


def as_read(written: object, value: Any) -> object:
    """What pydantic has written of a value, under the names by which it reads it."""
    if getattr(value, "__pydantic_root_model__", False):
        return as_read(written, value.root)
    if isinstance(written, dict):
        names = _names(type(value), getattr(type(value), "__pydantic_fields__", {}))
        part = value.get if isinstance(value, Mapping) else partial(getattr, value)
        return {names.get(n, n): as_read(x, part(n, None)) for n, x in written.items()}
    if isinstance(written, list) and isinstance(value, Sequence) and len(written) == len(value):
        return [*map(as_read, written, value)]
    return written


def unread(value: object, made: Any) -> Iterator[tuple[str, str]]:
    """The places in a JSON value of what is not in what pydantic made of it, and why.

    A class drops the names that it does not know, and of two names of a field it reads one. Its
    schema says so, and not which class of a union takes a value: that is known once it is made.
    """
    if reason := no_float(value, made):
        yield "", reason
    elif getattr(made, "__pydantic_root_model__", False):
        yield from unread(value, made.root)
    elif (fields := getattr(type(made), "__pydantic_fields__", None)) is not None:
        yield from _in_record(value, made, fields) if isinstance(value, Mapping) else ()
    elif isinstance(value, Mapping) and isinstance(made, Mapping):
        for name in value.keys() & made.keys():
            yield from _at(f".{name}", value[name], made[name])
    elif isinstance(value, Mapping) and (names := field_names(type(made))) is not None:
        for name in value.keys() & set(names):
            yield from _at(f".{name}", value[name], getattr(made, name, None))
    elif isinstance(value, list) and isinstance(made, Sequence) and len(value) == len(made):
        for place, (item, part) in enumerate(zip(value, made, strict=True)):
            yield from _at(f"[{place}]", item, part)


def _in_record(
    value: Mapping[str, Any], made: Any, fields: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    kind = type(made)
    names = _names(kind, fields)
    known = frozenset(names.values())
    if not _has_reader(kind):
        attributes = getattr(made, "__dict__", None), getattr(made, "__pydantic_extra__", None)
        kept = {name for held in attributes for name in held or ()} - names.keys()
        for name in value.keys() - known - kept:
            hint = f"; it is called {names[name]!r}" if name in names else ""
            yield f".{name}", f"is not known{hint}"
    for field, name in names.items():
        if name in value and hasattr(made, field):
            yield from _at(f".{name}", value[name], getattr(made, field))


def _names(kind: Any, fields: Mapping[str, Any]) -> dict[str, str]:
    """What pydantic reads each field by."""
    return {name: alias_of(kind, info.validation_alias) or name for name, info in fields.items()}


def _has_reader(kind: Any) -> bool:
    """Whether code of the class itself reads a value before its fields do."""
    validators = kind.__pydantic_decorators__.model_validators.values()
    return any(one.info.mode != "after" for one in validators)


def _at(place: str, value: object, made: object) -> Iterator[tuple[str, str]]:
    return ((f"{place}{inside}", reason) for inside, reason in unread(value, made))
