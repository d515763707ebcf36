"""Requests to Converse and ConverseStream: conversation, tools and options as a JSON body. Pure.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal, TypeAlias

from detent.adapters.providers.http.api import ChatRequest
from detent.adapters.providers.http.calls import arguments_of, id_of
from detent.adapters.providers.meaning.media import made_by_model
from detent.adapters.providers.meaning.neutral import encoded_body, named_tool, wanted_schema
from detent.adapters.providers.meaning.parts import Opaque, Said, own_data, parts_of
from detent.adapters.providers.meaning.thinking import ThinkingLevel, as_claude, level_of
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

API = "Converse"
PROVIDER = "bedrock"

INFERENCE = {
    "max_tokens": "maxTokens",
    "max_completion_tokens": "maxTokens",
    "stop": "stopSequences",
    "temperature": "temperature",
    "top_p": "topP",
    "stop_sequences": "stopSequences",
}
MADE_HERE = frozenset(
    {
        "inferenceConfig",
        "parallel_tool_calls",
        "response_format",
        "tool_choice",
        "tools",
        *INFERENCE,
    }
)
DOCUMENTS = {
    "application/msword": "doc",
    "application/pdf": "pdf",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
}
VIDEOS = {
    "video/mp4": "mp4",
    "video/mpeg": "mpeg",
    "video/quicktime": "mov",
    "video/webm": "webm",
    "video/x-matroska": "mkv",
}
MODEL_FIELDS = "additionalModelRequestFields"
NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9()\[\]-]+")


def request_body(request: ChatRequest, *, prompt_cache: CacheTime | None = None) -> bytes:
    """The body of a request.

    Args:
        request: its options are further members of the body, as the API names them; they
            win over what is made here, and None takes a member out. Those of `INFERENCE`,
            `tool_choice` and `response_format` may be given as for Chat Completions;
            `tools` are added to those of the agent.
        prompt_cache: mark the instructions and the conversation so far to be kept that long.

    Raises:
        ChatGeneratorError: something in it cannot be sent.
    """
    messages, tools, options = request.messages, request.tools, request.options
    system = [
        block for message in messages if _is_system(message) for block in _message_blocks(message)
    ]
    body: Json = {
        "system": system,
        "messages": wire_messages(messages),
        "inferenceConfig": _inference_config(options),
        "toolConfig": _tool_config(tools, options, called=_has_calls(messages)),
        "outputConfig": _output_config(options),
    }
    body |= {name: value for name, value in options.items() if name not in MADE_HERE}
    if request.thinking is not None:
        own = body.get(MODEL_FIELDS) or {}
        body[MODEL_FIELDS] = _thinking(request, request.thinking) | own
    if prompt_cache is not None:
        _mark(body, prompt_cache)
    return encoded_body(body, API)


def _thinking(request: ChatRequest, thinking: ThinkingLevel) -> Json:
    """How much the model shall think, as its maker says it: Converse has no word for it."""
    model, level = request.model, level_of(thinking)
    if "anthropic" in model:
        return as_claude(model, thinking)
    if "amazon.nova" in model:
        config = {"type": "enabled", "maxReasoningEffort": level} if level else {"type": "disabled"}
        return {"reasoningConfig": config}
    if "openai" in model and level:
        return {"reasoning_effort": level}
    raise cannot_send(API, f"thinking={thinking!r} for {model!r}")


def wire_messages(messages: Iterable[ChatMessage]) -> list[Json]:
    """The messages as the API wants them; the instructions stand elsewhere.

    The roles take turns: messages of one role in a row become one, in which tool results come
    first. A message without content may not be sent and is left out.
    """
    roles_and_blocks = ((_role(message), [*_blocks(message)]) for message in messages)
    return in_turns(roles_and_blocks, is_result=lambda block: "toolResult" in block)


def _is_system(message: ChatMessage) -> bool:
    return message.role is ChatRole.SYSTEM


def _has_calls(messages: Iterable[ChatMessage]) -> bool:
    return any(message.tool_calls for message in messages)


def _role(message: ChatMessage) -> str:
    return "assistant" if message.role is ChatRole.ASSISTANT else "user"


def _blocks(message: ChatMessage) -> Iterator[Json]:
    match message.role:
        case ChatRole.SYSTEM:
            pass
        case ChatRole.USER:
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
            return {"text": text}
        case ImageContent(data, mime_type, _, meta):
            kind = mime_type.removeprefix("image/").replace("jpg", "jpeg")
            image = {"format": kind, "source": {"bytes": data}}
            return {"image": image | dict(own_data(PROVIDER, meta))}
        case FileContent(data, mime_type) if mime_type in VIDEOS:
            video = {"format": VIDEOS[mime_type], "source": {"bytes": data}}
            return {"video": video | dict(own_data(PROVIDER, part.extra))}
        case FileContent(data, mime_type) if mime_type in DOCUMENTS:
            source = {"bytes": data}
            document = {"format": DOCUMENTS[mime_type], "name": _name(part), "source": source}
            return {"document": document | dict(own_data(PROVIDER, part.extra))}
        case FileContent():
            raise cannot_send(API, f"file of type {part.mime_type}")
        case _:
            raise cannot_send(API, f"{type(part).__name__} in a message of a system or a user")


def _name(file: FileContent) -> str:
    """A name for a document, of the characters that the API allows; two may not share one."""
    stem = PurePath(file.filename or "").stem
    name = NOT_IN_A_NAME.sub(" ", stem).strip()
    return name or f"document {hashlib.sha256(file.base64_data.encode()).hexdigest()[:8]}"


def _assistant(message: ChatMessage) -> Iterator[Json]:
    """What the model said, unchanged: the order of blocks and their signatures are checked."""
    for part in parts_of(PROVIDER, message):
        match part:
            case Said(text, extra):
                if not is_blank(part):
                    cited = {"content": [{"text": text}], **extra}
                    yield {"citationsContent": cited} if extra else {"text": text}
            case Opaque(block):
                yield dict(block)
            case ReasoningContent():
                yield from _reasoning_block(part)
            case ToolCall():
                yield _call(part)
            case ImageContent() | FileContent():
                yield {"text": made_by_model(part)}
            case _:
                raise cannot_send(API, f"{type(part).__name__} in a message of the assistant")


def _reasoning_block(thought: ReasoningContent) -> Iterator[Json]:
    """A thought that is signed. Others are not asked for, and some models refuse them."""
    own = own_data(PROVIDER, thought.extra)
    if own.get("signature"):
        text = {"text": thought.reasoning_text, **own}
        yield {"reasoningContent": {"reasoningText": text}}
    elif own.get("redactedContent"):
        yield {"reasoningContent": dict(own)}


def _call(call: ToolCall) -> Json:
    use: Json = {"toolUseId": id_of(call, API), "name": call.tool_name}
    return {"toolUse": use | {"input": arguments_of(call), **own_data(PROVIDER, call.extra)}}


def _result(result: ToolCallResult) -> Json:
    if isinstance(result.result, str):
        content: list[Json] = [{"text": result.result}]
    else:
        content = [_part(part) for part in result.result if not is_blank(part)]
    wire: Json = {"toolUseId": id_of(result.origin, API), "content": content}
    return {"toolResult": wire | ({"status": "error"} if result.error else {})}


def _tool_config(
    tools: Sequence[ToolSpec], options: Mapping[str, Any], *, called: bool
) -> Json | None:
    choice = options.get("tool_choice")
    if options.get("parallel_tool_calls") is False:
        raise cannot_send(API, "parallel_tool_calls=False")
    if choice == "none" and called:
        raise cannot_send(API, 'tool_choice="none" in a conversation in which tools were called')
    wire = [*map(_tool, tools), *(options.get("tools") or ())]
    if not wire or choice == "none":
        return None
    return {"tools": wire} | ({"toolChoice": _tool_choice(choice)} if choice else {})


def _tool(tool: ToolSpec) -> Json:
    # An empty description is refused.
    description = {"description": tool.description} if tool.description else {}
    return {
        "toolSpec": {"name": tool.name, **description, "inputSchema": {"json": tool.parameters}}
    }


def _tool_choice(choice: Any) -> Json:
    if (name := named_tool(choice)) is not None:
        return {"tool": {"name": name}}
    if isinstance(choice, str):
        return {"any" if choice == "required" else choice: {}}
    return dict(choice)


def _inference_config(options: Mapping[str, Any]) -> Json:
    config = {INFERENCE[name]: value for name, value in options.items() if name in INFERENCE}
    if isinstance(config.get("stopSequences"), str):
        config["stopSequences"] = [config["stopSequences"]]
    return config | dict(options.get("inferenceConfig") or {})


def _output_config(options: Mapping[str, Any]) -> Json | None:
    wanted = wanted_schema(options.get("response_format"), API)
    if wanted is None:
        return None
    schema: Json = {"name": wanted.name, "schema": json.dumps(wanted.schema)}
    if wanted.description:
        schema["description"] = wanted.description
    return {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}}


def _mark(body: Json, time: CacheTime) -> None:
    """Mark the end of the instructions, behind the tools, and the end of the conversation.

    Source: https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
    """
    point = {"cachePoint": {"type": "default"} | ({"ttl": time} if time != "5m" else {})}
    for blocks in (body["system"], *(message["content"] for message in body["messages"][-1:])):
        if blocks:
            blocks.append(point)
