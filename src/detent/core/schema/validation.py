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
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from attrs import Factory, field, frozen

from detent.core.schema.json_values import path_text, short_json
from detent.core.schema.references import Path, Schema, part_at, resolve
from detent.core.schema.scalars import SCALARS
from detent.core.schema.work import Pairs, Work
from detent.core.values.frozen import is_deep, thaw

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, KeywordValidator, ValidationError

DEPTH_MAX = 128
"""How deep a value may be: the library recurses on a stack that a thread may have little of."""

BITS_MAX = 14_000
"""How large an integer may be: like Python, the library reads no number of more than 4,300 digits;
of a larger one it says anything."""

FAULTS_MAX = 20
"""Nobody reads more, and each costs the model tokens."""

EXPLAINED_MAX = 11
"""How deep a value may be where it is said what is wrong with forms in forms, each some two levels
deep: to look at the options of all of them takes twice as long with each form more."""

LOOKS_MAX = 8_000
"""How often parts of such a value may be looked at for that, some 0.1 s: each option is tried."""

LOOKS_EACH_MAX = 2
"""How often each part may be by each schema that speaks of it, however many there are."""

NAMES_MAX = 100
"""How many names an object may have where it is said which of them are wrong: the library makes a
copy of all of it for each."""

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
ASKED: Mapping[str, str] = {
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
}
"""What a value must do, for each keyword that has a bound."""

ALIKE = frozenset({"type", "const", "enum"})
"""Where one of these fails, the other keywords of the same schema have nothing to add."""


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
        lambda text: compile_schema({"pattern": text}),
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

    def _compile(self) -> Draft202012Validator:
        return compile_schema(self.schema)

    _compiled: Draft202012Validator = field(
        init=False, eq=False, repr=False, default=Factory(_compile, takes_self=True)
    )

    def _obstacle(self, value: object) -> str:
        """Why it takes too long to say what is wrong with a value, if it does."""
        text = repr(self.schema)
        # options stand in options where the schema refers to itself or to others
        branches = "'$ref'" in text and ("'anyOf'" in text or "'oneOf'" in text)
        if branches and (is_deep(value, EXPLAINED_MAX) or self._is_long_to_explain(value)):
            return "are nested too deep to say where"
        is_wide = "'propertyNames'" in text and _is_wide(value)
        return "have an object with too many names to say which" if is_wide else ""

    def _is_long_to_explain(self, value: object) -> bool:
        known: Pairs = {}
        work = Work(self.schema, tries_all=True)
        try:
            looks = work.looks(value, self.schema, known)
        except (LookupError, TypeError, ValueError):  # only the library follows its references
            return False
        return looks > max(LOOKS_MAX, LOOKS_EACH_MAX * len(known))

    def fits(self, value: object) -> bool:
        """Whether a value fits the schema."""
        try:
            require_json(value)
            return self._compiled.is_valid(value)
        except ValueError:
            return False

    def fits_json(self, value: object) -> bool:
        """As `fits`, of what is known to be JSON."""
        return self._compiled.is_valid(value)

    def faults(self, value: object, whole: str = "the arguments") -> list[str]:
        """One sentence for each way in which the value, which is called `whole`, does not fit."""
        try:
            require_json(value)
            if flaw := self._obstacle(value):
                return [] if self._compiled.is_valid(value) else [f"{whole} do not fit, and {flaw}"]
            errors = list(self._compiled.iter_errors(value))
        except ValueError as error:
            return [f"{whole} cannot be checked: {error}"]
        explainer = _Explainer(self.schema, value, whole)
        try:
            messages = list(dict.fromkeys(explainer.sentences(errors)))
        except LookupError:  # a reference that only the library follows: it says it in its words
            messages = [f"{whole} do not fit: {error.message[:200]}" for error in errors]
        rest = len(messages) - FAULTS_MAX
        return messages if rest <= 0 else [*messages[:FAULTS_MAX], f"and {rest} more are wrong"]


def faults(value: object, schema: Schema) -> list[str]:
    """One sentence for each way in which the JSON value `value` does not fit `schema`."""
    return Validator(schema).faults(value)


def compile_schema(schema: Schema) -> Draft202012Validator:
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
    if isinstance(value, int):
        if value.bit_length() > BITS_MAX:
            raise ValueError(f"an integer has more than {BITS_MAX} bits")
    elif isinstance(value, CONTAINERS):
        if not depth:
            raise ValueError(f"more than {DEPTH_MAX} levels deep")
        for item in value.values() if isinstance(value, dict) else value:
            if type(item) not in HARMLESS:  # most arguments are: to look saves a call for each
                require_json(item, depth - 1)
    elif isinstance(value, float) and not isfinite(value):
        raise ValueError(f"JSON has no {value}")


def _is_wide(value: object) -> bool:
    """Whether an object in a value has many names."""
    if isinstance(value, dict):
        return len(value) > NAMES_MAX or any(map(_is_wide, value.values()))
    return isinstance(value, CONTAINERS) and any(map(_is_wide, value))


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
    """Says what is wrong with `value`, which is called `whole` and is `depth` deep in all."""

    root: Schema
    value: object
    whole: str
    depth: int = 0

    def sentences(self, errors: Sequence[ValidationError]) -> Iterator[str]:
        """What each error says, but for those that only follow from another one."""
        alike = [error for error in errors if error.kind.name in ALIKE]
        first = {_place_in_both(error, -1): error for error in reversed(alike)}
        for error in errors:  # the outermost schema that fails so speaks for all inside it
            ways = (_place_in_both(error, end) for end in range(len(error.evaluation_path)))
            if next((first[way] for way in ways if way in first), error) is error:
                yield from self._sentences(error)

    def _sentences(self, error: ValidationError) -> Iterator[str]:
        rule = error.kind.value
        match error.kind.name:
            case "required":
                yield f"{self._place(error, rule)} is missing{self._need(error)}"
            case "additionalProperties":
                yield from self._unknown_names(error, rule)
            case "falseSchema" if _forbids_others(error.schema_path):  # there is no property at all
                yield from self._unknown_names(error, self._value(error))
            case "propertyNames":
                name = f"{rule.instance} (the name)"
                depth = len(error.instance_path)  # the library has no place for a name itself
                inner = _Explainer(self.root, rule.instance, self._place(error, name), depth)
                yield from inner.sentences([rule])
            case "anyOf" | "oneOf" if [] not in rule:
                yield from self._nearest(error)
            case _:
                yield f"{self._place(error)} must {self._demand(error, self._value(error))}"

    def _demand(self, error: ValidationError, value: Any) -> str:
        keyword, rule = error.kind.name, error.kind.value
        schema = self._part(error.schema_path[:-1])
        match keyword:
            case "falseSchema":
                return "be left out"
            case "format" if rule not in FORMATS:
                demand = f"be in the format {rule}"
            case "uniqueItems":
                return "not have an item twice"
            case "oneOf":
                return f"fit exactly one of {len(rule)} forms, and fits {rule.count([])}"
            case "not":
                demand = f"not be {self._expectation(rule)}"
            case "contentEncoding":
                demand = f"be {schema[keyword]} text"
            case "contains":
                is_most = error.schema_path[-1] == "maxContains"
                limit = schema["maxContains"] if is_most else schema.get("minContains", 1)
                count = f"at {'most' if is_most else 'least'} {limit}"
                demand = f"have {count} items that are {self._expectation(schema['contains'])}"
            case _ if keyword.endswith(("Length", "Items", "Properties")):
                return f"{ASKED[keyword].format(rule)}, got {len(value)}"
            case _ if keyword in ASKED:
                demand = ASKED[keyword].format(rule)
            case _:
                demand = f"be {self._expectation(schema, [error])}"
        return f"{demand}, got {short_json(value)}"

    def _nearest(self, error: ValidationError) -> Iterator[str]:
        """What to say when no option fits: what those for values of this type say, if any are."""
        options: list[list[ValidationError]] = error.kind.value
        near = [errors for errors in options if not _is_other(errors, error.instance_path)]
        place = self._place(error)
        if len(near) == 1:
            yield from self.sentences(near[0])
        elif near:
            fewest = min((list(self.sentences(errors)) for errors in near), key=len)
            advice = f"the nearest one says: {'; '.join(fewest)}"
            yield f"{place} must fit one of {len(options)} forms; {advice}"
        else:
            parts = [self._part([*error.schema_path, index]) for index in range(len(options))]
            words = dict.fromkeys(map(self._expectation, parts, options))
            yield f"{place} must be {' or '.join(words)}, got {short_json(self._value(error))}"

    def _expectation(self, schema: Schema, errors: Sequence[ValidationError] = ()) -> str:
        """What a schema wants, in words; if it does not say so itself, what `errors` say of it."""
        rules = schema if isinstance(schema, Mapping) else {}
        if words := _words(rules):
            return words
        if (reference := str(rules.get("$ref", ""))).startswith("#"):
            return self._expectation(resolve(reference, self.root), errors)
        if options := rules.get("anyOf") or rules.get("oneOf"):
            return " or ".join(map(self._expectation, options))
        demands = (_words({error.kind.name: error.kind.value}) for error in errors)
        return next(filter(None, demands), "what its schema says")

    def _unknown_names(self, error: ValidationError, names: Iterable[str]) -> Iterator[str]:
        properties = self._part(error.schema_path[:-1]).get("properties", {})
        for name in names:
            close = [f"did you mean '{match}'?" for match in get_close_matches(name, properties, 1)]
            hint = [*close, f"there is: {', '.join(properties) or 'nothing'}"][0]
            yield f"{self._place(error, name)} is not known; {hint}"

    def _need(self, error: ValidationError) -> str:
        """Who needs the property that is missing, where not all do."""
        value = self._value(error)
        for name, names in self._part(error.schema_path).items():  # of a `required` there is none
            if name in value and error.kind.value in names:
                return f", and {self._place(error, name)} needs it"
        return ""

    def _part(self, path: Path) -> Mapping[str, Any]:
        """The part of the schema at a path; nothing, where that is in a schema of the library's."""
        try:
            part = part_at(self.root, path)
        except (LookupError, TypeError):
            return {}
        return part if isinstance(part, Mapping) else {}

    def _value(self, error: ValidationError) -> Any:
        return part_at(self.value, error.instance_path[self.depth :])

    def _place(self, error: ValidationError, *further: str) -> str:
        path = [*error.instance_path[self.depth :], *further]
        return f"'{path_text(path)}'" if path else self.whole


def _words(rules: Mapping[str, Any]) -> str:
    """In words what the most telling of these keywords asks; "" if that takes more than some."""
    if "const" in rules:
        return short_json(rules["const"])
    if "enum" in rules:
        return " or ".join(map(short_json, rules["enum"]))
    if rules.get("format") in FORMATS:
        return FORMATS[rules["format"]][1]
    kinds = rules.get("type", ())
    names = [kinds] if isinstance(kinds, str) else kinds
    return " or ".join(phrase for name, phrase in PHRASES.items() if name in names)


def _place_in_both(error: ValidationError, end: int) -> tuple[tuple[str | int, ...], ...]:
    """Which value it is about, and the schema that stands so far in the way to its keyword."""
    return tuple(error.instance_path), tuple(error.evaluation_path[:end])


def _forbids_others(path: Path) -> bool:
    """Whether `additionalProperties` at the end of a path is the keyword, and no property."""
    return path[-1:] == ["additionalProperties"] and path[-2:-1] != ["properties"]


def _is_other(errors: Sequence[ValidationError], path: Path) -> bool:
    """Whether an option is for values of another type, or for other values."""
    kinds = {error.kind.name for error in errors if error.instance_path == path}
    return not kinds.isdisjoint({*ALIKE, "falseSchema"})
