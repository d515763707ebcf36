"""Requests to generateContent: conversation, tools and options as a JSON body. Pure.

Source: https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from detent.adapters.providers.gemini.calls import PROVIDER
from detent.adapters.providers.http.api import ChatRequest
from detent.adapters.providers.http.calls import arguments_of
from detent.adapters.providers.meaning.neutral import encoded_body, named_tool, wanted_schema
from detent.adapters.providers.meaning.parts import Opaque, Part, Said, own_data, parts_of
from detent.adapters.providers.meaning.thinking import ThinkingLevel, budget_of, level_of
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

API = "generateContent"

# Options that are named the same for every provider, and where they belong here.
GENERATION_CONFIG = {
    "frequency_penalty": "frequencyPenalty",
    "max_completion_tokens": "maxOutputTokens",
    "max_tokens": "maxOutputTokens",
    "presence_penalty": "presencePenalty",
    "seed": "seed",
    "stop": "stopSequences",
    "temperature": "temperature",
    "top_k": "topK",
    "top_p": "topP",
}
SEES_RESULTS = re.compile(r"(?:.*/)?gemini-(?:[3-9]|\d\d)")
"""The models that see images and files in the results of functions.

Source: https://ai.google.dev/gemini-api/docs/function-calling#multimodal
"""
MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
WITHOUT_MEANING = ("parallel_tool_calls",)  # how many calls the model makes cannot be said here
# Gemini 3 demands a signature in the first call of each turn, and takes this for turns of others.
# Source: https://ai.google.dev/gemini-api/docs/thought-signatures
NO_SIGNATURE = "skip_thought_signature_validator"


def request_body(request: ChatRequest) -> bytes:
    """The body of a request.

    Args:
        request: its options are those of `GENERATION_CONFIG`, `tool_choice` and
            `response_format`, which are named as for every provider, and members of the
            body, as the API names them. The latter win over what is made here, `tools` and
            `generationConfig` are added to it, and None takes a member out.

    Raises:
        ChatGeneratorError: something in it cannot be sent.
    """
    messages, tools, options = request.messages, request.tools, request.options
    rest = {name: value for name, value in options.items() if name not in WITHOUT_MEANING}
    body: Json = {"contents": [*contents(messages, sees_results=sees_results(request.model))]}
    if texts := [text for message in messages for text in _instructions(message)]:
        body["systemInstruction"] = {"parts": [{"text": text} for text in texts]}
    functions = [{"functionDeclarations": [_function(tool) for tool in tools]}] if tools else []
    choice = rest.pop("tool_choice", None)
    if tools and choice is not None:
        body["toolConfig"] = {"functionCallingConfig": _calling(choice)}
    config = _response_format(rest.pop("response_format", None))
    config |= {new: rest.pop(name) for name, new in GENERATION_CONFIG.items() if name in rest}
    if request.thinking is not None:
        config["thinkingConfig"] = _thinking(request.model, request.thinking)
    config |= _mapping(rest.pop("generationConfig", None))
    if isinstance(config.get("stopSequences"), str):
        config["stopSequences"] = [config["stopSequences"]]
    body["generationConfig"] = _without_none(config)
    body["tools"] = [*functions, *_list(rest.pop("tools", None))]
    return encoded_body(body | rest, API)


def _thinking(model: str, thinking: ThinkingLevel) -> Json:
    """How much the model shall think: Gemini 3 takes levels, those before take tokens.

    Source: https://ai.google.dev/gemini-api/docs/thinking
    """
    if "gemini-2" in model or isinstance(thinking, int):
        config: Json = {"thinkingBudget": budget_of(thinking)}
    else:
        config = {"thinkingLevel": level_of(thinking) or "minimal"}
    return config if thinking == "off" else config | {"includeThoughts": True}


def sees_results(model: str) -> bool:
    """Whether a model sees images and files in the results of functions.

    >>> sees_results("gemini-3-pro-preview"), sees_results("gemini-2.5-pro")
    (True, False)
    """
    return SEES_RESULTS.match(model) is not None


def contents(messages: Iterable[ChatMessage], *, sees_results: bool = False) -> Iterator[Json]:
    """The conversation as the API wants it, without the system's messages.

    The results of one turn are one content. Images and files in them follow in another one, unless
    the model sees them in a result.
    """
    results: list[Json] = []
    attached: list[Json] = []
    for message in messages:
        if message.role is ChatRole.TOOL:
            for result in message.tool_call_results:
                media = [] if isinstance(result.result, str) else _media(result.result)
                results.append(_result(result, media if sees_results else ()))
                attached += [] if sees_results else _attachments(result, media)
            continue
        yield from _user(results, attached)
        results, attached = [], []
        if message.role is ChatRole.USER:
            yield {"role": "user", "parts": [_part(part) for part in message.content]}
        elif message.role is ChatRole.ASSISTANT and (parts := [*_model_parts(message)]):
            yield {"role": "model", "parts": parts}
    yield from _user(results, attached)


def _user(*contents: list[Json]) -> Iterator[Json]:
    return ({"role": "user", "parts": parts} for parts in contents if parts)


def _instructions(message: ChatMessage) -> Iterator[str]:
    return filter(None, message.texts if message.role is ChatRole.SYSTEM else ())


def _part(part: object) -> Json:
    match part:
        case TextContent(text):
            return {"text": text}
        case ImageContent(data, mime_type, meta=own) | FileContent(data, mime_type, extra=own):
            inline = {"inlineData": {"mimeType": mime_type, "data": data}} if data else {}
            return inline | dict(own_data(PROVIDER, own))
        case _:
            raise cannot_send(API, f"{type(part).__name__} in a message of a user or a tool")


def _model_parts(message: ChatMessage) -> Iterator[Json]:
    """What the model said, as it said it; empty texts only where they carry a signature."""
    unsigned = True  # no call has been written yet
    for part in parts_of(PROVIDER, message):
        wire = _model_part(part)
        if "functionCall" in wire and unsigned:
            foreign = isinstance(part, ToolCall) and PROVIDER not in part.extra
            wire |= {"thoughtSignature": NO_SIGNATURE} if foreign else {}
            unsigned = False
        if wire and wire != {"text": ""}:
            yield wire


def _model_part(part: Part) -> Json:
    match part:
        case Said(text, extra):
            return {"text": text, **extra}
        case Opaque(block):
            return dict(block)
        case ReasoningContent(text, extra):
            own = own_data(PROVIDER, extra)
            return {"text": text, "thought": True, **own} if PROVIDER in extra else {}
        case ToolCall():
            return _call(part)
        case ImageContent() | FileContent():
            return _part(part)
        case _:
            raise cannot_send(API, f"{type(part).__name__} in a message of the model")


def _call(call: ToolCall) -> Json:
    own = dict(own_data(PROVIDER, call.extra))
    named = {"id": own.pop("id")} if "id" in own else {}
    return {"functionCall": {"name": call.tool_name, "args": arguments_of(call), **named}, **own}


def _result(result: ToolCallResult, media: Sequence[Json]) -> Json:
    """A result; only a call to which Gemini gave an id is paired by it, the others by order."""
    own = own_data(PROVIDER, result.origin.extra)
    response = {"error" if result.error else "output": result.text}
    named = {"id": own["id"]} if "id" in own else {}
    seen = {"parts": [*media]} if media else {}
    name = result.origin.tool_name
    return {"functionResponse": {"name": name, "response": response, **seen, **named}}


def _media(parts: Iterable[object]) -> list[Json]:
    return [_part(part) for part in parts if not isinstance(part, TextContent)]


def _attachments(result: ToolCallResult, media: Sequence[Json]) -> list[Json]:
    label = f"Attached to the result of tool {result.origin.tool_name}:"
    return [{"text": label}, *media] if media else []


def _function(tool: ToolSpec) -> Json:
    return {
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": tool.parameters,
    }


def _calling(choice: object) -> Json:
    if name := named_tool(choice):
        return {"mode": "ANY", "allowedFunctionNames": [name]}
    if not isinstance(choice, str) or choice not in MODES:
        raise cannot_send(API, f"tool_choice {choice!r}; it takes {', '.join(MODES)} or a name")
    return {"mode": MODES[choice]}


def _response_format(wanted: object) -> Json:
    if wanted == {"type": "json_object"}:
        return {"responseMimeType": "application/json"}
    form = wanted_schema(wanted, API)
    if form is None:
        return {}
    return {"responseMimeType": "application/json", "responseJsonSchema": form.schema}


def _without_none(members: Json) -> Json:
    return {name: value for name, value in members.items() if value is not None}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()
