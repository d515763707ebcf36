"""What pydantic reads of a value, by name: no more may be shown than runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from detent.core.schema.record_fields import alias_of


def unread(value: object, made: Any) -> Iterator[tuple[str, str]]:
    """The places of names in a JSON value that are not in what pydantic made of it, and why.

    A class drops what it does not know, and of two names of a field it reads one. Its schema says
    so, and not which class of a union takes a value: that is known once it is made.
    """
    if getattr(made, "__pydantic_root_model__", False):
        yield from unread(value, made.root)
    elif (fields := getattr(type(made), "__pydantic_fields__", None)) is not None:
        yield from _in_record(value, made, fields) if isinstance(value, Mapping) else ()
    elif isinstance(value, Mapping) and isinstance(made, Mapping):
        for name in value.keys() & made.keys():
            yield from _at(f".{name}", value[name], made[name])
    elif isinstance(value, list) and isinstance(made, Sequence) and len(value) == len(made):
        for place, (item, part) in enumerate(zip(value, made, strict=True)):
            yield from _at(f"[{place}]", item, part)


def _in_record(
    value: Mapping[str, Any], made: Any, fields: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    kind = type(made)
    names = {name: alias_of(kind, info.validation_alias) or name for name, info in fields.items()}
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


def _has_reader(kind: Any) -> bool:
    """Whether code of the class itself reads a value before its fields do."""
    validators = kind.__pydantic_decorators__.model_validators.values()
    return any(one.info.mode != "after" for one in validators)


def _at(place: str, value: object, made: object) -> Iterator[tuple[str, str]]:
    return ((f"{place}{inside}", reason) for inside, reason in unread(value, made))
