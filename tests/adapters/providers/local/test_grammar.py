"""Which grammar tools make."""

from __future__ import annotations

import json
from typing import Any

import pytest

from detent.adapters.providers.local.grammar import reply_grammar, schema_grammar
from detent.core.tools.tool import ToolSpec

FIND = ToolSpec(
    "find",
    "",
    {"type": "object", "properties": {"words": {"type": "string"}}, "required": ["words"]},
)
ANSWER = ToolSpec("final_answer", "", {"type": "object"})


def rules(grammar: str) -> dict[str, str]:
    """The rules of a grammar by name."""
    header, *lines = grammar.splitlines()
    assert header == "%llguidance {}"
    return dict(line.split(": ", maxsplit=1) for line in lines)


def schema(rule: str) -> Any:
    return json.loads(rule.removeprefix("%json "))


def arguments(**keywords: Any) -> Any:
    """What becomes of the JSON Schema of a tool's parameters."""
    spec = ToolSpec("f", "", {"type": "object", **keywords})
    call = schema(rules(reply_grammar([spec], None))["call"])
    made = call["anyOf"][0]["properties"]["arguments"]
    assert made.pop("$id") == "tool:///0"
    assert made.pop("type") == "object"
    return made


def test_a_reply_is_a_call_or_an_answer() -> None:
    """Each names what is called, and nothing else is let in."""
    made = rules(reply_grammar([FIND], ANSWER))
    assert made["start"] == "calls | answer"
    assert made["calls"] == "call"
    (call,) = schema(made["call"])["anyOf"]
    assert call["properties"]["name"] == {"const": "find"}
    assert call["properties"]["arguments"]["additionalProperties"] is False
    assert schema(made["answer"])["properties"]["name"] == {"const": "final_answer"}


def test_one_of_both_may_be_left_out() -> None:
    """No tools, or no answer."""
    assert rules(reply_grammar([], ANSWER))["start"] == "answer"
    assert rules(reply_grammar([FIND], None))["start"] == "calls"


def test_several_calls_stand_on_lines_of_their_own() -> None:
    """Up to the number that is given."""
    assert rules(reply_grammar([FIND], None, calls_max=4))["calls"] == r'call ("\n" call){0,3}'


def test_white_space_is_that_of_json_dumps() -> None:
    """So that a call written again is the same text."""
    for rule in ("call", "answer"):
        options = schema(rules(reply_grammar([FIND], ANSWER))[rule])["x-guidance"]
        assert (options["item_separator"], options["key_separator"]) == (", ", ": ")
        assert options["whitespace_flexible"] is False


def test_what_makes_no_grammar_is_left_out() -> None:
    """However deep it is; a parameter of the same name stays."""
    deep = {"type": "array", "items": {"type": "string", "pattern": "^(?=x)"}}
    made = arguments(properties={"pattern": deep, "title": {"description": "t", "type": "string"}})
    assert made == {
        "properties": {
            "pattern": {"type": "array", "items": {"type": "string"}},
            "title": {"type": "string"},
        },
        "additionalProperties": False,
    }


def test_a_reference_to_another_document_lets_anything_in() -> None:
    """One within the schema is kept."""
    kinds = {"K": {"enum": ["one"]}}
    made = arguments(
        properties={"a": {"$ref": "https://example.com/s"}, "b": {"$ref": "#/$defs/K"}},
        **{"$defs": kinds},
    )
    assert made["properties"] == {"a": {}, "b": {"$ref": "#/$defs/K"}}
    assert made["$defs"] == kinds


def test_literal_values_are_kept_as_they_are() -> None:
    """They may look like keywords."""
    value = {"pattern": "x", "$ref": "https://example.com/s"}
    assert arguments(properties={"a": {"enum": [value]}})["properties"] == {"a": {"enum": [value]}}


@pytest.mark.parametrize(
    "keywords",
    [
        {"properties": {}, "additionalProperties": True},
        {"properties": {}, "anyOf": [{"required": ["a"]}]},
        {"properties": {}, "allOf": [{"properties": {"a": {}}}]},
    ],
)
def test_parameters_that_are_composed_are_not_closed(keywords: dict[str, Any]) -> None:
    """What they let in beside their properties is their own matter."""
    assert arguments(**keywords) == keywords


def test_an_answer_may_be_held_to_a_schema_of_its_own() -> None:
    """Without any call around it."""
    made = schema(rules(schema_grammar({"type": "integer", "title": "T"}))["start"])
    assert {key: value for key, value in made.items() if key != "x-guidance"} == {"type": "integer"}
