"""What a pattern looks at, and no value of a schema has or is."""

from __future__ import annotations

from typing import Any

import pytest

from detent.core.schema.pattern_names import may_be_text, unknown_names

CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"to": {"type": "string"}},
    "additionalProperties": False,
}
LISTS: dict[str, Any] = {"type": "array", "items": CLOSED}
HELD = {"type": "object", "properties": {"payment": CLOSED}, "additionalProperties": False}


def places(pattern: object, schema: object) -> list[tuple[str, list[str]]]:
    """What is never there, with what is."""
    root: Any = schema if isinstance(schema, dict) else {}
    return [(place, [*names]) for place, names in unknown_names(pattern, [schema], root)]


@pytest.mark.parametrize(
    ("pattern", "schema", "place", "names"),
    [
        ({"required": ["payee"]}, CLOSED, ".payee", ["to"]),
        ({"properties": {"payee": {"const": "Ann"}}}, CLOSED, ".payee", ["to"]),
        ({"anyOf": [{"required": ["payee"]}]}, CLOSED, ".payee", ["to"]),
        ({"items": {"required": ["payee"]}}, LISTS, "[].payee", ["to"]),
        ({"contains": {"required": ["payee"]}}, LISTS, "[].payee", ["to"]),
        (
            {"properties": {"payment": {"required": ["payee"]}}},
            HELD,
            ".payment.payee",
            ["to"],
        ),
        ({"required": ["payee"]}, {"allOf": [CLOSED]}, ".payee", ["to"]),
        ({"required": ["payee"]}, {"anyOf": [CLOSED, {"type": "null"}]}, ".payee", ["to"]),
        (
            {"required": ["payee"]},
            {"$ref": "#/$defs/Payment", "$defs": {"Payment": CLOSED}},
            ".payee",
            ["to"],
        ),
    ],
)
def test_what_is_never_there_is_named_with_what_is(
    pattern: object, schema: object, place: str, names: list[str]
) -> None:
    """However deep, and by whatever keyword the pattern looks there."""
    assert places(pattern, schema) == [(place, names)]


@pytest.mark.parametrize(
    ("pattern", "schema"),
    [
        ({"required": ["to"]}, CLOSED),
        ({"required": ["payee"]}, {"type": "object", "properties": {"to": {}}}),
        ({"required": ["payee"]}, {"anyOf": [CLOSED, {"type": "object"}]}),
        ({"required": ["payee"]}, {**CLOSED, "patternProperties": {"^p": {}}}),
        ({"required": ["payee"]}, {"anyOf": [CLOSED, True]}),
        ({"required": ["payee"]}, True),
        ({"properties": {"x": {"required": ["to"]}}}, {"additionalProperties": CLOSED}),
        ({"const": {"payee": "Ann"}}, CLOSED),
        (True, CLOSED),
    ],
)
def test_what_may_be_there_is_not(pattern: object, schema: object) -> None:
    """Of a schema that lets more pass than it names, nothing is unknown."""
    assert places(pattern, schema) == []


def test_what_nobody_has_named_is_looked_into_as_well() -> None:
    """Each further property is of the schema that says so."""
    schema = {"type": "object", "additionalProperties": CLOSED}
    assert places({"properties": {"x": {"required": ["payee"]}}}, schema) == [(".x.payee", ["to"])]


TEXT: dict[str, Any] = {"type": "string"}
DEFINED: dict[str, Any] = {"$defs": {"text": TEXT, "list": LISTS}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (TEXT, True),
        (LISTS, False),
        (True, True),
        ({}, True),
        ({"enum": ["a"]}, True),
        ({"type": ["null", "string"]}, True),
        ({"type": ["null", "array"]}, False),
        ({"anyOf": [LISTS, TEXT]}, True),
        ({"anyOf": [LISTS, CLOSED]}, False),
        ({"oneOf": [LISTS, CLOSED]}, False),
        ({"allOf": [TEXT, {"maxLength": 3}]}, True),
        ({"allOf": [{}, LISTS]}, False),
        ({"$ref": "#/$defs/text"}, True),
        ({"$ref": "#/$defs/list"}, False),
    ],
)
def test_what_may_be_a_text_is_known(schema: object, expected: object) -> None:
    """Where nothing is said it may be one."""
    assert may_be_text(schema, DEFINED) is expected
