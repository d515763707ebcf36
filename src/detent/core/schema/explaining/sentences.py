"""Sentences: what is wrong with a value, as a model can act on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from attrs import frozen

from detent.core.schema.explaining.closing import closed_union
from detent.core.schema.json_values import path_text, short_json
from detent.core.schema.references import Path, Schema, part_at, resolve
from detent.core.values.checks import near_name

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

FAULTS_MAX = 20
"""Nobody reads more, and each costs the model tokens."""

NEAREST_MAX = 20
"""So many forms of a union are looked at for the nearest: those of which the least is wrong."""

NAMES_MAX = 100
"""Among so many names a wrong one is looked for: what was meant by it."""

PHRASES: Mapping[str, str] = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "an array",
    "object": "an object",
}
FORMAT_PHRASES: Mapping[str, str] = {
    "date-time": "a date and time as in 2026-01-31T12:00:00Z",
    "date": "a date as in 2026-01-31",
    "time": "a time as in 12:30:00",
    "duration": "a duration as in P1DT12H30M5S",
    "uuid": "a UUID",
    "decimal": "a decimal number as in 12.50",
    "regex": "a regular expression without look-around and back-references",
}
"""The formats that mean here what Python reads, and no pattern that needs backtracking."""

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


@frozen
class Explainer:
    """Says what is wrong with `value`, which is called `whole` and is `depth` deep in all."""

    root: Schema
    value: object
    whole: str
    depth: int = 0

    def summary(self, errors: Sequence[ValidationError]) -> list[str]:
        """The first sentences about errors, and how many more there are: these are not worded."""
        speaking = [*self._speaking(errors)]
        found: dict[str, None] = {}
        for place, error in enumerate(speaking):
            found.update(dict.fromkeys(self._sentences(error)))
            if len(found) > FAULTS_MAX:
                rest = len(found) - FAULTS_MAX + len(speaking) - place - 1
                return [*[*found][:FAULTS_MAX], f"and {rest} more are wrong"]
        return [*found]

    def sentences(self, errors: Sequence[ValidationError]) -> Iterator[str]:
        """All sentences about errors."""
        for error in self._speaking(errors):
            yield from self._sentences(error)

    def _speaking(self, errors: Sequence[ValidationError]) -> Iterator[ValidationError]:
        """Those errors that do not only follow from another one."""
        alike = [error for error in errors if error.kind.name in ALIKE]
        first = {_place_in_both(error, -1): error for error in reversed(alike)}
        for error in errors:  # the outermost schema that fails so speaks for all inside it
            ways = (_place_in_both(error, end) for end in range(len(error.evaluation_path)))
            if next((first[way] for way in ways if way in first), error) is error:
                yield error

    def _sentences(self, error: ValidationError) -> Iterator[str]:
        rule = error.kind.value
        match error.kind.name:
            case "required":
                yield f"{self._place(error, rule)} is missing{self._need(error)}"
            case "additionalProperties":
                yield from self._unknown_names(error, rule)
            case "falseSchema" if _forbids_others(error.schema_path):  # there is no property at all
                yield from self._unknown_names(error, self._value(error))
            case "falseSchema" if union := closed_union(self.root, error.schema_path):
                (options,) = union.values()
                forms = f"{self._place(error)} must fit one of {len(options)} forms"
                yield f"{forms}; it would take too long to say what is wrong with each"
            case "propertyNames":
                name = f"{rule.instance} (the name)"
                depth = len(error.instance_path)  # the library has no place for a name itself
                place = self._place(error, name)
                inner = Explainer(self.root, rule.instance, place, depth)
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
            case "format" if rule not in FORMAT_PHRASES:
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
            least = sorted(near, key=len)[:NEAREST_MAX]
            fewest = min((list(self.sentences(errors)) for errors in least), key=len)
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
        some = [*islice(properties, NAMES_MAX)]
        for name in names:
            near = near_name(name, some)
            there = f"there is: {', '.join(properties) or 'nothing'}"
            hint = there if near is None else f"did you mean '{near}'?"
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
    if rules.get("format") in FORMAT_PHRASES:
        return FORMAT_PHRASES[rules["format"]]
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
