"""Tools as the model reads them."""

from __future__ import annotations

import pytest

from detent.adapters.providers.local.signatures import tool_text
from detent.core.tools.tool import ToolSpec


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["integer", "null"]}, "integer | null"),
        ({"enum": ["a", 1]}, '"a" | 1'),
        ({"const": "x"}, '"x"'),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
        ({"type": "array"}, "any[]"),
        ({"type": "object"}, "object"),
        (
            {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
            "{x: number}",
        ),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
        ({"$ref": "#/$defs/K"}, '"one"'),
        ({"$ref": "#/$defs/missing"}, "any"),
        ({"$ref": "https://example.com/schema"}, "any"),
        ({"$ref": "#/$defs/Loop"}, "{next?: {next?: any}}"),
        ({}, "any"),
        (True, "any"),
    ],
)
def test_a_type_is_written_as_in_typescript(schema: object, written: str) -> None:
    """However it is put in JSON Schema."""
    loop = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Loop"}}}
    parameters = {
        "type": "object",
        "properties": {"p": schema},
        "required": ["p"],
        "$defs": {"K": {"enum": ["one"]}, "Loop": loop},
    }
    assert tool_text(ToolSpec("f", "", parameters)) == f"f(p: {written})"


def test_descriptions_follow_the_signature() -> None:
    """Each on one line, and only those that are there."""
    properties = {"a": {"type": "string", "description": "the\n first"}, "b": {"type": "string"}}
    spec = ToolSpec("f", "Does\n  it.", {"type": "object", "properties": properties})
    assert tool_text(spec) == "f(a?: string, b?: string)\n  Does it.\n  a: the first"


def test_a_tool_without_parameters_has_empty_brackets() -> None:
    """And its description."""
    assert tool_text(ToolSpec("f", "Does it.", {"type": "object"})) == "f()\n  Does it."
