"""Requests to /api/chat: conversation, tools and options as a JSON body. Pure.

Source: https://docs.ollama.com/api/chat
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from detent.adapters.providers.http.api import ChatRequest
from detent.adapters.providers.http.calls import arguments_of, function_tool
from detent.adapters.providers.meaning.neutral import encoded_body, wanted_schema
from detent.adapters.providers.meaning.parts import own_data
from detent.adapters.providers.meaning.thinking import level_of
from detent.adapters.providers.meaning.wire import cannot_send
from detent.core.chat.messages import (
    ChatMessage,
    ChatRole,
    ImageContent,
    TextContent,
    ToolCall,
    ToolCallResult,
)
from detent.core.tools.tool import ToolSpec

Json: TypeAlias = dict[str, Any]

API = "Ollama's /api/chat"
PROVIDER = "ollama"

# Options that are named the same for every provider, and their names among the model's options.
MODEL_OPTIONS = {
    "frequency_penalty": "frequency_penalty",
    "max_completion_tokens": "num_predict",
    "max_tokens": "num_predict",
    "presence_penalty": "presence_penalty",
    "seed": "seed",
    "stop": "stop",
    "temperature": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
}
WITHOUT_MEANING = ("parallel_tool_calls",)  # how many calls the model makes cannot be said here


def request_body(request: ChatRequest) -> bytes:
    """The body of a request.

    Args:
        request: its options are those of `MODEL_OPTIONS`, `tool_choice` ("auto" or "none")
            and `response_format`, which are named as for every provider, and members of the
            body, as the API names them. The latter win over what is made here, and None
            takes a member out.

    Raises:
        ChatGeneratorError: something in it cannot be sent.
    """
    rest = {name: value for name, value in request.options.items() if name not in WITHOUT_MEANING}
    chosen = _tools_for(request.tools, rest.pop("tool_choice", None))
    body: Json = {
        "model": request.model,
        "messages": [*wire_messages(request.messages)],
        "stream": request.stream,
    }
    if request.thinking is not None:
        level = level_of(request.thinking)
        body["think"] = level if level and "gpt-oss" in request.model else level is not None
    body["tools"] = [function_tool(tool) for tool in chosen]
    body["format"] = _format(rest.pop("response_format", None))
    own = {new: rest.pop(name) for name, new in MODEL_OPTIONS.items() if name in rest}
    own |= _mapping(rest.pop("options", None))
    body["options"] = {name: value for name, value in own.items() if value is not None}
    return encoded_body(body | rest, API)


def wire_messages(messages: Iterable[ChatMessage]) -> Iterator[Json]:
    """The messages as the API wants them.

    Images in tool results follow in a user message, after the last result: models see none in the
    message of a tool.
    """
    attached: list[ImageContent] = []
    for message in messages:
        if attached and message.role is not ChatRole.TOOL:
            yield _attachments(attached)
            attached = []
        match message.role:
            case ChatRole.SYSTEM | ChatRole.USER:
                yield _message(str(message.role), message.content)
            case ChatRole.ASSISTANT:
                yield _assistant(message)
            case ChatRole.TOOL:
                for result in message.tool_call_results:
                    yield _result(result)
                    attached += _images(result)
    if attached:
        yield _attachments(attached)


def _message(role: str, parts: Sequence[object]) -> Json:
    for part in parts:
        if not isinstance(part, TextContent | ImageContent):
            raise cannot_send(API, f"{type(part).__name__} in a message of a system or a user")
    text = "".join(part.text for part in parts if isinstance(part, TextContent))
    images = [part.base64_image for part in parts if isinstance(part, ImageContent)]
    return {"role": role, "content": text} | ({"images": images} if images else {})


def _assistant(message: ChatMessage) -> Json:
    wire: Json = {"role": "assistant", "content": message.text or ""}
    own = [thought for thought in message.reasonings if PROVIDER in thought.extra]
    if thinking := "".join(thought.reasoning_text for thought in own):
        wire["thinking"] = thinking
    if calls := [_call(call) for call in message.tool_calls]:
        wire["tool_calls"] = calls
    return wire


def _call(call: ToolCall) -> Json:
    function = {"name": call.tool_name, "arguments": arguments_of(call)}
    return {"type": "function", "function": function, **own_data(PROVIDER, call.extra)}


def _result(result: ToolCallResult) -> Json:
    """A result; only a call to which Ollama gave an id is paired by it, the others by name."""
    own = own_data(PROVIDER, result.origin.extra)
    paired = {"tool_call_id": own["id"]} if "id" in own else {}
    name = result.origin.tool_name
    return {"role": "tool", "tool_name": name, "content": result.text, **paired}


def _images(result: ToolCallResult) -> list[ImageContent]:
    parts = () if isinstance(result.result, str) else result.result
    attached = [part for part in parts if not isinstance(part, TextContent)]
    for part in attached:
        if not isinstance(part, ImageContent):
            raise cannot_send(API, f"{type(part).__name__} in the result of a tool")
    return [part for part in attached if isinstance(part, ImageContent)]


def _attachments(images: Sequence[ImageContent]) -> Json:
    label = TextContent("Attached to the results of the tools:")
    return _message("user", (label, *images))


def _tools_for(tools: Sequence[ToolSpec], choice: object) -> Sequence[ToolSpec]:
    if choice in (None, "auto"):
        return tools
    if choice == "none":
        return ()
    raise cannot_send(API, f'tool_choice {choice!r}; it takes "auto" and "none"')


def _format(wanted: object) -> object:
    if wanted == {"type": "json_object"}:
        return "json"
    form = wanted_schema(wanted, API)
    return form and form.schema


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
