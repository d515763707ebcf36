"""Whether a JSON value fits a JSON Schema (2020-12), and one sentence for each way it does not.

The library says which keyword fails where; here that becomes what a model can act on. Whatever a
model sends, a check takes time linear in its size: patterns run on an engine without backtracking.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from difflib import get_close_matches
from functools import partial, reduce
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from uuid import UUID

from attrs import field, frozen

from detent.core.schema.json_values import short_json
from detent.core.schema.scalars import SCALARS
from detent.core.values.frozen import thaw

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, KeywordValidator, ValidationError

Schema: TypeAlias = "Mapping[str, Any] | bool"
Path: TypeAlias = "Sequence[str | int]"

DEPTH_MAX = 128
"""How deep a value may be: the library recurses on a stack that a thread may have little of."""

BITS_MAX = 14_000
"""How large an integer may be: like Python, the library reads no number of more than 4,300 digits;
of a larger one it says anything."""

EXPLAINED_MAX = 5
"""How many forms may stand in each other where it is said what is wrong with them: to look at the
options of all of them takes twice as long with each one more."""

CONTAINERS = (dict, list, tuple)
HARMLESS = frozenset({str, bool, type(None)})

PHRASES: Mapping[str, str] = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "an array",
    "object": "an object",
}
DEMANDS: Mapping[str, str] = {
    "minimum": "be at least {}",
    "maximum": "be at most {}",
    "exclusiveMinimum": "be more than {}",
    "exclusiveMaximum": "be less than {}",
    "multipleOf": "be a multiple of {}",
    "pattern": "match {}",
    "minLength": "have at least {} characters",
    "maxLength": "have at most {} characters",
    "minItems": "have at least {} items",
    "maxItems": "have at most {} items",
    "minProperties": "have at least {} properties",
    "maxProperties": "have at most {} properties",
    "uniqueItems": "not have an item twice",
    "oneOf": "fit exactly one of its forms, and fits several",
    "contentEncoding": "be base64 text",
}
"""What a value must do, by keyword. Of the keywords that are not here the rule itself is shown."""

ALIKE = ("falseSchema", "type", "enum", "const")
"""Of a value that fails one of these, the others and other keywords have nothing to add. The more
telling ones come later."""


def _decimal(text: str) -> None:
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
        raise ValueError(text)


FORMATS: Mapping[str, tuple[Callable[[str], object], str]] = {
    "date-time": (SCALARS[datetime].read, "a date and time as in 2026-01-31T12:00:00Z"),
    "date": (SCALARS[date].read, "a date as in 2026-01-31"),
    "time": (SCALARS[time].read, "a time as in 12:30:00"),
    "duration": (SCALARS[timedelta].read, "a duration as in P1DT12H30M5S"),
    "uuid": (SCALARS[UUID].read, "a UUID"),
    "decimal": (_decimal, "a decimal number as in 12.50"),
    "regex": (
        lambda text: compiled({"pattern": text}),
        "a regular expression without look-around and back-references",
    ),
}
"""The formats that mean here what Python reads, as times without a zone, and no pattern that needs
backtracking. How each is read, and what it is called. The library checks the others it knows."""


@frozen
class Validator:
    """The test of a schema, which is made once and then is fast.

    >>> test = Validator({"properties": {"n": {"type": "integer"}}})
    >>> test.fits({"n": 1}), test.faults({"n": 1.5})
    (True, ["'n' must be an integer, got 1.5"])

    Raises:
        ValueError: the schema is none, or has a pattern that only backtracking can match.
    """

    schema: Schema
    _compiled: Draft202012Validator = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "_compiled", compiled(self.schema))

    @property
    def _branches(self) -> bool:
        """Whether options stand in options: the schema refers to itself or to others."""
        text = repr(self.schema)
        return "'$ref'" in text and ("'anyOf'" in text or "'oneOf'" in text)

    def fits(self, value: object) -> bool:
        """Whether a value fits the schema."""
        try:
            require_json(value)
            return self._compiled.is_valid(value)
        except ValueError:
            return False

    def faults(self, value: object, whole: str = "the arguments") -> list[str]:
        """One sentence for each way in which the value, which is called `whole`, does not fit."""
        try:
            require_json(value)
            if self._branches and _is_deep(value):  # each level would take twice as long
                deep = f"{whole} do not fit, and are nested too deep to say where"
                return [] if self._compiled.is_valid(value) else [deep]
            errors = list(self._compiled.iter_errors(value))
        except ValueError as error:
            return [f"{whole} cannot be checked: {error}"]
        return list(dict.fromkeys(_Explainer(self.schema, whole).sentences(errors)))


def faults(value: object, schema: Schema) -> list[str]:
    """One sentence for each way in which the JSON value `value` does not fit `schema`."""
    return Validator(schema).faults(value)


def compiled(schema: Schema) -> Draft202012Validator:
    """What the library makes of a schema; it fetches nothing that the schema refers to."""
    from jsonschema_rs import Draft202012Validator, RegexOptions  # loaded with the first tool

    require_json(schema)
    return Draft202012Validator(
        cast("dict[str, Any]", thaw(schema)),  # it reads no schema in frozen lists
        formats={name: partial(_is_read, read) for name, (read, _) in FORMATS.items()},
        validate_formats=True,
        pattern_options=RegexOptions(),
        keywords=KEYWORDS,
        offline=True,
    )


def require_json(value: object, depth: int = DEPTH_MAX) -> None:
    """Raise ValueError for what the library takes for something else, or overflows the stack on."""
    if isinstance(value, CONTAINERS):
        if not depth:
            raise ValueError(f"more than {DEPTH_MAX} levels deep")
        for item in value.values() if isinstance(value, dict) else value:
            if type(item) not in HARMLESS:  # most arguments are: to look saves a call for each
                require_json(item, depth - 1)
    elif isinstance(value, int):
        if value.bit_length() > BITS_MAX:
            raise ValueError(f"an integer has more than {BITS_MAX} bits")
    elif isinstance(value, float) and not isfinite(value):
        raise ValueError(f"JSON has no {value}")


def _is_deep(value: object, levels: int = 2 * EXPLAINED_MAX) -> bool:
    """Whether containers stand in each other more than so many levels deep."""
    if not isinstance(value, CONTAINERS):
        return False
    items = value.values() if isinstance(value, dict) else value
    return not levels or any(_is_deep(item, levels - 1) for item in items)


def resolved(reference: str, root: Schema) -> Schema:
    """The schema that a local reference (``#``, ``#/$defs/x``) names.

    Raises:
        LookupError: there is none.
    """
    return cast(Schema, _at(root, pointer_parts(reference)))


def pointer_parts(reference: str) -> list[str]:
    """The names on the way from the root of a schema to what a local reference names."""
    parts = reference.removeprefix("#").split("/")[1:]
    return [
        part.replace("~1", "/").replace("~0", "~") for part in parts
    ]  # in this order: ~01 is ~1


def _at(root: Any, path: Path) -> Any:
    """What stands at a path; a JSON pointer has the places in lists as texts."""
    return reduce(lambda part, x: part[int(x) if isinstance(part, list) else x], path, root)


def _is_read(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


class _ContentEncoding:
    """The check of a keyword that says nothing by itself in 2020-12; of `bytes` it must."""

    def __init__(self, parent_schema: object, value: str, schema_path: object) -> None:
        self._is_base64 = value == "base64"

    def validate(self, instance: object) -> None:
        """Raise ValueError where a text is not encoded so."""
        if self._is_base64 and isinstance(instance, str):
            b64decode(instance, validate=True)


KEYWORDS: dict[str, type[KeywordValidator]] = {"contentEncoding": _ContentEncoding}


@frozen
class _Explainer:
    """Says what is wrong with a value, which is called `whole`."""

    root: Schema
    whole: str

    def sentences(self, errors: Iterable[ValidationError]) -> Iterator[str]:
        """What each error says, but for those that only follow from another one."""
        telling = _telling(errors)
        for error in errors:
            if telling.get(tuple(error.instance_path), error) is error:
                yield from self._sentences(error, self._place(error))

    def _sentences(self, error: ValidationError, place: str) -> Iterator[str]:
        rule: Any = error.kind.value
        match error.kind.name:
            case "required":
                yield f"{self._place(error, rule)} is missing"
            case "additionalProperties":
                yield from self._unknown(error)
            case "falseSchema" if _forbids_all(error.schema_path):
                yield f"{place} must have no properties"
            case "falseSchema":
                yield f"{place} must be left out"
            case "propertyNames":  # the library has no place for a name itself
                yield from self._sentences(rule, self._place(error, f"{rule.instance} (the name)"))
            case "anyOf" | "oneOf" if [] not in rule:
                yield from self._nearest(error, place)
            case keyword:
                is_sized = keyword.endswith(("Length", "Items", "Properties"))
                value: Any = error.instance
                got = len(value) if is_sized else short_json(value)
                yield f"{place} must {self._demand(error)}, got {got}"

    def _nearest(self, error: ValidationError, place: str) -> Iterator[str]:
        """What to say when no option fits: what those for values of this type say, if any are."""
        options: list[list[ValidationError]] = error.kind.value
        others = [_telling(errors).get(tuple(error.instance_path)) for errors in options]
        if None in others:
            near = (errors for errors, other in zip(options, others, strict=True) if other is None)
            yield from min(([*self.sentences(errors)] for errors in near), key=len)
        else:
            words = dict.fromkeys(_words(other) for other in others if other is not None)
            yield f"{place} must be {' or '.join(words)}, got {short_json(error.instance)}"

    def _demand(self, error: ValidationError) -> str:
        keyword, rule = error.kind.name, error.kind.value
        if keyword in ALIKE:
            return f"be {_words(error)}"
        if keyword == "format":
            return f"be {FORMATS[rule][1]}" if rule in FORMATS else f"be in the format {rule}"
        if keyword in DEMANDS:
            return DEMANDS[keyword].format(rule)
        return f"fit {short_json({str(error.schema_path[-1]): self._part(error.schema_path)})}"

    def _unknown(self, error: ValidationError) -> Iterator[str]:
        known = self._part([*error.schema_path[:-1], "properties"])
        for name in error.kind.value:
            close = [f"did you mean '{other}'?" for other in get_close_matches(name, known, 1)]
            hint = [*close, f"there is: {', '.join(known)}"][0]
            yield f"{self._place(error, name)} is not known; {hint}"

    def _part(self, path: Path) -> Any:
        """What stands in the schema at a path; nothing, where that is in one of the library's."""
        try:
            return _at(self.root, path)
        except (LookupError, TypeError):
            return {}

    def _place(self, error: ValidationError, *further: str) -> str:
        path = [*error.instance_path, *further]
        text = "".join(f"[{x}]" if isinstance(x, int) else f".{x}" for x in path)
        return f"'{text.removeprefix('.')}'" if path else self.whole


def _telling(errors: Iterable[ValidationError]) -> dict[tuple[str | int, ...], ValidationError]:
    """By place, the errors that say that a value is of another type, or none of some values."""
    alike = [error for error in errors if error.kind.name in ALIKE]
    alike.sort(key=lambda error: ALIKE.index(error.kind.name))
    return {tuple(error.instance_path): error for error in alike}


def _words(error: ValidationError) -> str:
    """In words what a value must be that is of another type, or none of some values."""
    match error.kind.name, error.kind.value:
        case "const", rule:
            return short_json(rule)
        case "enum", rule:
            return " or ".join(map(short_json, rule))
        case "type", rule:
            return " or ".join(phrase for name, phrase in PHRASES.items() if name in rule)
        case _:
            return "nothing"


def _forbids_all(path: Path) -> bool:
    """Whether `additionalProperties` at the end of a path is the keyword, and no property."""
    return path[-1:] == ["additionalProperties"] and path[-2:-1] != ["properties"]
