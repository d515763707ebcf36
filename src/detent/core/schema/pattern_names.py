"""What a pattern looks at, and no value of a schema has or is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from detent.core.schema.accepted_keywords import IN_PLACE, parts_under
from detent.core.schema.references import resolve

ITEMS = ("items", "prefixItems", "contains")
"""The keywords whose schemas speak of the items of an array."""


def unknown_names(
    pattern: object, schemas: Sequence[object], root: Mapping[str, Any]
) -> Iterator[tuple[str, Sequence[str]]]:
    """The places, as in ``.to`` or ``[].to``, that a pattern looks at and that are never there.

    With each come the names that are there in its place.

    The pattern is a JSON Schema, or anything else that looks at no place. `schemas` are those in
    `root` that speak of the value. Of what lets more properties pass than it names, none is
    unknown.
    """
    if not isinstance(pattern, Mapping) or not schemas:
        return
    spoken = [part for schema in schemas for part in _spoken(schema, root)]
    is_closed = any(_is_closed(schema, root) for schema in schemas)
    for name, inner in _named(pattern):
        about = [part for schema in spoken for part in _of_property(schema, name)]
        if is_closed and not about:
            yield f".{name}", [*dict.fromkeys(x for part in spoken for x in _names(part))]
        found = unknown_names(inner, about, root)
        yield from ((f".{name}{place}", names) for place, names in found)
    items = [part for schema in spoken for part in parts_under(schema, ITEMS)]
    for inner in parts_under(pattern, ITEMS):
        found = unknown_names(inner, items, root)
        yield from ((f"[]{place}", names) for place, names in found)
    for same in parts_under(pattern, IN_PLACE):
        yield from unknown_names(same, schemas, root)


def may_be_text(schema: object, root: Mapping[str, Any]) -> bool:
    """Whether a value of a schema in `root` may be a text."""
    if not isinstance(schema, Mapping):
        return True
    kinds: str | Sequence[str] = schema.get("type", "string")
    if "string" not in ([kinds] if isinstance(kinds, str) else kinds):
        return False
    if "$ref" in schema and not may_be_text(resolve(schema["$ref"], root), root):
        return False
    options = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if options and not any(may_be_text(option, root) for option in options):
        return False
    return all(may_be_text(part, root) for part in schema.get("allOf", ()))


def _named(pattern: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    yield from pattern.get("properties", {}).items()
    yield from ((name, True) for name in pattern.get("required", ()))


def _spoken(schema: object, root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All schemas that speak of the same value as this one."""
    if isinstance(schema, Mapping):
        yield schema
        for part in parts_under(schema, IN_PLACE):
            yield from _spoken(part, root)
        if "$ref" in schema:
            yield from _spoken(resolve(schema["$ref"], root), root)


def _names(schema: Mapping[str, Any]) -> Mapping[str, object]:
    names: Mapping[str, object] = schema.get("properties", {})
    return names


def _of_property(schema: Mapping[str, Any], name: str) -> Iterator[object]:
    """What a schema says of a property, or of one that nobody has named."""
    if name in _names(schema):
        yield _names(schema)[name]
    elif schema.get("additionalProperties", False) is not False:
        yield schema["additionalProperties"]


def _is_closed(schema: object, root: Mapping[str, Any]) -> bool:
    """Whether the objects that fit have no properties but those that are named."""
    if not isinstance(schema, Mapping):
        return False
    if schema.get("additionalProperties") is False and "patternProperties" not in schema:
        return True
    always = [*schema.get("allOf", ())]
    always += [resolve(schema["$ref"], root)] if "$ref" in schema else []
    if any(_is_closed(part, root) for part in always):
        return True
    options = [*filter(_may_be_object, (*schema.get("anyOf", ()), *schema.get("oneOf", ())))]
    return bool(options) and all(_is_closed(part, root) for part in options)


def _may_be_object(schema: object) -> bool:
    kinds = schema.get("type", "object") if isinstance(schema, Mapping) else "object"
    return "object" in ([kinds] if isinstance(kinds, str) else kinds)
