"""What a hand-written JSON Schema may say."""

from __future__ import annotations

from math import nan
from typing import Any

import pytest

from detent.core.schema import accepted_keywords
from detent.core.schema.accepted_keywords import schema_faults, without

LINEAR = "a regular expression without look-around and back-references"


def test_a_schema_may_use_all_that_can_be_checked() -> None:
    """Nothing is wrong with this one."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "description": "a search",
        "properties": {
            "query": {"type": "string", "minLength": 1, "examples": ["cats"]},
            "at": {"$ref": "#/$defs/place"},
            "old": {"$ref": "#/definitions/old"},
        },
        "required": ["query"],
        "dependentRequired": {"at": ["query"]},
        "additionalProperties": False,
        "$defs": {"place": {"type": ["number", "null"], "multipleOf": 0.5}},
        "definitions": {"old": True},
        "strict": True,
        "x-order": 1,
    }
    assert list(schema_faults(schema)) == []


def test_a_schema_may_refer_to_itself_from_inside() -> None:
    """And to the same place twice; the value ends some time."""
    tree = {"type": "array", "items": {"$ref": "#/$defs/tree"}}
    twice = {"allOf": [{"$ref": "#/$defs/tree"}, True], "$ref": "#/$defs/tree"}
    assert list(schema_faults({**twice, "$defs": {"tree": tree}})) == []


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ([], "the schema must be an object, got []"),
        ({"$ref": "#"}, "the schema: '$ref' leads back to itself, and to no value inside: '#'"),
        (
            {
                "properties": {"a": {"$ref": "#/$defs/a"}},
                "$defs": {"a": {"anyOf": [{"type": "null"}, {"not": {"$ref": "#/$defs/a"}}]}},
            },
            "/properties/a: '$ref' leads back to itself, and to no value inside: '#/$defs/a'",
        ),
        ({"properties": {"a": 3}}, "'properties.a' must be true or false or an object, got 3"),
        (
            {"propertis": {}},
            "the schema uses 'propertis', which is no keyword; did you mean 'properties'?",
        ),
        (
            {"items": {"unevaluatedItems": False}},
            "/items uses 'unevaluatedItems', which arguments cannot be checked against",
        ),
        ({1: 2}, "the schema uses 1, which arguments cannot be checked against"),
        (
            {"type": "text"},
            (
                '\'type\' must be "array" or "boolean" or "integer" or "null" or "number" or '
                '"object" or "string" or an array, got "text"'
            ),
        ),
        ({"required": "a"}, "'required' must be an array, got \"a\""),
        ({"minimum": "1"}, "'minimum' must be a number, got \"1\""),
        ({"minItems": -1}, "'minItems' must be at least 0, got -1"),
        ({"multipleOf": 0}, "'multipleOf' must be more than 0, got 0"),
        ({"anyOf": []}, "'anyOf' must have at least 1 items, got 0"),
        ({"allOf": {}}, "'allOf' must be an array, got {}"),
        ({"properties": []}, "'properties' must be an object, got []"),
        ({"items": {"pattern": "("}}, f"'items.pattern' must be {LINEAR}, got \"(\""),
        ({"pattern": "(?=a)b"}, f"'pattern' must be {LINEAR}, got \"(?=a)b\""),
        ({"pattern": r"(a)\1"}, f"'pattern' must be {LINEAR}, got \"(a)\\\\1\""),
        (
            {"patternProperties": {"(": {}}},
            f"'patternProperties.( (the name)' must be {LINEAR}, got \"(\"",
        ),
        ({"minimum": nan}, "the schema cannot be checked: JSON has no nan"),
        (
            {"$defs": {"x": {}}, "items": {"$id": "https://example.org/x", "$ref": "#/$defs/x"}},
            "the schema cannot be used: Pointer '/$defs/x' does not exist",
        ),
        (
            {"$ref": "https://example.org/schema"},
            (
                "the schema: '$ref' must name a schema in '$defs', as in '#/$defs/x', "
                "got 'https://example.org/schema'"
            ),
        ),
        (
            {"anyOf": [{"$ref": "#/$defs/none"}]},
            "/anyOf/0: '$ref' must name a schema in '$defs', as in '#/$defs/x', got '#/$defs/none'",
        ),
    ],
)
def test_what_is_wrong_with_a_schema_is_said(schema: object, expected: str) -> None:
    """Where it is, what it should be and what it is."""
    assert schema_faults(schema)[0] == expected


def test_a_keyword_can_be_left_out_at_every_depth() -> None:
    """A property that has the same name stays."""
    schema = {
        "title": "T",
        "properties": {"title": {"title": "Title", "type": "string"}},
        "anyOf": [{"title": "A"}, True],
        "items": {"title": "I"},
        "default": {"title": "kept: it is a value"},
    }
    assert without(schema, lambda keyword, _: keyword == "title") == {
        "properties": {"title": {"type": "string"}},
        "anyOf": [{}, True],
        "items": {},
        "default": {"title": "kept: it is a value"},
    }


def test_true_and_false_are_schemas() -> None:
    """All and nothing."""
    assert schema_faults("all") == ["the schema must be an object, got 'all'"]
    assert list(schema_faults(True)) == list(schema_faults(False)) == []  # noqa: FBT003 - schemas


def test_references_are_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two in each to the next, there are twice as many ways with each."""
    followed: list[object] = []
    follow = accepted_keywords.target_of

    def counted(reference: object, root: Any) -> Any:
        followed.append(reference)
        return follow(reference, root)

    monkeypatch.setattr(accepted_keywords, "target_of", counted)
    named: dict[str, Any] = {"a12": {"type": "integer"}}
    for n in range(12):
        named[f"a{n}"] = {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2}

    assert schema_faults({"$ref": "#/$defs/a0", "$defs": named}) == []
    assert len(followed) < 40 * 12
