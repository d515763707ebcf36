"""JSON Schema: the sentences that a model acts on, and agreement with a well-known validator."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from detent.core.schema.accepted_keywords import schema_faults
from detent.core.schema.explaining.sentences import FAULTS_MAX
from detent.core.schema.references import resolve
from detent.core.schema.validation import MORE, faults
from detent.core.values.frozen import freeze

NAMES = st.sampled_from(["a", "b", "ab"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, 0.5, -1.5])
    | st.sampled_from(["", "a", "ab", "abc"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
FEW = st.integers(0, 3)
BOUND = st.integers(-2, 2)
SOME_NAMES = st.lists(NAMES, max_size=2, unique=True)
PATTERNS = st.sampled_from(["^a", "b$", "ab"])
DEFINITIONS = {
    "x": {"type": ["integer", "array"], "minimum": 0, "items": {"$ref": "#/$defs/x"}},
    "y/z": {"required": ["a"]},
}

SIMPLE = st.fixed_dictionaries(
    {},
    optional={
        "type": KINDS | st.lists(KINDS, min_size=1, max_size=3, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), BOUND),
        "multipleOf": st.sampled_from([1, 2, 0.5, 3]),
        **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), FEW),
        **dict.fromkeys(("minProperties", "maxProperties"), FEW),
        "pattern": PATTERNS,
        "uniqueItems": st.booleans(),
        "required": SOME_NAMES,
        "dependentRequired": st.dictionaries(NAMES, SOME_NAMES, max_size=2),
        "title": st.just("a title"),
        "default": VALUES,
    },
)


def containing(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas with schemas in them."""
    several = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(NAMES, inner, max_size=2)
    single = ("items", "contains", "additionalProperties", "propertyNames", "not")
    deep = st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys((*single, "if", "then", "else"), inner),
            **dict.fromkeys(("prefixItems", "allOf", "anyOf", "oneOf"), several),
            **dict.fromkeys(("properties", "dependentSchemas"), named),
            "patternProperties": st.dictionaries(PATTERNS, inner, max_size=2),
            **dict.fromkeys(("minContains", "maxContains"), FEW),
            "$ref": st.sampled_from(["#/$defs/x", "#/$defs/y~1z"]),
        },
    )
    return st.tuples(SIMPLE, deep).map(lambda parts: {**parts[0], **parts[1]})


SCHEMAS = st.recursive(SIMPLE | st.booleans(), containing, max_leaves=6).map(
    lambda schema: {**schema, "$defs": DEFINITIONS} if isinstance(schema, dict) else schema
)


@settings(
    max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(SCHEMAS, VALUES)
def test_it_agrees_with_a_well_known_validator(schema: Any, value: Any) -> None:
    """A value has no faults exactly when the jsonschema library finds it valid."""
    assert list(schema_faults(schema)) == []
    is_valid = Draft202012Validator(schema).is_valid(value)
    assert (list(faults(value, schema)) == []) is is_valid


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(SCHEMAS, VALUES)
def test_frozen_values_are_read_as_plain_ones(schema: Any, value: object) -> None:
    """A run's arguments and a tool's schema are frozen."""
    frozen = faults(freeze(value), freeze(schema))  # type: ignore[arg-type]  # it stays a schema
    assert list(frozen) == list(faults(value, schema))


PAGE = {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]}
WORD = {"type": "string"}
LINEAR = "a regular expression without look-around and back-references"


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "integer"}, "3", "'x' must be an integer, got \"3\""),
        ({"type": ["string", "null"]}, 3, "'x' must be a string or null, got 3"),
        ({"type": "boolean"}, 1, "'x' must be true or false, got 1"),
        ({"enum": ["up", "down"]}, "left", '\'x\' must be "up" or "down", got "left"'),
        ({"const": 1}, True, "'x' must be 1, got true"),
        ({"type": "string"}, "a" * 99, None),
        ({"type": "integer"}, "a" * 99, f"'x' must be an integer, got \"{'a' * 59}…"),
        ({"anyOf": [WORD, {"type": "null"}]}, 3, "'x' must be a string or null, got 3"),
        ({"anyOf": [PAGE, {"type": "null"}]}, {}, "'x.page' is missing"),
        (
            {"anyOf": [{"minimum": 5}, {"maximum": 1, "multipleOf": 7}]},
            3,
            "'x' must fit one of 2 forms; the nearest one says: 'x' must be at least 5, got 3",
        ),
        (
            {"oneOf": [WORD, {"maxLength": 3}]},
            "a",
            "'x' must fit exactly one of 2 forms, and fits 2",
        ),
        ({"oneOf": [WORD, PAGE]}, 1, "'x' must be a string or an object, got 1"),
        ({"allOf": [{"minLength": 2}]}, "a", "'x' must have at least 2 characters, got 1"),
        ({"not": {"type": "null"}}, None, "'x' must not be null, got null"),
        ({"not": True}, 1, "'x' must not be what its schema says, got 1"),
        (
            {"if": {"minimum": 5}, "then": {"multipleOf": 5}},
            6,
            "'x' must be a multiple of 5, got 6",
        ),
        ({"if": {"minimum": 5}, "else": {"maximum": 1}}, 3, "'x' must be at most 1, got 3"),
        ({"exclusiveMinimum": 3}, 3, "'x' must be more than 3, got 3"),
        ({"exclusiveMaximum": 3}, 3, "'x' must be less than 3, got 3"),
        ({"multipleOf": 0.1}, 0.3, None),
        ({"pattern": "^a"}, "b", "'x' must match ^a, got \"b\""),
        (
            {"format": "date-time"},
            "noon",
            "'x' must be a date and time as in 2026-01-31T12:00:00Z, got \"noon\"",
        ),
        ({"format": "date-time"}, "2026-01-31T12:00:00Z", None),
        ({"format": "decimal"}, "-12.50", None),
        ({"format": "uuid"}, "12", "'x' must be a UUID, got \"12\""),
        ({"format": "decimal"}, "1e5", "'x' must be a decimal number as in 12.50, got \"1e5\""),
        ({"format": "hostname"}, "anything", None),
        ({"contentEncoding": "base64"}, "é", "'x' must be base64 text, got \"é\""),
        ({"contentEncoding": "quoted-printable"}, "é", None),
        ({"items": WORD}, ["a", 1], "'x[1]' must be a string, got 1"),
        ({"prefixItems": [WORD], "items": False}, ["a", 1], "'x[1]' must be left out"),
        ({"uniqueItems": True}, [1, 1.0], "'x' must not have an item twice"),
        ({"minItems": 1}, [], "'x' must have at least 1 items, got 0"),
        ({"contains": WORD}, [1], "'x' must have at least 1 items that are a string, got [1]"),
        (
            {"contains": {"$ref": "#/$defs/small"}, "maxContains": 1},
            [1, 2],
            "'x' must have at most 1 items that are an integer, got [1, 2]",
        ),
        ({"properties": {"page": False}}, {"page": 1}, "'x.page' must be left out"),
        (
            {"properties": {"page": {}}, "additionalProperties": False},
            {"pgae": 1},
            "'x.pgae' is not known; did you mean 'page'?",
        ),
        ({"additionalProperties": False}, {"a": 1}, "'x.a' is not known; there is: nothing"),
        ({"additionalProperties": WORD}, {"a": 1}, "'x.a' must be a string, got 1"),
        ({"patternProperties": {"^n": WORD}}, {"no": 1}, "'x.no' must be a string, got 1"),
        (
            {"propertyNames": {"maxLength": 1}},
            {"ab": 1},
            "'x.ab (the name)' must have at most 1 characters, got 2",
        ),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "'x.b' is missing, and 'x.a' needs it"),
        ({"dependentSchemas": {"a": {"required": ["c"]}}}, {"a": 1}, "'x.c' is missing"),
        ({"$ref": "#/$defs/small"}, "a", "'x' must be an integer, got \"a\""),
    ],
)
def test_a_fault_is_one_clear_sentence(
    schema: dict[str, object], value: object, expected: str | None
) -> None:
    """It names the argument, what is expected and what came."""
    whole = {"properties": {"x": schema}, "$defs": {"small": {"type": "integer"}}}
    assert list(faults({"x": value}, whole)) == ([] if expected is None else [expected])


def test_every_fault_is_told() -> None:
    """A model can mend all of them at once."""
    schema = {"properties": {"a": WORD, "b": WORD}, "required": ["a", "b", "c"]}
    assert list(faults({"a": 1, "b": 2}, schema)) == [
        "'c' is missing",
        "'a' must be a string, got 1",
        "'b' must be a string, got 2",
    ]


def test_arguments_that_are_no_object_are_called_the_arguments() -> None:
    """The whole has no name of its own."""
    assert list(faults([1], {"type": "object"})) == ["the arguments must be an object, got [1]"]


def test_a_reference_leads_to_its_definition() -> None:
    """By name or place, with the escapes of JSON pointers."""
    root = {"$defs": {"a/b~c": {"type": "null"}}, "anyOf": [True, False]}
    assert resolve("#/$defs/a~1b~0c", root) == {"type": "null"}
    assert resolve("#/anyOf/1", root) is False
    assert resolve("#", root) is root
    with pytest.raises(LookupError):
        resolve("#/$defs/none", root)


def test_what_would_do_is_told_in_words() -> None:
    """Also where it is a format, and where only some names must match."""
    either = {"anyOf": [{"type": "string", "format": "date"}, {"type": "integer"}]}
    assert list(faults({"a": 1.5}, {"properties": {"a": either}})) == [
        "'a' must be a date as in 2026-01-31 or an integer, got 1.5"
    ]
    some = {"patternProperties": {"^n_": {"type": "integer"}}}
    assert list(faults({"n_a": 1, "b": "x"}, some)) == []


def test_what_its_schema_says_is_the_last_word() -> None:
    """Of an option that says nothing which a sentence could be made of."""
    either = {"anyOf": [{"type": "integer"}, {"minLength": 3}]}
    assert faults(1, {"not": either}) == [
        "the arguments must not be an integer or what its schema says, got 1"
    ]
    enough = {"contains": {"type": "integer"}, "minContains": 1, "maxContains": 2}
    assert list(faults([1, "a"], enough)) == []


def test_what_would_do_is_found_behind_references() -> None:
    """However deep the options are."""
    schema = {
        "not": {"anyOf": [{"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}]},
        "$defs": {"n": {"type": "integer"}},
    }
    assert list(faults(1, schema)) == ["the arguments must not be an integer or null, got 1"]


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (
            {"enum": [1, 2], "minimum": 5, "items": {"type": "null"}},
            3,
            ["the arguments must be 1 or 2, got 3"],
        ),
        (
            {"items": {"type": "integer", "minimum": 5}},
            ["a", 3],
            ["'[0]' must be an integer, got \"a\"", "'[1]' must be at least 5, got 3"],
        ),
        (
            {"type": "string", "format": "date"},
            5,
            ["the arguments must be a date as in 2026-01-31, got 5"],
        ),
        ({"format": "email"}, "x", ['the arguments must be in the format email, got "x"']),
        (
            {"format": "regex"},
            "(?=a)",
            [f'the arguments must be {LINEAR}, got "(?=a)"'],
        ),
        (
            {"type": "string", "$ref": "#/$defs/n", "$defs": {"n": {"minLength": 2}}},
            1,
            ["the arguments must be a string, got 1"],
        ),
        (
            {"propertyNames": {"anyOf": [{"const": "a"}, {"const": "b"}]}},
            {"c": 1},
            ['\'c (the name)\' must be "a" or "b", got "c"'],
        ),
        (
            {"items": {"propertyNames": {"maxLength": 1}}},
            [{"ab": 1}],
            ["'[0].ab (the name)' must have at most 1 characters, got 2"],
        ),
        (
            {"dependentRequired": {"a": ["c"], "b": ["c"]}},
            {"b": 1},
            ["'c' is missing, and 'b' needs it"],
        ),
        (
            {"anyOf": [{"allOf": [{"type": "null"}]}, {"minLength": 2, "enum": [7]}, False]},
            "x",
            ['the arguments must be null or 7 or what its schema says, got "x"'],
        ),
    ],
)
def test_only_what_helps_is_told(
    schema: dict[str, object], value: object, expected: list[str]
) -> None:
    """What follows from another fault is not, nor what the library has no better word for."""
    assert faults(value, schema) == expected


FILTERS: Any = {
    "$defs": {
        "filter": {
            "anyOf": [
                {"properties": {"or": {"type": "array", "items": {"$ref": "#/$defs/filter"}}}}
                | {"type": "object", "required": ["or"]},
                {"type": "string"},
            ]
        }
    },
    "$ref": "#/$defs/filter",
}


def test_what_is_nested_deep_in_forms_is_refused_at_once() -> None:
    """To say where would take twice as long with each level."""
    value: Any = 5
    for _ in range(40):
        value = {"or": [value]}

    told = "the arguments must fit one of 2 forms; it would take too long to say what is wrong with"
    assert faults(value, FILTERS) == [f"{told} each", MORE]
    fitting: Any = "x"
    for _ in range(40):
        fitting = {"or": [fitting]}
    assert faults(fitting, FILTERS) == []
    shallow = faults({"or": [{"or": [5]}]}, FILTERS)
    assert shallow == ["'or[0].or[0]' must be an object or a string, got 5"]


def test_a_reference_that_only_the_library_follows_is_said_in_its_words() -> None:
    """Below an `$id` references lead elsewhere."""
    text = {"type": "string", "contentEncoding": "base64"}
    inner = {"$id": "http://e.com/i", "$defs": {"f": text}}
    x = inner | {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/f"}]}
    schema = {"$defs": {"f": {"type": "integer"}}, "properties": {"x": x}}

    assert "is not valid" in faults({"x": "!"}, schema)[0]


def test_no_more_faults_are_told_than_anybody_reads() -> None:
    """How many more there are is said."""
    schema = {"type": "object", "properties": {"ids": {"items": {"type": "integer"}}}}

    found = faults({"ids": ["x"] * 100}, schema)

    assert len(found) == FAULTS_MAX + 1
    assert found[0].startswith("'ids[0]' must be an integer")
    assert found[-1] == f"and {100 - FAULTS_MAX} more are wrong"
