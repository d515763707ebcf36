"""Recorded traffic of the Messages API, from Anthropic and from gateways that speak it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import httpx

from detent.adapters.providers.anthropic.chat import AnthropicChatGenerator
from detent.adapters.providers.anthropic.decode import MessageFold
from detent.adapters.providers.anthropic.encode import PROVIDER
from detent.adapters.providers.http.answers import Answer
from detent.adapters.providers.meaning.parts import Opaque
from detent.core.chat.messages import ImageContent
from detent.core.chat.replies import Usage
from tests.adapters.providers.http.recorded import Reader, Record
from tests.adapters.providers.http.replayed import Api, Item, arguments_of


def usage(told: Mapping[str, Any], counted: Usage) -> None:
    """What was cached is part of the input."""
    counts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    assert counted.input_tokens == sum(told.get(name) or 0 for name in counts)
    assert counted.output_tokens == told["output_tokens"]


READER = Reader(
    lambda: Answer(MessageFold(), "recorded", redact=str),
    usage,
    no_answer={
        "b0b1307bf2941766": "bad_response",  # a version of a skill, no message
    },
    better={
        "2c61028f568037ba": "fifteen answers in one: what was shown of the first is not taken back",
    },
)


Role = Literal["system", "user", "assistant", "tool"]


def items(body: Mapping[str, Any]) -> Iterator[Item]:
    """A request to the Messages API, flattened."""
    yield from contents(body.get("system") or (), "system")
    for message in body["messages"]:
        yield from contents(message["content"], message["role"])


def contents(content: Any, role: Role) -> Iterator[Item]:
    """The content of a message, flattened; a text stands for a block of text."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks:
        yield from block_items(block, role)


def block_items(block: Mapping[str, Any], role: Role) -> Iterator[Item]:
    """One block, flattened."""
    match block:
        case {"type": "text", "text": text}:
            yield Item("text", role, text)
        case {"type": "tool_use", "id": call_id, "name": name, "input": arguments}:
            yield Item("call", role, arguments_of(arguments), call_id, name)
        case {"type": "tool_result", "tool_use_id": call_id}:
            content = contents(block.get("content") or "", "tool")
            yield Item("result", "tool", "".join(item.value for item in content), call_id)
        case {"type": "thinking", "thinking": text, "signature": signature}:
            yield Item("thought", role, text)
            yield Item("signature", role, signature)
        case {"type": "redacted_thinking", "data": data}:
            yield Item("signature", role, data)
        case {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}:
            yield Item("media", role, ImageContent(data, kind))
        case {"type": "image", "source": source}:
            yield Item("media", role, ImageContent("", meta={PROVIDER: {"source": source}}))
        case _:
            yield Item("media", role, Opaque(bare(block)))


def bare(value: Any) -> Any:
    """A block without what clients add to it or leave out."""
    if isinstance(value, list):
        return [bare(item) for item in value]
    if not isinstance(value, dict):
        return value
    told = {name: bare(inner) for name, inner in value.items() if inner is not None}
    return {name: inner for name, inner in told.items() if name not in {"cache_control", "caller"}}


def tools(body: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas of the tools in a request that run at the client, by their names."""
    given = body.get("tools") or ()
    return {tool["name"]: tool["input_schema"] for tool in given if "input_schema" in tool}


def generator(record: Record, client: httpx.Client) -> AnthropicChatGenerator:
    """A generator for the model of a record."""
    return AnthropicChatGenerator(record["model"], api_key="k", http_client=client)


API = Api(generator, items, tools)
