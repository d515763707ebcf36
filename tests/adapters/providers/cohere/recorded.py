"""Recorded traffic of Cohere's chat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from detent.adapters.providers.cohere.chat import CohereChatGenerator
from detent.adapters.providers.cohere.decode import ChatFold
from detent.adapters.providers.http.answers import Answer
from detent.core.chat.messages import ImageContent
from detent.core.chat.replies import Usage
from tests.adapters.providers.http.recorded import Reader, Record
from tests.adapters.providers.http.replayed import Api, Item, arguments_of, payload_of


def usage(told: Mapping[str, Any], counted: Usage) -> None:
    """Images are part of the input, and what was thought part of the output."""
    tokens = told["tokens"]
    read = tokens["input_tokens"] + tokens.get("image_tokens", 0)
    thought = tokens.get("reasoning_tokens", 0)
    assert counted == Usage(read, tokens["output_tokens"], told.get("cached_tokens", 0), thought)


READER = Reader(
    lambda: Answer(ChatFold(), "recorded", redact=str),
    usage,
    no_answer={
        "2efa235994e2aba1": "bad_response",  # the model made a call that is none
    },
)


def items(body: Mapping[str, Any]) -> Iterator[Item]:
    """A request to the chat, flattened."""
    for message in body["messages"]:
        role, content = message["role"], message.get("content") or ()
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if role == "tool":
            given = "".join(map(payload, parts))
            yield Item("result", role, given, message["tool_call_id"])
            continue
        for part in parts:
            yield from part_items(part, role)
        for call in message.get("tool_calls") or ():
            function = call["function"]
            arguments = arguments_of(function["arguments"])
            yield Item("call", role, arguments, call["id"], function["name"])


def payload(part: Mapping[str, Any]) -> str:
    """A part of what a tool gave."""
    text: str = part["text"] if part["type"] == "text" else payload_of(part["document"]["data"])
    return text


def part_items(part: Mapping[str, Any], role: Any) -> Iterator[Item]:
    """One part of a content, flattened."""
    match part:
        case {"type": "thinking", "thinking": text}:
            yield Item("thought", role, text)
        case {"type": "text", "text": text}:
            yield Item("text", role, text)
        case {"type": "image_url", "image_url": {"url": url}}:
            mime_type, _, data = url.removeprefix("data:").partition(";base64,")
            elsewhere = {} if data else {"cohere": {"url": url}}
            yield Item("media", role, ImageContent(data, data and mime_type, meta=elsewhere))
        case _:
            raise AssertionError(part)


def tools(body: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas of the functions in a request, by their names."""
    functions = [tool["function"] for tool in body.get("tools") or ()]
    return {function["name"]: function.get("parameters") for function in functions}


def generator(record: Record, client: httpx.Client) -> CohereChatGenerator:
    """A generator for the model of a record."""
    return CohereChatGenerator(record["model"], api_key="k", http_client=client)


API = Api(generator, items, tools)
