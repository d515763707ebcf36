"""Tools, calls and ids are written the same for nearly every API."""

from __future__ import annotations

import pytest

from detent.adapters.providers.http.calls import arguments_of, function_tool, id_of
from detent.core.chat.messages import ToolCall
from detent.core.tools.tool import ToolSpec
from detent.ports.chat import ChatGeneratorError


def test_a_tool_is_a_function() -> None:
    """With its name, what it does and its schema."""
    schema = {"type": "object"}
    function = {"name": "add", "description": "Adds.", "parameters": schema}
    assert function_tool(ToolSpec("add", "Adds.", schema)) == {
        "type": "function",
        "function": function,
    }


def test_arguments_are_always_an_object() -> None:
    """Also where the model wrote none."""
    assert arguments_of(ToolCall("add", {"a": 1})) == {"a": 1}
    assert arguments_of(ToolCall("add", unreadable='{"a": ')) == {"unreadable": '{"a": '}


def test_a_call_without_an_id_is_refused_before_it_is_sent() -> None:
    """The message names the tool and the API."""
    assert id_of(ToolCall("add", id="1"), "the API") == "1"
    with pytest.raises(ChatGeneratorError, match="the API takes no call of tool 'add' without an"):
        id_of(ToolCall("add"), "the API")
