"""However much is wrong, no more is looked for than anybody reads."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from detent.core.schema.explaining.sentences import FAULTS_MAX
from detent.core.schema.validation import MORE, Validator

CALLS_MAX = 60_000
FORMS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"kind": {"const": f"v{n}"}}, "required": ["kind"]}
    for n in range(100)
]
LONG: dict[str, Any] = {"dependentRequired": {f"name {n}": [] for n in range(9_000)}}
NAMES = [f"name {n}" for n in range(300)]


def calls_for(test: Validator, value: object) -> tuple[list[str], int]:
    """What is said of a value, and how many calls of functions that takes, in C as well."""
    calls = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        return test.faults(value), calls
    finally:
        sys.setprofile(before)


def in_list(items: dict[str, Any], **more: Any) -> Validator:
    """The test of a list of these."""
    return Validator({"properties": {"x": {"type": "array", "items": items}}, **more})


@pytest.mark.parametrize(
    ("test", "item", "told"),
    [
        (
            in_list({"anyOf": FORMS}),
            {"kind": "z"},
            "'x[0]' must fit one of 100 forms; the nearest one says: 'x[0].kind' must be \"v0\"",
        ),
        (
            in_list({"$ref": "#/$defs/one"}, **{"$defs": {"one": {"oneOf": FORMS}}}),
            {"kind": "z"},
            "'x[0]' must fit one of 100 forms; the nearest one says: 'x[0].kind' must be \"v0\"",
        ),
        (in_list({"required": NAMES}), {}, "'x[0].name 0' is missing"),
        (in_list({"enum": NAMES}), "z", "'x[0]' must be \"name 0\" or "),
        (
            in_list({"anyOf": [{"items": {"anyOf": FORMS}, "minItems": 1}, {"minItems": 99}]}),
            [{"kind": "z"}] * 30,
            "'x[0]' must fit one of 2 forms; it would take too long to say what is wrong with each",
        ),
    ],
)
def test_of_many_faults_the_first_is_looked_for(test: Validator, item: object, told: str) -> None:
    """A server's schema of 550 forms, and 900 short items, took half a minute."""
    said, calls = calls_for(test, {"x": [item] * 200})

    assert said[0].startswith(told)
    assert said[1:] == [MORE]
    assert calls < CALLS_MAX


def test_no_more_is_worded_than_anybody_reads() -> None:
    """To count the others is enough."""
    said, calls = calls_for(in_list({"type": "string"}), {"x": [*range(5_000)]})

    assert len(said) == FAULTS_MAX + 1
    assert said[-1] == f"and {5_000 - FAULTS_MAX} more are wrong"
    assert calls < 50 * 5_000


def test_of_many_forms_some_are_read_for_the_nearest() -> None:
    """Those of which the library says the least."""
    near = {"properties": {"n": {"type": "integer"}}}
    far = [{**form, "required": ["kind", "a", "b"]} for form in FORMS]

    said, calls = calls_for(Validator({"anyOf": [*far, near]}), {"kind": "z", "n": "1"})

    nearest = "'n' must be an integer, got \"1\""
    assert said == [f"the arguments must fit one of 101 forms; the nearest one says: {nearest}"]
    assert calls < CALLS_MAX // 4


def test_references_into_a_union_are_followed_by_nobody() -> None:
    """The union is closed: it is said that the value does not fit."""
    union = {"anyOf": [{"type": "string", "minLength": 2}, {"type": "null"}]}
    items = {"items": {"$ref": "#/properties/y/anyOf/0"}}
    test = Validator({"properties": {"x": items, "y": union}})

    assert test.faults({"x": ["a"]})[0].startswith("'x[0]' must have at least 2")
    assert test.faults({"x": ["a"] * 20_000}) == [
        "the arguments do not fit, and it would take too long to say where"
    ]


def test_long_values_that_fit_have_no_fault() -> None:
    """Whatever stands in the way of finding one."""
    assert in_list({"anyOf": FORMS}).faults({"x": [{"kind": "v99"}] * 500}) == []
    looped = {"anyOf": [{"items": {"$ref": "#/properties/x/anyOf/0"}}, {"type": "string"}]}
    assert Validator({"properties": {"x": looped}}).faults({"x": [[]] * 10_000}) == []


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"properties": {"x": {"maxItems": 3}, "y": True}}, "'x' must have at most 3 items"),
        ({"properties": {"x": False}}, "'x' must be left out"),
        ({"allOf": [{"$ref": "#/$defs/no"}], "$defs": {"no": {"not": {}}}}, "the arguments must"),
        ({"prefixItems": [True], "type": "array"}, "the arguments must be an array"),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema", "required": ["y"]}, "'y' is"),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema", "title": "x"}, "'type' must "),
        (
            {"$ref": "urn:o#/$defs/n", "$defs": {"o": {"$id": "urn:o", "$defs": {"n": False}}}},
            "the arguments must be left out",
        ),
    ],
)
def test_other_faults_of_long_values_are_told(schema: Any, told: str) -> None:
    """Where there is no union."""
    value = {"x": [1] * 10_000, "type": 7}
    sentence, more = Validator({**schema, **LONG}).faults(value)

    assert sentence.startswith(told)
    assert more == MORE
