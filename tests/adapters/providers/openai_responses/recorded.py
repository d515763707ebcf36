"""Recorded traffic of the Responses API, from OpenAI and from servers that speak it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import httpx

from detent.adapters.providers.http.answers import Answer
from detent.adapters.providers.meaning.parts import Opaque
from detent.adapters.providers.openai_responses.chat import OpenAIResponsesChatGenerator
from detent.adapters.providers.openai_responses.decode import ResponseFold
from detent.adapters.providers.openai_responses.encode import PROVIDER
from detent.core.chat.messages import ImageContent
from tests.adapters.providers.http.recorded import Reader, Record, summed
from tests.adapters.providers.http.replayed import Api, Item, arguments_of

UNSUMMED = "a thought that has no summary is a thought"
READER = Reader(
    lambda: Answer(ResponseFold(), "recorded", redact=str),
    summed("total_tokens"),
    no_answer={
        "a7bc5b40ace8888b": "rate_limit",  # the quota is used up
        "0bebfb3d9ed14249": "cut_stream",  # a stream without a byte in it
    },
    better={
        "71678daf0a7ffcca": UNSUMMED,
        "10f718c3ff87255c": UNSUMMED,
        "5d74e48282f0d639": UNSUMMED,
        "64c42ef6b23b236d": "pieces and whole text differ; the record is made up",
    },
)


Role = Literal["system", "user", "assistant", "tool"]
ROLES: Mapping[str, Role] = {"developer": "system"}


def items(body: Mapping[str, Any]) -> Iterator[Item]:
    """A request to the Responses API, flattened."""
    if instructions := body.get("instructions"):
        yield Item("text", "system", instructions)
    told = body["input"]
    for item in [{"role": "user", "content": told}] if isinstance(told, str) else told:
        yield from item_items(item)


def item_items(item: Mapping[str, Any]) -> Iterator[Item]:
    """One item, flattened."""
    match item:
        case {"role": role, "content": content}:
            yield from contents(content, ROLES.get(role, role))
        case {"type": "function_call", "call_id": call_id, "name": name, "arguments": text}:
            yield Item("call", "assistant", arguments_of(text), call_id, name)
        case {"type": "function_call_output", "call_id": call_id, "output": output}:
            yield Item("result", "tool", output, call_id)
        case {"type": "reasoning"}:
            parts = [*item["summary"], *(item.get("content") or ())]
            yield Item("thought", "assistant", [part["text"] for part in parts])
            yield Item("signature", "assistant", item.get("encrypted_content"))
        case _:
            yield Item("media", "assistant", Opaque(item))


def contents(content: Any, role: Role) -> Iterator[Item]:
    """The content of a message, flattened; a text stands for a part of text."""
    for part in [{"text": content}] if isinstance(content, str) else content:
        match part:
            case {"text": text} | {"refusal": text}:
                yield Item("text", role, text)
            case {"type": "input_image", "image_url": str(url)}:
                kind, data = url.removeprefix("data:").split(";base64,")
                yield Item("media", role, ImageContent(data, kind))
            case _:
                own = {name: value for name, value in part.items() if name != "type"}
                yield Item("media", role, ImageContent("", meta={PROVIDER: own}))


def tools(body: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas of the functions in a request, by their names."""
    given = body.get("tools") or ()
    return {tool["name"]: tool["parameters"] for tool in given if tool["type"] == "function"}


def generator(record: Record, client: httpx.Client) -> OpenAIResponsesChatGenerator:
    """A generator for the model and the path of a record."""
    base_url = "https://example.org" + (record["url_path"] or "").removesuffix("/responses")
    return OpenAIResponsesChatGenerator(
        record["model"], api_base_url=base_url, api_key="k", http_client=client
    )


API = Api(
    generator,
    items,
    tools,
    known={
        "run_df8b453d1535": "the client rewrote a search for tools and left out what it found",
    },
)
