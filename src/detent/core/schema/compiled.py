"""Whether a value fits a JSON Schema: a test that is made once for a schema, and then is fast.

`json_schema` says what is wrong with a value. With nearly every value, nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import isfinite
from typing import Any, TypeAlias

from detent.core.schema.keywords import KINDS, Place, Schema, identity
from detent.core.schema.validation import CHECKS, fits, resolved

Test: TypeAlias = Callable[[Any], bool]
Tests: TypeAlias = dict[type, tuple[Test, ...]]
"""What is asked of the values of each class."""

Part: TypeAlias = tuple[frozenset[type], Test]
"""The classes all of whose values fit, and the test of any value."""

Known: TypeAlias = dict[str, Test]
"""The tests of the schemas that references name."""

Maker: TypeAlias = Callable[[Any, Mapping[str, Any], Place, Known], Test | None]
"""Takes a keyword's rule, the schema that has it, its place, and tests that are made already."""


def checker(schema: Schema) -> Test:
    """A test that is true of exactly those JSON values of which `faults` has nothing to say.

    >>> fits = checker({"properties": {"n": {"type": "integer"}}})
    >>> fits({"n": 1}), fits({"n": 1.5})
    (True, False)
    """
    return _made(schema, Place(schema), {})


def _made(schema: Schema, place: Place, known: Known) -> Test:
    if isinstance(schema, bool):
        return partial(_is_so, schema)
    return _by(_tests(schema, place, known), schema, place)


def _by(tests: Tests, schema: Schema, place: Place) -> Test:
    return partial(_by_kind, tests, partial(_closely, schema, place))


def _tests(schema: Mapping[str, Any], place: Place, known: Known) -> Tests:
    asked = list(_asked(schema, place, known))
    return {
        kind: (
            *_of_type(schema.get("type"), kind),
            *(test for spoken_of, test in asked if spoken_of in ("any", name)),
        )
        for kind, name in KINDS.items()
    }


def _of_type(declared: str | Sequence[str] | None, kind: type) -> Iterator[Test]:
    """What ``type`` asks of the values of a class; nothing, if all have the type."""
    names = (declared,) if isinstance(declared, str) else declared
    if names is None or (kind is not float and KINDS[kind] in names):
        return
    if kind is float and "number" in names:
        yield isfinite
    elif kind not in (int, float) or "integer" not in names:
        yield partial(_is_so, False)  # noqa: FBT003 - as a schema has it
    elif kind is float:
        yield float.is_integer  # false of what is not finite


def _asked(schema: Mapping[str, Any], place: Place, known: Known) -> Iterator[tuple[str, Test]]:
    """The test of each keyword but ``type``, and the JSON type that it speaks of."""
    if "const" in schema:
        yield "any", partial(_is_among, frozenset({identity(schema["const"])}))
    if "enum" in schema:
        yield "any", partial(_is_among, frozenset(map(identity, schema["enum"])))
    for keyword, rule in schema.items():
        if keyword in CHECKS:
            made = MAKERS[keyword](rule, schema, place, known) if keyword in MAKERS else None
            yield CHECKS[keyword][0], made or partial(_passes, keyword, rule, schema, place)


def _by_kind(tests: Tests, closely: Test, value: object) -> bool:
    mine = tests.get(type(value))
    if mine is None:
        return closely(value)
    for test in mine:  # noqa: SIM110 - a generator would take as long as the tests
        if not test(value):
            return False
    return True


def _closely(schema: Schema, place: Place, value: object) -> bool:
    """For a value of a class of somebody's own."""
    return fits(value, schema, place)


def _passes(
    keyword: str, rule: object, schema: Mapping[str, Any], place: Place, value: object
) -> bool:
    return next(CHECKS[keyword][1](value, rule, schema, place), None) is None


def _is_so(answer: bool, value: object) -> bool:  # noqa: FBT001 - as the schema has it
    return answer


def _is_among(choices: frozenset[object], value: object) -> bool:
    return identity(value) in choices


def _reference(rule: str, schema: object, place: Place, known: Known) -> Test:
    if rule not in known:
        known[rule] = partial(_known, known, rule)  # a schema may refer to itself
        known[rule] = _made(resolved(rule, place.root), place, known)
    return partial(_known, known, rule)


def _known(known: Known, reference: str, value: object) -> bool:
    return known[reference](value)


def _any_of(options: Sequence[Schema], schema: object, place: Place, known: Known) -> Test:
    return partial(_fits_any, tuple(_made(option, place, known) for option in options))


def _fits_any(tests: tuple[Test, ...], value: object) -> bool:
    for test in tests:  # noqa: SIM110 - as above
        if test(value):
            return True
    return False


def _properties(rule: Mapping[str, Schema], schema: object, place: Place, known: Known) -> Test:
    return partial(_parts_fit, {name: _part(rule[name], place.of(name), known) for name in rule})


def _part(schema: Schema, place: Place, known: Known) -> Part:
    if isinstance(schema, bool):
        return frozenset(), partial(_is_so, schema)
    tests = _tests(schema, place, known)
    return frozenset(kind for kind in tests if not tests[kind]), _by(tests, schema, place)


def _parts_fit(parts: Mapping[str, Part], value: Mapping[str, object]) -> bool:
    for name, item in value.items():
        part = parts.get(name)
        # Most are of a class that tells all: to look saves a call for each argument of each tool.
        if part is not None and type(item) not in part[0] and not part[1](item):
            return False
    return True


def _required(rule: Sequence[str], schema: object, place: Place, known: Known) -> Test:
    return frozenset(rule).issubset


def _additional(rule: Schema, schema: Mapping[str, Any], place: Place, known: Known) -> Test | None:
    """Only for objects that have no other properties, which those of tools are."""
    if rule is not False or "patternProperties" in schema:
        return None
    return frozenset(schema.get("properties", ())).issuperset


def _items(rule: Schema, schema: Mapping[str, Any], place: Place, known: Known) -> Test | None:
    if "prefixItems" in schema:
        return None
    return partial(_all_fit, _made(rule, place.at(0), known))


def _all_fit(test: Test, value: Sequence[object]) -> bool:
    for item in value:  # noqa: SIM110 - as above
        if not test(item):
            return False
    return True


def _prefix_items(rule: Sequence[Schema], schema: object, place: Place, known: Known) -> Test:
    return partial(_row_fits, [_made(item, place.at(0), known) for item in rule])


def _row_fits(tests: Sequence[Test], value: Sequence[object]) -> bool:
    return all(test(item) for test, item in zip(tests, value, strict=False))


MAKERS: Mapping[str, Maker] = {
    "$ref": _reference,
    "anyOf": _any_of,
    "properties": _properties,
    "required": _required,
    "additionalProperties": _additional,
    "items": _items,
    "prefixItems": _prefix_items,
}
"""The keywords that have a fast test; the others are checked as `json_schema` does."""
