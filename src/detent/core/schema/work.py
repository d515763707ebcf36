"""Work: how often parts of a value are looked at by what tries each option of a union anew.

Pydantic tries all options of a union, and of the unions in each of them: with each level that takes
as many times longer as there are options. To count that takes no longer than to look at all once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import inf
from typing import Any, TypeAlias

from attrs import define, frozen

from detent.core.schema.references import Schema, resolve

WORK_MAX = 150_000
"""How many looks at parts of a value pydantic may take in one go, some 0.15 s: in that time nothing
else happens in the process, whatever thread it is done in."""

EACH_MAX = 10
"""How many looks for each part and each schema that speaks of it are few, where it takes many."""

NO_PARTS = frozenset({"string", "integer", "number", "boolean", "null"})

Pairs: TypeAlias = dict[tuple[int, int], int]


class _TooManyPairsError(Exception):
    """There are more parts, and schemas that speak of them, than anybody counts."""


@define
class Effort:
    """What has been tried so far: `looks` in all, at so many `pairs` of a part and a schema."""

    looks: int = 0
    pairs: int = 0
    is_too_much: bool = False

    def add(self, work: Work, value: object) -> None:
        """Count what it takes to read one more value in one go.

        Raises:
            ValueError: that would be too much, or it was before.
        """
        if not self.is_too_much:
            known: Pairs = {}
            try:
                looks = work.looks(value, work.root, known)
            except _TooManyPairsError:
                looks = WORK_MAX + 1
            self.looks += looks
            self.pairs += len(known)
            is_long = self.looks > max(WORK_MAX, EACH_MAX * self.pairs)
            self.is_too_much = is_long or looks > WORK_MAX
        if self.is_too_much:
            raise ValueError(
                "the schema is at fault: its unions stand in unions, or in long lists, and to try "
                "all options of all would take too long; a discriminator says which one it is, or "
                "write less"
            )


@frozen(eq=False)
class Work:
    """Counts the looks at a value by the schema that pydantic gives of a model.

    There, "oneOf" is a union with a discriminator, of which one option is read, and "anyOf" one
    without. Where it `has_aliases`, a name that no property has may stand for any of them. More
    pairs than `most` are not counted.
    """

    root: Schema
    has_aliases: bool = False
    most: float = inf

    @cached_property
    def has_choices(self) -> bool:
        """Whether there are unions without a discriminator of what has parts."""
        return any(len([*_wide(options)]) > 1 for options in _all_options(self.root))

    def looks(self, value: object, schema: Schema, known: Pairs) -> int:
        """How often a value and its parts are looked at; `known` are those that are counted."""
        if isinstance(schema, bool):
            return 0
        if not isinstance(value, dict | list):
            return 1
        key = id(value), id(schema)
        if key not in known:
            known[key] = 1
            if len(known) > self.most:
                raise _TooManyPairsError
            looks = 1
            other = [resolve(schema["$ref"], self.root)] if "$ref" in schema else []
            for options in other, schema.get("anyOf", ()), schema.get("allOf", ()):
                for option in options:
                    looks += self.looks(value, option, known)
            read = [self.looks(value, option, known) for option in schema.get("oneOf", ())]
            looks += max(read, default=0)
            for part, inner in self._parts(value, schema):
                looks += self.looks(part, inner, known)
            known[key] = looks
        return known[key]

    def _parts(self, value: Any, schema: Mapping[str, Any]) -> Iterator[tuple[object, Schema]]:
        """The parts of a value, each with what a schema says of it."""
        if isinstance(value, list):
            first = schema.get("prefixItems", ())
            for index, item in enumerate(value):
                yield item, first[index] if index < len(first) else schema.get("items", True)
            return
        named, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        for name, item in value.items():
            if name in named or not self.has_aliases:
                yield item, named.get(name, others)
            else:
                yield from ((item, part) for part in (*named.values(), others))


def _wide(options: Any) -> Iterator[Schema]:
    """Those options whose values may have parts."""
    for option in options:
        kind = option.get("type") if isinstance(option, Mapping) else None
        if not (isinstance(kind, str) and kind in NO_PARTS):
            yield option


def _all_options(part: Any) -> Iterator[Any]:
    """All lists of options that stand anywhere in a schema."""
    if isinstance(part, bool):
        return
    for name, inner in part.items() if isinstance(part, Mapping) else enumerate(part):
        if name == "anyOf" and isinstance(inner, list):
            yield inner
        if isinstance(inner, Mapping | list):
            yield from _all_options(inner)
