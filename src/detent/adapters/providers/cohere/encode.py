"""Requests to Cohere's chat: conversation, tools and options as a JSON body. Pure.

Source: https://docs.cohere.com/reference/chat
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from detent.adapters.providers.http.api import ChatRequest
from detent.adapters.providers.http.calls import arguments_of, function_tool, id_of
from detent.adapters.providers.meaning.neutral import encoded_body, named_tool, wanted_schema
from detent.adapters.providers.meaning.parts import own_data
from detent.adapters.providers.meaning.thinking import budget_of
from detent.adapters.providers.meaning.wire import cannot_send, json_text
from detent.core.chat.messages import (
    ChatMessage,
    ChatRole,
    ImageContent,
    ReasoningContent,
    TextContent,
    ToolCall,
    ToolCallResult,
)
from detent.core.tools.tool import ToolSpec

Json: TypeAlias = dict[str, Any]

API = "Cohere's chat"
PROVIDER = "cohere"

# Options that have another name for other providers.
RENAMED = {
    "max_completion_tokens": "max_tokens",
    "stop": "stop_sequences",
    "top_k": "k",
    "top_p": "p",
}
CHOICES = {"auto": None, "none": "NONE", "required": "REQUIRED"}
WITHOUT_MEANING = ("parallel_tool_calls",)  # how many calls the model makes cannot be said here


def request_body(request: ChatRequest) -> bytes:
    """The body of a request.

    Args:
        request: its options are those of `RENAMED`, `tool_choice` and `response_format`,
            which are named as for every provider, and members of the body, as the API names
            them. They win over what is made here, and None takes a member out.

    Raises:
        ChatGeneratorError: something in it cannot be sent.
    """
    rest = {name: value for name, value in request.options.items() if name not in WITHOUT_MEANING}
    chosen, choice = _tools_and_choice(request.tools, rest.pop("tool_choice", None))
    body: Json = {
        "model": request.model,
        "messages": [*wire_messages(request.messages)],
        "stream": request.stream,
    }
    body["tools"] = [function_tool(tool) for tool in chosen]
    body["tool_choice"] = choice if chosen else None
    body["response_format"] = _response_format(rest.pop("response_format", None))
    if request.thinking == "off":
        body["thinking"] = {"type": "disabled"}
    elif request.thinking is not None:
        body["thinking"] = {"type": "enabled", "token_budget": budget_of(request.thinking)}
    body |= {RENAMED.get(name, name): value for name, value in rest.items()}
    if isinstance(body.get("stop_sequences"), str):
        body["stop_sequences"] = [body["stop_sequences"]]
    return encoded_body(body, API)


def wire_messages(messages: Iterable[ChatMessage]) -> Iterator[Json]:
    """The messages as the API wants them.

    The message of a tool holds no image, so that images in tool results follow in a user message,
    after the last result.
    """
    attached: list[Json] = []
    for message in messages:
        if attached and message.role is not ChatRole.TOOL:
            yield {"role": "user", "content": attached}
            attached = []
        match message.role:
            case ChatRole.SYSTEM | ChatRole.USER:
                yield {"role": str(message.role), "content": _content(message)}
            case ChatRole.ASSISTANT:
                yield _assistant(message)
            case ChatRole.TOOL:
                for result in message.tool_call_results:
                    yield _result(result)
                    attached += _attachments(result)
    if attached:
        yield {"role": "user", "content": attached}


def _content(message: ChatMessage) -> object:
    if all(isinstance(part, TextContent) for part in message.content):
        return message.text or ""
    return [_part(part) for part in message.content]


def _part(part: object) -> Json:
    match part:
        case TextContent(text):
            return {"type": "text", "text": text}
        case ImageContent(data, mime_type, detail, meta):
            image: Json = {"url": f"data:{mime_type};base64,{data}"}
            image |= ({"detail": detail} if detail else {}) | dict(own_data(PROVIDER, meta))
            return {"type": "image_url", "image_url": image}
        case _:
            raise cannot_send(API, f"{type(part).__name__} in a message of a user or a tool")


def _assistant(message: ChatMessage) -> Json:
    """Text, calls, the plan behind the calls and what the model thought, if it was Cohere's."""
    wire: Json = {"role": "assistant"}
    content = [
        {"type": "thinking", "thinking": part.reasoning_text}
        if isinstance(part, ReasoningContent)
        else {"type": "text", "text": part.text}
        for part in message.content
        if isinstance(part, TextContent)
        or (isinstance(part, ReasoningContent) and PROVIDER in part.extra)
    ]
    calls = [_call(call) for call in message.tool_calls]
    if content or not calls:
        wire["content"] = content or ""
    if calls:
        wire["tool_calls"] = calls
    if plan := own_data(PROVIDER, message.meta).get("tool_plan"):
        wire["tool_plan"] = plan
    return wire


def _call(call: ToolCall) -> Json:
    function = {"name": call.tool_name, "arguments": json_text(arguments_of(call), API)}
    return {"id": id_of(call, API), "type": "function", "function": function}


def _result(result: ToolCallResult) -> Json:
    call_id = id_of(result.origin, API)
    return {"role": "tool", "tool_call_id": call_id, "content": result.text}


def _attachments(result: ToolCallResult) -> list[Json]:
    if isinstance(result.result, str):
        return []
    parts = [_part(part) for part in result.result if not isinstance(part, TextContent)]
    label = f"Attached to the result of tool {result.origin.tool_name} ({result.origin.id}):"
    return [{"type": "text", "text": label}, *parts] if parts else []


def _tools_and_choice(
    tools: Sequence[ToolSpec], choice: object
) -> tuple[Sequence[ToolSpec], str | None]:
    """The tools that the model may call, and whether it must: a tool that is demanded is alone."""
    if name := named_tool(choice):
        if name.lower() in CHOICES:  # as the API writes it
            return tools, name
        return [tool for tool in tools if tool.name == name], CHOICES["required"]
    if choice is not None and not (isinstance(choice, str) and choice in CHOICES):
        raise cannot_send(API, f"tool_choice {choice!r}; it takes {', '.join(CHOICES)} or a name")
    return tools, CHOICES[choice or "auto"]


def _response_format(wanted: object) -> object:
    if wanted == {"type": "json_object"}:
        return wanted
    form = wanted_schema(wanted, API)
    return form and {"type": "json_object", "json_schema": form.schema}
