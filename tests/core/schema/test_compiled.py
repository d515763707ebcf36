"""The fast test of a schema says no exactly where there is a fault to tell."""

from __future__ import annotations

import pickle
from enum import StrEnum
from math import inf, nan
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detent.core.schema.compiled import checker
from detent.core.schema.validation import faults
from detent.core.values.frozen import freeze

NAMES = st.sampled_from(["a", "b"])
VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, -2, 0.0, 1.0, 1.5, inf, nan, "", "a", "abc"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=6,
)
KINDS = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
TREE: dict[str, object] = {
    "type": ["object", "null"],
    "properties": {"a": {"$ref": "#/$defs/tree"}, "b": {"type": "integer", "minimum": 0}},
    "additionalProperties": False,
}


def _containing(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": KINDS | st.lists(KINDS, min_size=1, max_size=3, unique=True),
            "enum": st.lists(VALUES, min_size=1, max_size=3),
            "const": VALUES,
            "minimum": st.integers(-1, 1),
            "maxLength": st.integers(0, 2),
            "required": st.lists(NAMES, max_size=2, unique=True),
            "properties": st.dictionaries(NAMES, inner, max_size=2),
            "patternProperties": st.dictionaries(NAMES, inner, max_size=1),
            "additionalProperties": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            **dict.fromkeys(("items", "not"), inner),
            **dict.fromkeys(("anyOf", "allOf", "oneOf"), st.lists(inner, min_size=1, max_size=2)),
            "$ref": st.just("#/$defs/tree"),
        },
    )


SCHEMAS = st.recursive(st.booleans(), _containing, max_leaves=8).map(
    lambda schema: {**schema, "$defs": {"tree": TREE}} if isinstance(schema, dict) else schema
)


@settings(
    max_examples=400, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(SCHEMAS, VALUES)
def test_it_says_no_exactly_where_there_is_a_fault(schema: Any, value: Any) -> None:
    """Of plain values and schemas, and of frozen ones."""
    fits = checker(schema)
    assert fits(value) is (list(faults(value, schema)) == [])
    assert fits(freeze(value)) is fits(value)
    assert checker(freeze(schema))(value) is fits(value)  # type: ignore[arg-type]  # it stays a schema


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, True),
        ({"a": {"a": {"b": 1}}}, True),
        ({"a": {"a": {"b": -1}}}, False),
        ({"a": {"c": 1}}, False),
        ({"a": 1}, False),
    ],
    ids=str,
)
def test_a_schema_may_refer_to_itself(value: object, expected: object) -> None:
    """As the schema of a tree does."""
    fits = checker({"$ref": "#/$defs/tree", "$defs": {"tree": TREE}})
    assert fits(value) is expected
    assert pickle.loads(pickle.dumps(fits))(value) is expected  # noqa: S301 - just made


class Word(StrEnum):
    """A text of somebody's own class."""

    UP = "up"


def test_values_of_other_classes_are_looked_at_closely() -> None:
    """They are what their parents are."""
    assert checker({"type": "string", "maxLength": 2})(Word.UP)
    assert not checker({"type": "string", "maxLength": 1})(Word.UP)
    assert not checker({"type": "integer"})(Word.UP)
    assert checker({"type": "integer"})(1.0)
    assert not checker({"type": ["integer", "null"]})(1.5)
    assert not checker({"type": "number"})(inf)


def test_each_item_must_fit() -> None:
    """Of a list of any length, wherever the one that does not fit stands."""
    fits = checker({"items": {"type": "integer"}})

    assert fits([])
    assert fits([1, 2, 3])
    assert [fits(items) for items in (["a"], ["a", 1], [1, "a", 2], [1, "a"])] == [False] * 4


def test_a_name_that_matches_a_pattern_is_no_other() -> None:
    """Where other names are not allowed."""
    fits = checker({"patternProperties": {"^a": True}, "additionalProperties": False})
    assert fits({"ab": 1})
    assert not fits({"b": 1})


def test_a_reference_holds_for_values_of_other_classes_too() -> None:
    """They are looked at closely where it leads."""
    fits = checker({"$ref": "#/$defs/text", "$defs": {"text": {"maxLength": 1}}})
    assert not fits(Word.UP)
    assert checker({"anyOf": [{"$ref": "#/$defs/n"}], "$defs": {"n": True}})(Word.UP)
