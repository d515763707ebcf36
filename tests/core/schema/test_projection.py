"""What the state fills is in no part of what a model sees, nor asked of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.core.errors import ToolDefinitionError
from detent.core.schema.accepted_keywords import schema_faults
from detent.core.schema.projection import (
    property_names,
    without_defaults,
    without_properties,
)
from detent.core.schema.validation import faults
from detent.core.tools.tool import Tool

HIDDEN = frozenset({"user"})
BOTH = {"properties": {"q": {"type": "string"}, "user": {"type": "string"}}}
Q = {"properties": {"q": {"type": "string"}}}
NEEDS = {**BOTH, "required": ["q", "user"]}
NEEDS_Q = {**Q, "required": ["q"]}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (NEEDS, NEEDS_Q),
        ({"allOf": [NEEDS, True]}, {"allOf": [NEEDS_Q, True]}),
        ({"anyOf": [NEEDS, BOTH]}, {"anyOf": [NEEDS_Q, Q]}),
        ({"oneOf": [NEEDS_Q, Q]}, {"oneOf": [NEEDS_Q, Q]}),
        (
            {"oneOf": [NEEDS, NEEDS_Q], "allOf": [Q], "anyOf": [Q]},
            {"anyOf": [Q], "allOf": [Q, {"anyOf": [NEEDS_Q, NEEDS_Q]}]},
        ),
        ({"$ref": "#/$defs/A", "$defs": {"A": NEEDS}}, {"allOf": [NEEDS_Q]}),
        ({"$ref": "#/definitions/A", "definitions": {"A": NEEDS}}, {"allOf": [NEEDS_Q]}),
        ({"$ref": "#/$defs/A", "$defs": {"A": Q}}, {"$ref": "#/$defs/A", "$defs": {"A": Q}}),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": NEEDS}},
            {"allOf": [{"allOf": [NEEDS_Q]}]},
        ),
        (
            {**Q, "$defs": {"U~/": {"items": {"$ref": "#/$defs/V"}}, "V": {}, "W": {}}}
            | {"properties": {"q": {"$ref": "#/$defs/U~0~1"}, "user": {"$ref": "#/$defs/W"}}},
            {
                "properties": {"q": {"$ref": "#/$defs/U~0~1"}},
                "$defs": {"U~/": {"items": {"$ref": "#/$defs/V"}}, "V": {}},
            },
        ),
        ({"if": {"required": ["user"]}, "then": NEEDS_Q, "else": NEEDS}, {}),
        (
            {"if": {"required": ["q"]}, "then": NEEDS, "else": BOTH},
            {"if": {"required": ["q"]}, "then": NEEDS_Q, "else": Q},
        ),
        ({"not": {"required": ["user"]}}, {}),
        ({"not": {"required": ["q"]}}, {"not": {"required": ["q"]}}),
        (
            {"not": {"$ref": "#/$defs/A"}, "$defs": {"A": NEEDS_Q}},
            {"not": {"$ref": "#/$defs/A"}, "$defs": {"A": NEEDS_Q}},
        ),
        (
            {"oneOf": [{"$ref": "#/$defs/A"}, Q], "$defs": {"A": NEEDS_Q}},
            {"oneOf": [{"$ref": "#/$defs/A"}, Q], "$defs": {"A": NEEDS_Q}},
        ),
        (
            {"dependentRequired": {"q": ["user", "p"], "user": ["q"]}},
            {"dependentRequired": {"q": ["p"]}},
        ),
        (
            {"dependentSchemas": {"q": NEEDS, "user": NEEDS}},
            {"dependentSchemas": {"q": NEEDS_Q}},
        ),
        ({"minProperties": 2, "maxProperties": 2}, {"minProperties": 1, "maxProperties": 2}),
        ({"minProperties": 0}, {"minProperties": 0}),
        ({"patternProperties": {"^user$": {}, "^x-": {}}}, {"patternProperties": {"^x-": {}}}),
        ({"propertyNames": {"enum": ["q", "user"]}}, {"propertyNames": {"enum": ["q"]}}),
        ({"propertyNames": {"enum": ["user"]}}, {"propertyNames": False}),
        ({"propertyNames": {"pattern": "^u"}}, {"propertyNames": {"pattern": "^u"}}),
        ({"propertyNames": True}, {"propertyNames": True}),
        (
            {"default": {"q": "a", "user": "b"}, "examples": [{"user": "b"}, 1]},
            {"default": {"q": "a"}, "examples": [{}, 1]},
        ),
        ({"examples": {"user": "as it is"}}, {"examples": {"user": "as it is"}}),
        (
            {"properties": {"q": NEEDS}, "additionalProperties": False},
            {"properties": {"q": NEEDS}, "additionalProperties": False},
        ),
    ],
    ids=lambda schema: json.dumps(schema)[:60],
)
def test_a_property_is_hidden_wherever_a_schema_speaks_of_it(
    schema: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Composed, referred to, or needed by others; not where it is a property of something else."""
    assert without_properties(schema, HIDDEN) == expected


NAMES = st.sampled_from(["q", "p", "user"])
SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(NAMES, st.sampled_from([{}, {"type": "string"}])),
            "required": st.lists(NAMES, unique=True),
            "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, unique=True)),
            "minProperties": st.integers(0, 3),
            "propertyNames": st.just({"enum": ["q", "p", "user"]}),
            "$ref": st.sampled_from(["#/$defs/A", "#/$defs/B"]),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(("not", "if", "then", "else"), inner),
            **dict.fromkeys(("allOf", "anyOf", "oneOf"), st.lists(inner, min_size=1, max_size=3)),
            "dependentSchemas": st.dictionaries(NAMES, inner),
        },
    ),
    max_leaves=8,
)
DEFINITIONS = {"A": NEEDS, "B": {"oneOf": [{"$ref": "#/$defs/A"}, Q]}}


@given(SCHEMAS, st.dictionaries(NAMES, st.sampled_from(["x", 1])))
def test_nothing_hidden_is_left_and_nothing_right_is_refused(
    schema: dict[str, Any], arguments: dict[str, object]
) -> None:
    """Whatever the schema: what fits it with the hidden one, fits without it."""
    schema = {**schema, "$defs": DEFINITIONS}
    shown = without_properties(schema, HIDDEN)
    assert "user" not in json.dumps(shown)
    assert list(schema_faults(shown)) == []
    if not list(faults(arguments, schema)):
        sent = {name: value for name, value in arguments.items() if name not in HIDDEN}
        assert list(faults(sent, shown)) == []


def test_what_is_offered_is_looked_for_in_all_parts() -> None:
    """Also in parts that refer to each other without end."""
    schema = {
        "$ref": "#/$defs/A",
        "allOf": [{"properties": {"c": {}}}, True],
        "dependentSchemas": {"c": {"properties": {"d": {}}}},
        "if": {"properties": {"no": {}}},
        "then": {"properties": {"e": {}}},
        "$defs": {
            "A": {
                "properties": {"a": {"properties": {"no": {}}}},
                "anyOf": [{"$ref": "#/$defs/B"}],
            },
            "B": {"properties": {"b": {}}, "allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#"}]},
        },
    }
    assert property_names(schema) == {"a", "b", "c", "d", "e"}


def told(query: str, user: str) -> str:
    return query + user


def test_a_tool_that_refers_to_what_it_hides_is_refused() -> None:
    """It says what is missing."""
    parameters = {
        "type": "object",
        "properties": {"query": {"$ref": "#/properties/user"}, "user": {"type": "string"}},
    }
    with pytest.raises(
        ToolDefinitionError, match=r"without 'user', which the state fills.*'\$ref'"
    ):
        Tool("told", "", parameters, told, inputs_from_state={"name": "user"})


def test_a_schema_without_the_defaults_of_secrets_asks_the_same() -> None:
    """However deep they are, and wherever it speaks of them; other defaults stay."""
    pin = {"type": "string", "default": "4711"}
    named = {"default": {"type": "string", "default": "4711"}}  # a property of that name
    login = {"type": "object", "properties": {"pin": pin, **named}}
    other = {"properties": {"tea": {"default": "green"}}}
    schema: dict[str, Any] = {
        "type": "object",
        "$defs": {"Login": login, "Tea": other},
        "properties": {
            "login": {"anyOf": [{"$ref": "#/$defs/Login"}, {"default": "4711"}]},
            "pin": pin,
            "tea": {"$ref": "#/$defs/Tea", "default": {}},
        },
        "allOf": [{"properties": {"pin": {"default": "4711"}}}, True],
        "default": {"pin": "4711", "tea": {}},
        "required": ["login"],
    }

    told = without_defaults(schema, frozenset({"login", "pin"}))

    assert "4711" not in json.dumps(told)
    assert told["$defs"]["Login"]["properties"].keys() == {"pin", "default"}
    assert (told["$defs"]["Tea"], told["default"]) == (other, {"tea": {}})
    assert told["properties"]["tea"] == schema["properties"]["tea"]
    assert told["required"] == ["login"]


PIN = {"properties": {"pin": {"default": "1234", "examples": ["1234"]}, "user": {"default": "Ann"}}}
BLANK = {"properties": {"pin": {}, "user": {"default": "Ann"}}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"if": PIN, "then": PIN, "else": True}, {"if": BLANK, "then": BLANK, "else": True}),
        ({"not": PIN}, {"not": BLANK}),
        ({"dependentSchemas": {"user": PIN}}, {"dependentSchemas": {"user": BLANK}}),
        ({"allOf": [PIN], "oneOf": [PIN]}, {"allOf": [BLANK], "oneOf": [BLANK]}),
        (
            {"$ref": "#/$defs/Login", "$defs": {"Login": PIN}},
            {"$ref": "#/$defs/Login", "$defs": {"Login": BLANK}},
        ),
        (
            {"examples": [{"pin": "1234", "user": "Ann"}], "default": {"pin": "1234"}},
            {"examples": [{"user": "Ann"}], "default": {}},
        ),
        ({"examples": "1234?"}, {"examples": "1234?"}),
        (
            {"x-defs": {"Pin": [{"default": "1234", "type": "string"}]}},
            {"x-defs": {"Pin": [{"type": "string"}]}},
        ),
    ],
    ids=str,
)
def test_a_secret_is_told_by_no_part_of_a_schema(schema: Any, expected: Any) -> None:
    """Wherever it speaks of it; all else stays."""
    assert without_defaults(schema, frozenset({"pin"})) == expected
