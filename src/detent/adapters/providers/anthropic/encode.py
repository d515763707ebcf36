"""Requests to the Messages API: conversation, tools and options as a JSON body. Pure.

Source: https://platform.claude.com/docs/en/api/messages
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Literal, TypeAlias

from detent.adapters.providers.http.api import ChatRequest
from detent.adapters.providers.http.calls import arguments_of, id_of
from detent.adapters.providers.meaning.media import made_by_model
from detent.adapters.providers.meaning.neutral import encoded_body, named_tool, wanted_schema
from detent.adapters.providers.meaning.parts import Opaque, Said, own_data, parts_of
from detent.adapters.providers.meaning.thinking import as_claude
from detent.adapters.providers.meaning.turns import in_turns, is_blank
from detent.adapters.providers.meaning.wire import cannot_send
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
from detent.core.tools.tool import ToolSpec

Json: TypeAlias = dict[str, Any]
CacheTime: TypeAlias = Literal["5m", "1h"]

API = "the Messages API"
PROVIDER = "anthropic"
DEFAULT_MAX_TOKENS = 8192
"""The API demands a limit; this one is within that of every model that is served."""

RENAMED = {"max_completion_tokens": "max_tokens", "stop": "stop_sequences"}
NEUTRAL = frozenset({"parallel_tool_calls", "response_format"})
CHOICES = {"auto": "auto", "none": "none", "required": "any"}
CACHEABLE = frozenset({"text", "image", "document", "tool_use", "tool_result"})


def request_body(request: ChatRequest, *, prompt_cache: CacheTime | None = None) -> bytes:
    """The body of a request.

    Args:
        request: its options are further members of the body, as the API names them; they
            win over what is made here, and None takes a member out.
            `max_completion_tokens`, `stop`, `tool_choice`, `parallel_tool_calls` and
            `response_format` may be given as for Chat Completions; `tools` are added to
            those of the agent.
        prompt_cache: mark the instructions and the conversation so far to be kept that long.

    Raises:
        ChatGeneratorError: something in it cannot be sent.
    """
    messages, options = request.messages, with_thinking(request)
    instructions = [*takewhile(lambda message: message.role is ChatRole.SYSTEM, messages)]
    body: Json = {
        "model": request.model,
        "max_tokens": DEFAULT_MAX_TOKENS + _thinking_budget(options),
        "system": [block for message in instructions for block in _message_blocks(message)],
        "messages": wire_messages(messages[len(instructions) :]),
        "container": _container(messages),
        "stream": request.stream or None,
    }
    body |= {RENAMED.get(key, key): value for key, value in options.items() if key not in NEUTRAL}
    if isinstance(body.get("stop_sequences"), str):
        body["stop_sequences"] = [body["stop_sequences"]]
    body["tools"] = [*map(_tool, request.tools), *_listed(options.get("tools"))]
    body["tool_choice"] = _tool_choice(options) if body["tools"] else None
    body["output_config"] = _output_config(options)
    if prompt_cache is not None:
        _mark(body, prompt_cache)
    return encoded_body(body, API)


def with_thinking(request: ChatRequest) -> Mapping[str, Any]:
    """The options, and among them how much the model shall think, unless they say it themselves."""
    options, thinking = request.options, request.thinking
    if thinking is None or "thinking" in options:
        return options
    members = as_claude(request.model, thinking)
    own: Any = options.get("output_config") or {}
    config = {**members.get("output_config", {}), **own}
    return {**options, **members, "output_config": config}


def _thinking_budget(options: Mapping[str, Any]) -> int:
    """The tokens for thinking: they count as output, and the API refuses a limit within them."""
    budget = (options.get("thinking") or {}).get("budget_tokens")
    return budget if isinstance(budget, int) else 0


def wire_messages(messages: Iterable[ChatMessage]) -> list[Json]:
    """The messages as the API wants them.

    Messages of one role in a row become one: all results of a turn stand in one user message, and
    before all else in it. A message without content may not be sent and is left out.
    """
    roles_and_blocks = ((_role(message), [*_blocks(message)]) for message in messages)
    return in_turns(roles_and_blocks, is_result=lambda block: block["type"] == "tool_result")


def _role(message: ChatMessage) -> str:
    return "user" if message.role is ChatRole.TOOL else str(message.role)


def _blocks(message: ChatMessage) -> Iterator[Json]:
    match message.role:
        case ChatRole.SYSTEM | ChatRole.USER:
            yield from _message_blocks(message)
        case ChatRole.ASSISTANT:
            yield from _assistant(message)
        case ChatRole.TOOL:
            yield from map(_result, message.tool_call_results)


def _message_blocks(message: ChatMessage) -> Iterator[Json]:
    return (_part(part) for part in message.content if not is_blank(part))


def _part(part: object) -> Json:
    match part:
        case TextContent(text):
            return {"type": "text", "text": text}
        case ImageContent(data, mime_type, _, meta):
            source = {"type": "base64", "media_type": mime_type, "data": data}
            return {"type": "image", "source": source, **own_data(PROVIDER, meta)}
        case FileContent(_, _, name, extra):
            title = {"title": name} if name else {}
            own = own_data(PROVIDER, extra)
            return {
                "type": "document",
                **title,
                "source": own.get("source") or _source(part),
                **own,
            }
        case _:
            raise cannot_send(API, f"{type(part).__name__} in a message of a system or a user")


def _source(file: FileContent) -> Json:
    if file.mime_type == "application/pdf":
        return {"type": "base64", "media_type": file.mime_type, "data": file.base64_data}
    if file.mime_type.startswith("text/"):
        text = base64.b64decode(file.base64_data).decode(errors="replace")
        return {"type": "text", "media_type": "text/plain", "data": text}
    raise cannot_send(API, f"file of type {file.mime_type}, only PDF and text")


def _assistant(message: ChatMessage) -> Iterator[Json]:
    """What the model said, unchanged: the API checks the order of blocks and their signatures."""
    for part in parts_of(PROVIDER, message):
        match part:
            case Said(text, extra):
                if not is_blank(part):
                    yield {"type": "text", "text": text, **extra}
            case Opaque(block):
                yield dict(block)
            case ReasoningContent():
                yield from _thinking(part)
            case ToolCall():
                yield _call(part)
            case ImageContent() | FileContent():
                yield {"type": "text", "text": made_by_model(part)}
            case _:
                raise cannot_send(API, f"{type(part).__name__} in a message of the assistant")


def _thinking(thought: ReasoningContent) -> Iterator[Json]:
    """A thought that is signed: others, such as one that was cut off, are refused."""
    own = own_data(PROVIDER, thought.extra)
    if own.get("signature"):
        yield {**own, "thinking": thought.reasoning_text}
    elif own.get("data"):
        yield dict(own)


def _call(call: ToolCall) -> Json:
    wire: Json = {"type": "tool_use", "id": id_of(call, API), "name": call.tool_name}
    return wire | {"input": arguments_of(call), **own_data(PROVIDER, call.extra)}


def _result(result: ToolCallResult) -> Json:
    wire: Json = {"type": "tool_result", "tool_use_id": id_of(result.origin, API)}
    if isinstance(result.result, str):
        wire["content"] = result.result
    else:
        wire["content"] = [_part(part) for part in result.result if not is_blank(part)]
    return wire | ({"is_error": True} if result.error else {})


def _tool(tool: ToolSpec) -> Json:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _listed(tools: object) -> list[object]:
    return list(tools) if isinstance(tools, list | tuple) else []


def _tool_choice(options: Mapping[str, Any]) -> Json:
    choice = options.get("tool_choice")
    alone = options.get("parallel_tool_calls") is False
    name = named_tool(choice)
    if name is not None:
        made = {"type": "tool", "name": name}
    elif isinstance(choice, str):
        made = {"type": CHOICES[choice]}
    else:
        made = dict(choice or ({"type": "auto"} if alone else {}))
    return made | ({"disable_parallel_tool_use": True} if alone and choice != "none" else {})


def _output_config(options: Mapping[str, Any]) -> Json:
    config = dict(options.get("output_config") or {})
    wanted = wanted_schema(options.get("response_format"), API)
    if wanted is not None:
        config["format"] = {"type": "json_schema", "schema": wanted.schema}
    return config


def _container(messages: Sequence[ChatMessage]) -> str | None:
    """The container in which the provider ran code for this conversation: it goes on there."""
    containers = (
        own_data(PROVIDER, message.meta).get("container") for message in reversed(messages)
    )
    return next(filter(None, containers), None)


def _mark(body: Json, time: CacheTime) -> None:
    """Mark the end of the instructions, behind the tools, and the end of the conversation.

    Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    """
    control = {"type": "ephemeral"} | ({"ttl": time} if time != "5m" else {})
    ends = [body["system"], *(message["content"] for message in body["messages"][-1:])]
    for blocks in ends:
        if isinstance(blocks, list) and blocks and blocks[-1]["type"] in CACHEABLE:
            blocks[-1] = blocks[-1] | {"cache_control": control}
