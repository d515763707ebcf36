"""Requests to Chat Completions: conversation, tools and options as a JSON body. Pure.

Source: https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

import mimetypes
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from detent.adapters.providers.http.api import ChatRequest
from detent.adapters.providers.http.calls import (
    arguments_of,
    custom_tools,
    free_text_of,
    function_tool,
    functions_of,
    id_of,
)
from detent.adapters.providers.meaning.parts import own_data
from detent.adapters.providers.meaning.wire import cannot_send, json_text
from detent.adapters.providers.openai.profiles import COMPATIBLE, REASONING_MEMBERS, Profile
from detent.core.chat.messages import (
    ChatMessage,
    ChatRole,
    FileContent,
    ImageContent,
    ReasoningContent,
    TextContent,
    ToolCall,
    ToolCallResult,
)

Json: TypeAlias = dict[str, Any]

API = "Chat Completions"

ONLY_WITH_TOOLS = ("tool_choice", "parallel_tool_calls")
CHOICES = frozenset({"auto", "none", "required"})
AUDIO_FORMATS = {"audio/mpeg": "mp3", "audio/wav": "wav", "audio/x-wav": "wav"}


def request_body(request: ChatRequest, *, profile: Profile = COMPATIBLE) -> bytes:
    """The body of a request.

    Args:
        request: its options are further members of the body, as the API names them; they
            win over what is made here, and None takes a member out. A `tool_choice` may be
            the bare name of a tool; `tools` are added to those of the agent.
        profile: what the server wants otherwise.

    Raises:
        ChatGeneratorError: something in it cannot be sent.
    """
    wire = profile.rewritten(wire_messages(request.messages, profile.replays))
    body: Json = {"model": request.model, "messages": [*wire]}
    functions = [function_tool(tool) for tool in functions_of(request, API)]
    if request.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    if request.thinking is not None:
        body |= profile.thinking(request.model, request.thinking)
    body |= {profile.renamed.get(name, name): value for name, value in request.options.items()}
    body["tools"] = [*functions, *(body.get("tools") or ())] or None
    if not body["tools"]:
        body |= dict.fromkeys(ONLY_WITH_TOOLS)
    choice = body.get("tool_choice")
    if isinstance(choice, str) and choice not in CHOICES:
        kind = "custom" if choice in custom_tools(request.options) else "function"
        body["tool_choice"] = {"type": kind, kind: {"name": choice}}
    kept = {name: value for name, value in body.items() if value is not None}
    return json_text(kept, API).encode()


def wire_messages(
    messages: Iterable[ChatMessage], replays: Container[str] = REASONING_MEMBERS
) -> Iterator[Json]:
    """The messages as the API wants them, with the reasoning that the server `replays`.

    A tool message holds text only, so that images and files in tool results follow in a user
    message, after the last result: nothing may stand between the results of one turn.
    """
    attached: list[Json] = []
    for message in messages:
        if attached and message.role is not ChatRole.TOOL:
            yield {"role": "user", "content": attached}
            attached = []
        match message.role:
            case ChatRole.SYSTEM | ChatRole.USER:
                yield _with_name(message, {"role": str(message.role), "content": _content(message)})
            case ChatRole.ASSISTANT:
                yield _with_name(message, _assistant(message, replays))
            case ChatRole.TOOL:
                for result in message.tool_call_results:
                    yield _result(result)
                    attached += _attachments(result)
    if attached:
        yield {"role": "user", "content": attached}


def _with_name(message: ChatMessage, wire: Json) -> Json:
    return wire if message.name is None else wire | {"name": message.name}


def _content(message: ChatMessage) -> object:
    if all(isinstance(part, TextContent) for part in message.content):
        return message.text or ""
    return [_part(part) for part in message.content]


def _part(part: object) -> Json:
    match part:
        case TextContent(text):
            return _text(text)
        case ImageContent(data, mime_type, detail, meta):
            image: Json = {"url": f"data:{mime_type};base64,{data}"}
            image |= ({"detail": detail} if detail else {}) | dict(own_data("openai", meta))
            return {"type": "image_url", "image_url": image}
        case FileContent(data, mime_type) if mime_type in AUDIO_FORMATS:
            audio = {"data": data, "format": AUDIO_FORMATS[mime_type]}
            return {"type": "input_audio", "input_audio": audio}
        case FileContent(data, mime_type, name, extra):
            name = name or f"file{mimetypes.guess_extension(mime_type) or ''}"
            file = {"filename": name, "file_data": f"data:{mime_type};base64,{data}"}
            return {
                "type": "file",
                "file": (file if data else {}) | dict(own_data("openai", extra)),
            }
        case _:
            raise cannot_send(API, f"{type(part).__name__} in a message of a system or a user")


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _assistant(message: ChatMessage, replays: Container[str]) -> Json:
    """Text, calls and, where it came from such a server, the reasoning: it may demand it back.

    Of sound the text goes back: its id, which the API would take, is forgotten after an hour, and a
    run may be taken up tomorrow. An image goes back to no server in what its model said.
    """
    calls = [_call(call) for call in message.tool_calls]
    wire: Json = {"role": "assistant", "content": message.text or (None if calls else "")}
    if calls:
        wire["tool_calls"] = calls
    signature = own_data("openai", message.meta).get("extra_content")
    if signature and "extra_content" in replays:
        wire["extra_content"] = signature
    for thought in message.reasonings:
        given_back = _reasoning(thought, message.texts)
        wire |= {name: value for name, value in given_back.items() if name in replays}
    return wire


def _reasoning(thought: ReasoningContent, texts: Sequence[str]) -> Json:
    """The members of an assistant message that give a thought back in the form in which it came."""
    wire: Json = {}
    field = thought.extra.get("field")
    if field in {"reasoning", "reasoning_content"}:
        wire[str(field)] = thought.reasoning_text
    elif field == "content":  # Mistral: a part of the content
        thinking = {"type": "thinking", "thinking": [_text(thought.reasoning_text)]}
        wire["content"] = [thinking, *map(_text, texts)]
    if details := thought.extra.get("reasoning_details"):
        wire["reasoning_details"] = details
    return wire


def _call(call: ToolCall) -> Json:
    call_id = id_of(call, API)
    if call.extra.get("type") == "custom":
        custom = {"name": call.tool_name, "input": free_text_of(call)}
        return {"id": call_id, "type": "custom", "custom": custom}
    function = {"name": call.tool_name, "arguments": json_text(arguments_of(call), API)}
    wire: Json = {"id": call_id, "type": "function", "function": function}
    if "extra_content" in call.extra:  # Gemini's thought signature
        wire["extra_content"] = call.extra["extra_content"]
    return wire


def _result(result: ToolCallResult) -> Json:
    return {"role": "tool", "tool_call_id": id_of(result.origin, API), "content": result.text}


def _attachments(result: ToolCallResult) -> list[Json]:
    if isinstance(result.result, str):
        return []
    parts = [_part(part) for part in result.result if not isinstance(part, TextContent)]
    label = f"Attached to the result of tool {result.origin.tool_name} ({result.origin.id}):"
    return [_text(label), *parts] if parts else []
