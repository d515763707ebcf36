"""Made-up values fit the schema that they are made for, and are the same for the same dice."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

import pytest
from attrs import frozen

from detent import Tool, create_tool_from_function
from detent.adapters.testing.simulation.drawing import (
    CannotDrawError,
    arguments_for,
    dice,
    drawn,
    result_for,
)
from detent.core.schema.validation import faults

SCHEMAS: dict[str, dict[str, Any]] = {
    "no rule": {},
    "integer": {"type": "integer", "minimum": 3, "maximum": 4},
    "only a maximum": {"type": "integer", "maximum": -7},
    "inside of bounds": {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 2},
    "multiple": {"type": "integer", "multipleOf": 4, "minimum": 1, "maximum": 9},
    "number": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "number in steps": {"type": "number", "multipleOf": 2},
    "text": {"type": "string", "minLength": 3, "maxLength": 4},
    "date": {"type": "string", "format": "date"},
    "bytes": {"type": "string", "contentEncoding": "base64"},
    "boolean": {"type": "boolean"},
    "null": {"type": "null"},
    "several types": {"type": ["string", "null"]},
    "const": {"const": [1]},
    "enum": {"enum": ["a", 2]},
    "any of": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]},
    "all of": {"allOf": [{"type": "integer"}, {"minimum": 4}]},
    "list": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "uniqueItems": True},
    "row": {"type": "array", "prefixItems": [{"type": "null"}, True], "minItems": 2, "maxItems": 2},
    "object": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    },
    "tree": {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "properties": {"next": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            }
        },
    },
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_drawn_fits(name: str) -> None:
    """Whatever the dice say."""
    for seed in range(30):
        assert list(faults(drawn(SCHEMAS[name], dice(seed)), SCHEMAS[name])) == []


def test_a_pattern_is_not_solved() -> None:
    """Where nothing is found, that is said."""
    with pytest.raises(CannotDrawError, match="no value was found that fits"):
        drawn({"type": "string", "pattern": "^[0-9]{7}$"}, dice(1))


def test_dice_fall_the_same_way() -> None:
    """They depend on what they are thrown for, and on nothing else."""
    assert dice(1, "model", 2).random() == dice(1, "model", 2).random() == 0.20088542987292324
    assert dice(1, "model", 2).random() != dice(1, "model", 3).random()


@frozen
class Order:
    """Something with parts."""

    on: date
    kind: Literal["a", "b"]


def order(on: date, note: str = "") -> Order:
    """Order something."""
    return Order(on, "a")


def odd() -> complex:
    """Give what JSON has no form of."""
    return 1j


def test_arguments_and_results_are_of_the_declared_types() -> None:
    """The arguments are JSON, the result is what the function would return."""
    tool = create_tool_from_function(order)

    assert arguments_for(tool, dice(1))["on"] == "2026-01-31"
    assert result_for(tool, dice(1)).on == date(2026, 1, 31)
    assert result_for(Tool("t", "", {"type": "object"}, print), dice(1)) == "a result of t"
    with pytest.raises(CannotDrawError, match="JSON has no form of"):
        result_for(create_tool_from_function(odd), dice(1))
