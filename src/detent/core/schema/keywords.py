"""What single keywords of JSON Schema ask of one value, and how to say that it is not so."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from math import isfinite
from operator import ge, gt, le, lt
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from detent.core.values.frozen import FrozenDict, FrozenList

Schema: TypeAlias = "Mapping[str, Any] | bool"
Check: TypeAlias = "Callable[[Any, Any, Mapping[str, Any], Place], Iterator[str]]"
"""Takes a value, the keyword's rule, the schema that has the keyword, and the place."""

KINDS: Mapping[type, str] = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
    FrozenDict: "object",
    FrozenList: "array",
}
"""The JSON type of each kind of value; bool stands before int, which it is too."""

SHOWN_MAX = 60
"""How many characters of a wrong value a sentence repeats."""


class Place(NamedTuple):
    """Where a check stands: in which schema, and at which value. Its text names the value."""

    root: Schema
    path: str = ""

    def __str__(self) -> str:
        return f"'{self.path}'" if self.path else "the arguments"

    def of(self, name: str) -> Place:
        """The place of a property."""
        return Place(self.root, f"{self.path}.{name}" if self.path else name)

    def at(self, index: int) -> Place:
        """The place of an item."""
        return Place(self.root, f"{self.path}[{index}]")


def kind_of(value: object) -> str:
    """The JSON type of a value; a whole number is a number."""
    known = KINDS.get(type(value))
    return known or next(name for kind, name in KINDS.items() if isinstance(value, kind))


def identity(value: object) -> object:
    """What two JSON values share exactly when they are equal as JSON: 1 and 1.0, not 1 and true."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, dict):
        return ("object", frozenset((name, identity(item)) for name, item in value.items()))
    if isinstance(value, list):
        return ("array", tuple(map(identity, value)))
    return value


def is_a(value: object, declared: str | Sequence[str]) -> bool:
    """Whether a value has the JSON type, or one of the types; 1.0 is an integer, NaN is nothing."""
    kind = kind_of(value)
    names = (declared,) if isinstance(declared, str) else declared
    if isinstance(value, float) and not isfinite(value):
        return False
    if kind == "number" and "integer" in names and "number" not in names:
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return kind in names


def shown(value: object) -> str:
    """A value as a sentence repeats it: as JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


def _required(
    value: dict[str, object], rule: Sequence[str], schema: object, place: Place
) -> Iterator[str]:
    for name in rule:
        if name not in value:
            yield f"{place.of(name)} is missing"


def _dependent_required(
    value: dict[str, object], rule: Mapping[str, Sequence[str]], schema: object, place: Place
) -> Iterator[str]:
    for name, others in rule.items():
        for other in others:
            if name in value and other not in value:
                yield f"{place.of(other)} is missing, and {place.of(name)} needs it"


def _unique_items(value: list[object], rule: object, schema: object, place: Place) -> Iterator[str]:
    if rule and len(set(map(identity, value))) < len(value):
        yield f"{place} must not have an item twice"


def _multiple_of(value: float, rule: float, schema: object, place: Place) -> Iterator[str]:
    from fractions import Fraction  # few schemas need it

    is_finite = is_a(value, "number")
    if not is_finite or (Fraction(str(value)) / Fraction(str(rule))).denominator != 1:
        yield f"{place} must be a multiple of {rule}, got {value}"


def _pattern(value: str, rule: str, schema: object, place: Place) -> Iterator[str]:
    if not re.search(rule, value):
        yield f"{place} must match {rule}, got {shown(value)}"


def _format(value: str, rule: str, schema: object, place: Place) -> Iterator[str]:
    read, phrase = FORMATS.get(rule, (str, ""))
    try:
        read(value)
    except ValueError:
        yield f"{place} must be {phrase}, got {shown(value)}"


def _content_encoding(value: str, rule: str, schema: object, place: Place) -> Iterator[str]:
    if rule == "base64":
        try:
            b64decode(value, validate=True)
        except ValueError:
            yield f"{place} must be base64 text, got {shown(value)}"


def _bound(holds: Callable[[float, float], bool], words: str) -> Check:
    def check(value: float, rule: float, schema: object, place: Place) -> Iterator[str]:
        if not holds(value, rule):
            yield f"{place} must be {words} {rule}, got {value}"

    return check


def _size(holds: Callable[[float, float], bool], words: str, parts: str) -> Check:
    def check(value: Sequence[object], rule: int, schema: object, place: Place) -> Iterator[str]:
        if not holds(len(value), rule):
            yield f"{place} must have {words} {rule} {parts}, got {len(value)}"

    return check


def _decimal(text: str) -> None:
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
        raise ValueError(text)


FORMATS: Mapping[str, tuple[Callable[[str], object], str]] = {
    "date-time": (datetime.fromisoformat, "a date and time as in 2026-01-31T12:00:00Z"),
    "date": (date.fromisoformat, "a date as in 2026-01-31"),
    "time": (time.fromisoformat, "a time as in 12:30:00"),
    "uuid": (UUID, "a UUID"),
    "decimal": (_decimal, "a decimal number as in 12.50"),
}
"""The formats that are checked: how each is read, and what it is called."""

ASSERTIONS: Mapping[str, tuple[str, Check]] = {
    "required": ("object", _required),
    "dependentRequired": ("object", _dependent_required),
    "minProperties": ("object", _size(ge, "at least", "properties")),
    "maxProperties": ("object", _size(le, "at most", "properties")),
    "uniqueItems": ("array", _unique_items),
    "minItems": ("array", _size(ge, "at least", "items")),
    "maxItems": ("array", _size(le, "at most", "items")),
    "minimum": ("number", _bound(ge, "at least")),
    "maximum": ("number", _bound(le, "at most")),
    "exclusiveMinimum": ("number", _bound(gt, "more than")),
    "exclusiveMaximum": ("number", _bound(lt, "less than")),
    "multipleOf": ("number", _multiple_of),
    "minLength": ("string", _size(ge, "at least", "characters")),
    "maxLength": ("string", _size(le, "at most", "characters")),
    "pattern": ("string", _pattern),
    "format": ("string", _format),
    "contentEncoding": ("string", _content_encoding),
}
"""For each keyword the JSON type that it speaks about, and its check."""
