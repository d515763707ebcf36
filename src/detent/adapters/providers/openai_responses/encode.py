"""Requests to the Responses API: conversation, tools and options as a JSON body. Pure.

Source: https://platform.openai.com/docs/api-reference/responses/create
"""

from __future__ import annotations

import mimetypes
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import dropwhile
from typing import Any, TypeAlias
from urllib.parse import quote

from detent.adapters.providers.http.api import ChatRequest
from detent.adapters.providers.http.calls import (
    arguments_of,
    custom_tools,
    free_text_of,
    functions_of,
    id_of,
)
from detent.adapters.providers.meaning.media import made_by_model
from detent.adapters.providers.meaning.neutral import encoded_body, named_tool, wanted_schema
from detent.adapters.providers.meaning.parts import (
    Opaque,
    Part,
    Said,
    own_data,
    parts_of,
    without,
)
from detent.adapters.providers.meaning.thinking import openai_effort
from detent.adapters.providers.meaning.wire import cannot_send, json_text
from detent.adapters.providers.openai_responses.computer import (
    COMPUTER_CALL,
    item_of_arguments,
    results,
)
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

API = "the Responses API"
PROVIDER = "openai_responses"
CUSTOM_CALL = "custom_tool_call"

ENCRYPTED_REASONING = "reasoning.encrypted_content"
NOT_REASONING = ("chatgpt-", "gpt-3.5", "gpt-4", "gpt-5-chat")
"""Begin the names of models that do not reason: they refuse to be asked for their reasoning."""

RENAMED = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}
ONLY_WITH_TOOLS = ("tool_choice", "parallel_tool_calls")


def request_body(request: ChatRequest, *, chained: bool = False) -> bytes:
    """The body of a request.

    Args:
        request: its options are further members of the body, as the API names them; they
            win over what is made here, and None takes a member out. `max_tokens`,
            `tool_choice` and `response_format` may have the form of Chat Completions;
            `tools` are added to those of the agent.
        chained: let the server keep the conversation, and send what came after its last answer.

    Raises:
        ChatGeneratorError: something in it cannot be sent.
    """
    messages, options = request.messages, request.options
    previous = _last_answer(messages) if chained else None
    fresh = messages if previous is None else messages[previous + 1 :]
    body: Json = {
        "model": request.model,
        "input": [*wire_items(fresh)],
        "store": chained or bool(options.get("background")),  # else nobody could fetch it
        "include": [ENCRYPTED_REASONING] if _reasons(request.model) else None,
        "stream": request.stream or None,
    }
    if previous is not None:
        body["previous_response_id"] = own_data(PROVIDER, messages[previous].meta)["id"]
    body |= {RENAMED.get(name, name): value for name, value in options.items()}
    if request.thinking is not None:
        effort = {"effort": openai_effort(request.model, request.thinking)}
        body["reasoning"] = effort | dict(body.get("reasoning") or {})
    functions = functions_of(request, API)
    body["tools"] = [*map(_tool, functions), *(body.get("tools") or ())]
    body["tool_choice"] = _tool_choice(body.get("tool_choice"), custom_tools(options))
    body["text"] = _text_options(body)
    unsent = {"response_format", *(() if body["tools"] else ONLY_WITH_TOOLS)}
    return encoded_body({name: value for name, value in body.items() if name not in unsent}, API)


def _reasons(model: str) -> bool:
    return not model.removeprefix("ft:").startswith(NOT_REASONING)  # "ft:" begins a tuned model's


def wire_items(messages: Iterable[ChatMessage]) -> Iterator[Json]:
    """The items of the conversation: a message of the assistant may be several."""
    for message in messages:
        match message.role:
            case ChatRole.SYSTEM | ChatRole.USER:
                yield {"role": str(message.role), "content": _content(message)}
            case ChatRole.ASSISTANT:
                yield from _assistant(message)
            case ChatRole.TOOL:
                for result in message.tool_call_results:
                    yield from _results(result)


def _content(message: ChatMessage) -> object:
    if all(isinstance(part, TextContent) for part in message.content):
        return message.text or ""
    return [_part(part) for part in message.content]


def _part(part: object) -> Json:
    match part:
        case TextContent(text):
            return {"type": "input_text", "text": text}
        case ImageContent(data, mime_type, detail, meta):
            image = {"image_url": f"data:{mime_type};base64,{data}"} if data else {}
            wire_image = {"detail": detail or "auto"}  # the API's schema demands it
            return {"type": "input_image", **image, **wire_image, **own_data(PROVIDER, meta)}
        case FileContent(data, mime_type, name, extra):
            name = name or f"file{mimetypes.guess_extension(mime_type) or ''}"
            content = {"filename": name, "file_data": f"data:{mime_type};base64,{data}"}
            return {"type": "input_file", **(content if data else {}), **own_data(PROVIDER, extra)}
        case _:
            raise cannot_send(API, f"{type(part).__name__} in a message of a system or a user")


def _assistant(message: ChatMessage) -> Iterator[Json]:
    """What the model said, unchanged and in its order.

    A thought is refused without the item that followed it, so a last one is left out. Texts that
    came in one item are one again.
    """
    parts = [part for part in parts_of(PROVIDER, message) if _is_known(part)]
    backwards = dropwhile(lambda part: isinstance(part, ReasoningContent), reversed(parts))
    items: list[Json] = []
    for part in reversed([*backwards]):
        item = _item(part)
        if items and item.get("id") and items[-1].get("id") == item["id"]:
            items[-1]["content"] += item["content"]
        else:
            items.append(item)
    return iter(items)


def _is_known(part: Part) -> bool:
    """Whether it is anything but a thought of another provider's model."""
    return not isinstance(part, ReasoningContent) or bool(own_data(PROVIDER, part.extra))


def _item(part: Part) -> Json:
    match part:
        case Said(text, extra) if extra:
            member = "refusal" if extra["part"]["type"] == "refusal" else "text"
            return {**extra["item"], "content": [{**extra["part"], member: text}]}
        case Said(text):
            return {"role": "assistant", "content": text}
        case Opaque(item):
            return dict(item)
        case ReasoningContent():
            return dict(own_data(PROVIDER, part.extra))
        case ToolCall():
            return _call(part)
        case ImageContent(data, meta=meta) if own := own_data(PROVIDER, meta):
            return {**own, "result": data}
        case ImageContent() | FileContent():
            return {"role": "assistant", "content": made_by_model(part)}
        case _:
            raise cannot_send(API, f"{type(part).__name__} in a message of the assistant")


def _call(call: ToolCall) -> Json:
    own = own_data(PROVIDER, call.extra)
    wire: Json = {
        "type": "function_call",
        "call_id": id_of(call, API),
        "name": call.tool_name,
        **own,
    }
    if wire["type"] == COMPUTER_CALL:
        return without(wire, "name") | item_of_arguments(arguments_of(call))
    if wire["type"] == CUSTOM_CALL:
        return wire | {"input": free_text_of(call)}
    return wire | {"arguments": json_text(arguments_of(call), API)}


def _results(result: ToolCallResult) -> Iterator[Json]:
    own = own_data(PROVIDER, result.origin.extra)
    if own.get("type") == COMPUTER_CALL:
        yield from results(result, id_of(result.origin, API))
    else:
        yield _result(result)


def _result(result: ToolCallResult) -> Json:
    """The result of a call, by the call's id, and for the program that made the call if one did."""
    own = own_data(PROVIDER, result.origin.extra)
    wire: Json = {"type": "function_call_output", "call_id": id_of(result.origin, API)}
    if own.get("type") == CUSTOM_CALL:
        wire["type"] = "custom_tool_call_output"
    if "caller" in own:
        wire["caller"] = own["caller"]
    if isinstance(result.result, str):
        return wire | {"output": result.result}
    return wire | {"output": [_part(part) for part in result.result]}


def _last_answer(messages: Sequence[ChatMessage]) -> int | None:
    """The place of the last message that the server keeps."""
    places = reversed(range(len(messages)))
    kept = (at for at in places if own_data(PROVIDER, messages[at].meta).get("id"))
    return next(
        (at for at in kept if not own_data(PROVIDER, messages[at].meta).get("under_way")), None
    )


def under_way(messages: Sequence[ChatMessage]) -> str | None:
    """Where the answer is that the server still makes, if the conversation ends with its id."""
    own = own_data(PROVIDER, messages[-1].meta) if messages else {}
    return f"/responses/{quote(str(own['id']), safe='')}" if own.get("under_way") else None


def _tool(tool: ToolSpec) -> Json:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,  # the server would else change the schema, or refuse it
    }


def _tool_choice(choice: object, custom: Container[str]) -> object:
    name = named_tool(choice)
    if name is None:
        return choice
    return {"type": "custom" if name in custom else "function", "name": name}


def _text_options(options: Json) -> Json:
    text = dict(options.get("text") or {})
    response_format = options.get("response_format")
    if response_format == {"type": "json_object"}:
        text["format"] = response_format
    elif (wanted := wanted_schema(response_format, API)) is not None:
        schema = {"name": wanted.name, "schema": wanted.schema}
        further = {"description": wanted.description, "strict": wanted.strict}
        present = {name: value for name, value in further.items() if value is not None}
        text["format"] = {"type": "json_schema", **schema, **present}
    return text
