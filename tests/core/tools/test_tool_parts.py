"""Parts that make no tool are refused when it is made."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import inf, nan
from typing import Any

import pydantic
import pytest

from detent.core.errors import ToolDefinitionError
from detent.core.tools.tool import Tool

EMPTY: dict[str, Any] = {"type": "object", "properties": {}}


class Model(pydantic.BaseModel):
    """What some pass for its schema."""


class Yields:
    """An object whose call is a generator."""

    def __call__(self, a: int) -> Iterator[int]:
        """Count."""
        yield a


def _yields(a: int) -> Iterator[int]:
    yield a


async def _yields_later(a: int) -> Any:
    yield a


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (
            {"name": ""},
            "the name of a tool has letters, digits, '_', '-', '.' and ':' only, got ''",
        ),
        ({"name": "my tool"}, "got 'my tool'"),
        ({"function": 3}, "tool 't': the function must be callable, got 3"),
        ({"function": _yields}, "tool 't': the function yields; a tool returns all at once"),
        ({"function": _yields_later}, "tool 't': the function yields; a tool returns all at once"),
        ({"name": 3}, "a tool has a name and a description in words, got (3, '')"),
        ({"description": None}, "a tool has a name and a description in words, got ('t', None)"),
        ({"parameters": "{}"}, "parameters is a JSON Schema as a dict, got '{}'"),
        ({"parameters": Model}, "; take its model_json_schema()"),
        ({"inputs_from_state": ["a"]}, "what wires a tool to the state is a dict, got ['a']"),
        ({"retries": "3"}, "retries is a number of attempts or a Retries, got '3'"),
        ({"retries": True}, "retries is a number of attempts or a Retries, got True"),
        ({"parameters": {}}, "tool 't': parameters must be a JSON Schema with 'type': 'object'"),
        (
            {"parameters": {"type": "object", "propertys": {}}},
            "tool 't': parameters: the schema uses 'propertys', which is no keyword; did you mean",
        ),
        (
            {"timeout_s": 0},
            "timeout_s must be a number of seconds above 0, got 0; None is no limit",
        ),
        ({"max_calls": 0}, "max_calls must be a number above 0, got 0"),
        ({"max_calls": True}, "max_calls must be a number above 0, got True"),
        ({"timeout_s": True}, "timeout_s must be a number of seconds above 0, got True"),
        ({"timeout_s": nan}, "timeout_s must be a number of seconds above 0, got nan"),
        ({"timeout_s": inf}, "timeout_s must be a number of seconds above 0, got inf"),
        ({"timeout_s": "5"}, "timeout_s must be a number of seconds above 0, got '5'"),
        ({"function": Yields()}, "tool 't': the function yields; a tool returns all at once"),
        ({"function": partial(_yields, 1)}, "tool 't': the function yields"),
        (
            {"outputs_to_state": {"a": {"handler": lambda update: update}}},
            "outputs_to_state['a']: 'handler' is called with the current value and the update",
        ),
        (
            {"outputs_to_string": {"handler": lambda: ""}},
            "outputs_to_string: 'handler' is called with the result, or its part, which <",
        ),
        (
            {"outputs_to_string": {"a": {"source": "a", "handler": lambda x, y: x}}},
            "outputs_to_string['a']: 'handler' is called with the result, or its part, which <",
        ),
        ({"inputs_from_state": {"a": 1}}, "inputs_from_state['a'] must name a parameter, got 1"),
        ({"outputs_to_state": {"a": 1}}, "outputs_to_state['a'] must be a dict of handler, source"),
    ],
)
def test_parts_that_make_no_tool_are_refused(parts: dict[str, Any], expected: str) -> None:
    """When the tool is made."""
    given: dict[str, Any] = {"name": "t", "description": "", "parameters": EMPTY, "function": len}
    with pytest.raises(ToolDefinitionError) as caught:
        Tool(**{**given, **parts})
    assert expected in str(caught.value)
