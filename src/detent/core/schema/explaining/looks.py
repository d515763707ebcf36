"""Looks: how long it takes to find all that is wrong with a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from attrs import define, field

from detent.core.schema.references import Schema, resolve

LOOKS_MAX = 8_000
"""So many looks at parts of a value take some 0.1 s, if something is wrong with each."""

LISTS = ("required", "dependentRequired", "enum")
"""The keywords of which each entry may be wrong by itself, or is copied for what is wrong."""

COPIED = 32
"""So many parts of a value, of which there is a copy for each error, take as long as one look."""


class _TooManyError(Exception):
    """To count on would take as long as to look."""


def is_short(value: object, schema: Schema, root: Schema) -> bool:
    """Whether all is found soon that is wrong with a value by a schema, a part of `root`.

    The library looks for all errors before it gives the first, twice in each option of a union, and
    in options of options however many there are.
    """
    try:
        return _Looks(root).at(value, schema) <= LOOKS_MAX
    except _TooManyError:
        return False


@define(eq=False)
class _Looks:
    root: Schema
    left: int = LOOKS_MAX
    known: dict[tuple[int, int], int] = field(init=False, factory=dict)
    sizes: dict[int, int] = field(init=False, factory=dict)

    def at(self, value: object, schema: Any) -> int:
        """How often a value, and its parts, are looked at by a schema that speaks of it."""
        self.left -= 1
        if self.left < 0:
            raise _TooManyError
        if not isinstance(schema, Mapping):
            return 1
        size = self.size(value)
        # what has no parts is looked at as any other that is as long
        key = id(value) if isinstance(value, dict | list | tuple) else -size, id(schema)
        if key not in self.known:
            self.known[key] = 1
            looks = 1 + sum(len(schema.get(name, ())) for name in LISTS)
            if "propertyNames" in schema and isinstance(value, dict):
                looks += len(value)
            looks *= 1 + size // COPIED
            for part in _of_the_same(schema, self.root):
                looks += self.at(value, part)
            for options in (schema.get("anyOf", ()), schema.get("oneOf", ())):
                for option in options:
                    looks += 2 * self.at(value, option)
            for item, inner in _of_parts(value, schema):
                looks += self.at(item, inner)
            self.known[key] = looks
        return self.known[key]

    def size(self, value: object) -> int:
        """How many parts there are in a value; a text counts for more where it is long."""
        if isinstance(value, str):
            return len(value) >> 6
        if not isinstance(value, dict | list | tuple):
            return 0
        if id(value) not in self.sizes:
            inner = value.values() if isinstance(value, dict) else value
            self.sizes[id(value)] = len(value) + sum(map(self.size, inner))
        return self.sizes[id(value)]


def _of_the_same(schema: Mapping[str, Any], root: Schema) -> Iterator[Schema]:
    """What speaks of the same value, but for options."""
    if "$ref" in schema:
        with suppress(LookupError, TypeError, ValueError):  # one that only the library follows
            yield resolve(schema["$ref"], root)
    yield from schema.get("allOf", ())
    yield from schema.get("dependentSchemas", {}).values()
    yield from (schema[name] for name in ("then", "else") if name in schema)


def _of_parts(value: Any, schema: Mapping[str, Any]) -> Iterator[tuple[object, Schema]]:
    """The parts of a value, each with what a schema says of it."""
    if isinstance(value, dict):
        named, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        patterns = [*schema.get("patternProperties", {}).values()]
        for name, item in value.items():
            yield item, named.get(name, others)
            yield from ((item, pattern) for pattern in patterns)
    elif isinstance(value, list | tuple):
        first = schema.get("prefixItems", ())
        for index, item in enumerate(value):
            yield item, first[index] if index < len(first) else schema.get("items", True)
