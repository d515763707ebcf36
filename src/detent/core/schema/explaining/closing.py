"""Closing: a schema of which a union says that a value fits it, or not, and nothing of why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from detent.core.schema.references import Path, Schema, part_at
from detent.core.schema.schema_parts import MANY, NAMED, ONE

UNIONS = ("anyOf", "oneOf")

CLOSED = "a closed union"


def closed(schema: Schema, opened: object = None) -> Schema:
    """The same schema, which fits the same, with its unions closed; but for that of `opened`.

    The library finds out what is wrong with all options of a union at once: there it finds nothing.
    A reference into a union leads nowhere then.
    """
    if not isinstance(schema, Mapping):
        return schema
    parts = {name: _part(name, part, opened) for name, part in schema.items() if name not in UNIONS}
    unions = [_union({name: schema[name]}, opened) for name in UNIONS if name in schema]
    return {**parts, "allOf": [*parts.get("allOf", ()), *unions]} if unions else parts


def closed_union(root: Schema, path: Path) -> Mapping[str, Sequence[Schema]] | None:
    """The union that is closed where something does not fit the schema at a path, if one is."""
    try:
        part: Any = part_at(root, path[:-1])
    except (LookupError, TypeError):  # it is in a schema of the library's
        return None
    is_closed = isinstance(part, Mapping) and part.get("$comment") == CLOSED
    return part["if"] if is_closed else None


def _union(union: dict[str, Any], opened: object) -> dict[str, Any]:
    is_open = any(options is opened for options in union.values())
    return union if is_open else {"$comment": CLOSED, "if": union, "else": False}


def _part(name: str, part: Any, opened: object) -> Any:
    if name in ONE:
        return closed(part, opened)
    if name in MANY:
        return [closed(one, opened) for one in part]
    if name in NAMED:
        return {each: closed(one, opened) for each, one in part.items()}
    return part
