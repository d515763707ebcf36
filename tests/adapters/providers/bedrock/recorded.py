"""Recorded traffic of Converse and ConverseStream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import httpx

from detent.adapters.providers.bedrock.chat import BedrockChatGenerator
from detent.adapters.providers.bedrock.decode import ConverseFold
from detent.adapters.providers.bedrock.encode import PROVIDER
from detent.adapters.providers.bedrock.payloads import ConversePayloads
from detent.adapters.providers.http.answers import Answer
from detent.adapters.providers.meaning.parts import Opaque
from detent.core.chat.messages import FileContent, ImageContent
from tests.adapters.providers.http.recorded import Reader, Record, summed
from tests.adapters.providers.http.replayed import Api, Item, arguments_of

PDF = "application/pdf"
AT_AMAZON = "a tool that runs at Amazon is not a call for us to run"
READER = Reader(
    lambda: Answer(ConverseFold(), "recorded", redact=str, payloads=ConversePayloads()),
    summed("totalTokens"),
    better={
        "cedaeb62cec1b393": "text with citations is text",
        "5490daea57699db2": AT_AMAZON,
        "5a175533232d1911": AT_AMAZON,
        "91d4a8cb0c978f51": AT_AMAZON,
        "e39f81c6886efaed": AT_AMAZON,
    },
)


Role = Literal["system", "user", "assistant", "tool"]


def items(body: Mapping[str, Any]) -> Iterator[Item]:
    """A request to Converse, flattened."""
    for block in body.get("system") or ():
        yield from block_items(block, "system")
    for message in body["messages"]:
        for block in message["content"]:
            yield from block_items(block, message["role"])


def block_items(block: Mapping[str, Any], role: Role) -> Iterator[Item]:
    """One block, flattened."""
    match block:
        case {"cachePoint": _}:
            pass
        case {"text": text}:
            yield Item("text", role, text)
        case {"toolUse": use} if use.get("type") != "server_tool_use":
            yield Item("call", role, arguments_of(use["input"]), use["toolUseId"], use["name"])
        case {"toolResult": {"toolUseId": call_id, "content": content}} if role == "user":
            yield Item("result", "tool", "".join(map(text_of, content)), call_id)
        case {"reasoningContent": {"reasoningText": {"text": text} as thought}}:
            yield Item("thought", role, text)
            yield Item("signature", role, thought.get("signature"))
        case {"image": {"format": kind, "source": {"bytes": data}}}:
            yield Item("media", role, ImageContent(data, f"image/{kind}"))
        case {"document": document} if role == "user":
            yield Item("media", role, FileContent("", PDF, extra={PROVIDER: document}))
        case _:
            yield Item("media", role, Opaque(block))


def text_of(part: Mapping[str, Any]) -> str:
    """The text of a part of a tool's result; what is no text is tested elsewhere."""
    return json.dumps(part["json"]) if "json" in part else part.get("text", "")


def tools(body: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas of the tools in a request that run at the client, by their names."""
    given = (body.get("toolConfig") or {}).get("tools", ())
    specs = [tool["toolSpec"] for tool in given if "toolSpec" in tool]
    return {spec["name"]: spec["inputSchema"]["json"] for spec in specs}


def generator(record: Record, client: httpx.Client) -> BedrockChatGenerator:
    """A generator for the model of a record."""
    return BedrockChatGenerator(
        record["model"], region="us-east-1", api_key="k", http_client=client
    )


API = Api(generator, items, tools)
