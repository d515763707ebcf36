"""Tools, calls and what identifies them, as nearly every API writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from detent.adapters.providers.http.wire import cannot_send
from detent.core.chat.messages import ToolCall
from detent.core.tools.tool import ToolSpec


def function_tool(tool: ToolSpec) -> dict[str, Any]:
    """A tool in the form of Chat Completions, which other APIs have taken over."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}


def arguments_of(call: ToolCall) -> Mapping[str, object]:
    """The arguments of a call; what the model wrote where it is no JSON object, as one.

    Servers read the calls of the history, too, and refuse what is none.
    """
    return call.arguments if call.unreadable is None else {"unreadable": call.unreadable}


def id_of(call: ToolCall, api: str) -> str:
    """The id of a call, in it and in its result.

    Raises:
        ChatGeneratorError: it has none, which `api` does not take.
    """
    if call.id is None:
        raise cannot_send(api, f"call of tool {call.tool_name!r} without an id")
    return call.id
