"""What a model of pydantic holds, reads, and by which names: no other may be shown than runs."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from enum import Enum
from functools import lru_cache
from math import isinf
from typing import Any, TypeAlias, get_args

from detent.core.schema.json_values import short_json
from detent.core.schema.record_fields import alias_of, field_names
from detent.core.schema.scalars import SCALARS

Write: TypeAlias = Callable[[Any], Any]

NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?")
"""A text that pydantic takes for a moment: so many seconds after 1970, or after midnight."""

LARGE = 1 << 1023
"""Below it, each integer has a float next to it."""


def no_float(value: object, made: object) -> str:
    """Why a float is not the number that was written; "" where it is, or is somebody's own.

    JSON writes integers that no float is, and people were shown the other one.
    """
    if type(value) is not int or not isinstance(made, float):
        return ""
    if made.is_integer() and int(made) == value:
        return ""
    is_nearest = isinf(made) or (abs(value) < LARGE and made == float(value))
    return f"no float is {short_json(value)}; the nearest is {made!r}" if is_nearest else ""


def unlike(value: object, made: object) -> str:
    """Why a scalar of pydantic's is not the one that was written; "" where it is.

    A schema allows "20260101" as a day of ISO 8601 or a text of a union, and 1.0 as an integer. To
    pydantic the one may be so many seconds or a number, and the other one a time or true.
    """
    match made:
        case bool():
            is_other = not isinstance(value, bool)
        case int() | float() if type(made) in (int, float):
            is_other = isinstance(value, str | bool)
        case date() | time() | timedelta():
            is_other = not isinstance(value, str) or _is_counted(value, made)
        case _:
            is_other = False
    return f"{short_json(value)} is read as {made!r}" if is_other else ""


def _is_counted(text: str, made: object) -> bool:
    """Whether a moment is so many seconds, and not what ISO 8601 reads."""
    try:
        return bool(NUMBER.fullmatch(text)) and SCALARS[type(made)].read(text) != made
    except (KeyError, ValueError):
        return True


def as_read(value: Any, other: Write) -> Any:
    """A model by its fields, under the names by which they are read; see `part_form`."""
    kind = type(value)
    if kind.__pydantic_root_model__:
        return part_form(kind, value.root, other)
    names = _names(kind, kind.__pydantic_fields__)
    parts = {name: part_form(kind, part, other) for name, part in model_parts(value).items()}
    return by_names(names, parts)


def has_model_parts(kind: Any) -> bool:
    """Whether `kind` is a model of pydantic, by what it has."""
    return hasattr(kind, "model_dump") and hasattr(kind, "__pydantic_fields__")


def model_parts(value: Any) -> dict[str, Any]:
    """The fields of a model by name, and what else was passed to it.

    RULE: they are those of the value. What its class writes leaves out what it likes, and is read
    as equal where a default stands for that.

    Raises:
        ValueError: something else is called as a field is, which is read by another name.
    """
    names = [name for name in type(value).__pydantic_fields__ if hasattr(value, name)]
    extra = getattr(value, "__pydantic_extra__", None) or {}
    parts = [*(getattr(value, name) for name in names), *extra.values()]
    return _named([*names, *extra], parts)


def by_names(names: Mapping[str, str], parts: Mapping[str, Any]) -> dict[str, Any]:
    """Parts of a model under other names, where they have any. None may take the place of another.

    Raises:
        ValueError: two would have one name.
    """
    return _named([names.get(name, name) for name in parts], parts.values())


def _named(names: list[str], parts: Iterable[Any]) -> dict[str, Any]:
    if len({*names}) < len(names):
        raise ValueError("several things in it have one name")
    return dict(zip(names, parts, strict=True))


def part_form(model: Any, part: Any, other: Write) -> Any:
    """The JSON of a field of a model: what pydantic writes, but for code of somebody's own.

    `other` writes the models and records in it, and what pydantic knows nothing about.
    """
    if part is None or type(part) in (str, int, float, bool):
        return part
    if isinstance(part, Enum):
        return part_form(model, part.value, other)
    if isinstance(part, float):  # of a class of its own; it may be no number, which would be null
        return float.__float__(part)
    if isinstance(part, dict):
        names = [key if type(key) is str else _name_form(model, key) for key in part]
        return _named(names, [part_form(model, item, other) for item in part.values()])
    if isinstance(part, set | frozenset):  # whose order is another one in every process
        return sorted((part_form(model, item, other) for item in part), key=repr)
    if isinstance(part, list | tuple | deque):
        return [part_form(model, item, other) for item in part]
    if field_names(type(part)) is not None:
        return other(part)
    try:
        return _any_form(model, part)
    except ValueError:
        return other(part)


def _name_form(model: Any, key: Any) -> str:
    return str(next(iter(_any_form(model, {key: None}))))


def _any_form(model: Any, part: Any) -> Any:
    return _any_writer(model).to_python(part, mode="json")


@lru_cache(256)
def _any_writer(model: Any) -> Any:
    """What writes values by their own types alone, as the model says of all times and bytes."""
    options = {name: x for name, x in model.model_config.items() if name.startswith("ser_json")}
    return type(model.__pydantic_serializer__)({"type": "any"}, options)


def unread(value: object, made: Any, *, is_own: bool = False) -> Iterator[tuple[str, str]]:
    """The places in a JSON value of what is not in what pydantic made of it, and why.

    A class drops the names that it does not know, and of two names of a field it reads one. Its
    schema says so, and not which type of a union takes a value: that is known once it is made. What
    `is_own` to code of a class is whatever that makes of it.
    """
    if reason := no_float(value, made) or ("" if is_own else unlike(value, made)):
        yield "", reason
    elif getattr(made, "__pydantic_root_model__", False):
        kind: Any = type(made)
        yield from unread(value, made.root, is_own=is_own or "root" in _own_fields(kind))
    elif (fields := getattr(type(made), "__pydantic_fields__", None)) is not None:
        yield from (
            _in_record(value, made, fields, is_own=is_own) if isinstance(value, Mapping) else ()
        )
    elif isinstance(value, Mapping) and isinstance(made, Mapping):
        for name in value.keys() & made.keys():
            yield from _at(f".{name}", value[name], made[name], is_own=is_own)
    elif isinstance(value, Mapping) and (names := field_names(type(made))) is not None:
        for name in value.keys() & set(names):
            yield from _at(f".{name}", value[name], getattr(made, name, None), is_own=is_own)
    elif isinstance(value, list) and isinstance(made, Sequence) and len(value) == len(made):
        for place, (item, part) in enumerate(zip(value, made, strict=True)):
            yield from _at(f"[{place}]", item, part, is_own=is_own)


def _in_record(
    value: Mapping[str, Any], made: Any, fields: Mapping[str, Any], *, is_own: bool
) -> Iterator[tuple[str, str]]:
    kind: Any = type(made)
    names = _names(kind, fields)
    known = frozenset(names.values())
    if not _has_reader(kind):
        attributes = getattr(made, "__dict__", None), getattr(made, "__pydantic_extra__", None)
        kept = {name for held in attributes for name in held or ()} - names.keys()
        for name in value.keys() - known - kept:
            hint = f"; it is called {names[name]!r}" if name in names else ""
            yield f".{name}", f"is not known{hint}"
    own = names.keys() if is_own or _has_reader(kind) else _own_fields(kind)
    for field, name in names.items():
        if name in value and hasattr(made, field):
            yield from _at(f".{name}", value[name], getattr(made, field), is_own=field in own)


def _names(kind: Any, fields: Mapping[str, Any]) -> dict[str, str]:
    """What pydantic reads each field by."""
    return {name: alias_of(kind, info.validation_alias) or name for name, info in fields.items()}


def _has_reader(kind: Any) -> bool:
    """Whether code of the class itself reads a value before its fields do."""
    validators = kind.__pydantic_decorators__.model_validators.values()
    return any(one.info.mode != "after" for one in validators)


@lru_cache(256)
def _own_fields(kind: Any) -> frozenset[str]:
    """The fields whose values are made by code that is not pydantic's."""
    fields: Mapping[str, Any] = kind.__pydantic_fields__
    checks = kind.__pydantic_decorators__.field_validators.values()
    named = {name for one in checks for name in one.info.fields}
    return frozenset(
        name
        for name, info in fields.items()
        if named & {name, "*"} or any(map(_is_code, (*info.metadata, info.annotation)))
    )


def _is_code(part: Any) -> bool:
    """Whether a part of an annotation, or one inside it, makes a value in a way of its own."""
    if hasattr(part, "__get_pydantic_core_schema__") and not hasattr(part, "__pydantic_fields__"):
        return True
    return any(map(_is_code, (*get_args(part), *getattr(part, "__metadata__", ()))))


def _at(place: str, value: object, made: object, *, is_own: bool) -> Iterator[tuple[str, str]]:
    inner = unread(value, made, is_own=is_own)
    return ((f"{place}{inside}", reason) for inside, reason in inner)
