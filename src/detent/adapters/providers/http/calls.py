"""Tools, calls and what identifies them, as nearly every API writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from detent.adapters.providers.http.api import ChatRequest
from detent.adapters.providers.meaning.wire import cannot_send
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


FREE_TEXT = "input"
"""The parameter of a tool that takes free text, and no JSON, from a model: both APIs call it so."""


def custom_tools(options: Mapping[str, Any]) -> frozenset[str]:
    """The names of the tools in the option `tools` that take free text.

    >>> custom_tools({"tools": [{"type": "custom", "name": "sql"}, {"type": "web_search"}]})
    frozenset({'sql'})
    """
    tools = [tool for tool in options.get("tools") or () if tool.get("type") == "custom"]
    names = (tool.get("name") or (tool.get("custom") or {}).get("name") for tool in tools)
    return frozenset(map(str, filter(None, names)))


def functions_of(request: ChatRequest, api: str) -> list[ToolSpec]:
    """The agent's tools that are functions: those that take free text are declared as options.

    Raises:
        ChatGeneratorError: the agent's tool of such a name takes something else.
    """
    custom = custom_tools(request.options)
    for tool in request.tools:
        properties = tool.parameters.get("properties")
        if tool.name in custom and (
            not isinstance(properties, Mapping) or {*properties} != {FREE_TEXT}
        ):
            raise cannot_send(api, f"custom tool {tool.name!r} but with one text {FREE_TEXT!r}")
    return [tool for tool in request.tools if tool.name not in custom]


def free_text_of(call: ToolCall) -> object:
    """The free text of the call of a custom tool."""
    return call.arguments.get(FREE_TEXT, "") if call.unreadable is None else call.unreadable


def id_of(call: ToolCall, api: str) -> str:
    """The id of a call, in it and in its result.

    Raises:
        ChatGeneratorError: it has none, which `api` does not take.
    """
    if call.id is None:
        raise cannot_send(api, f"call of tool {call.tool_name!r} without an id")
    return call.id
