"""Recorded traffic of Chat Completions: OpenAI's and that of those who speak like it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from detent.adapters.providers.http.answers import Answer
from detent.adapters.providers.openai.chat import OpenAIChatGenerator
from detent.adapters.providers.openai.decode import ChatFold
from detent.adapters.providers.openai.profiles import (
    COMPATIBLE,
    GROQ,
    MISTRAL,
    OPENAI,
    OPENROUTER,
    Profile,
    short_call_id,
)
from detent.core.chat.messages import FileContent, ImageContent
from tests.adapters.providers.http.recorded import Reader, Record, summed
from tests.adapters.providers.http.replayed import Api, Item, arguments_of

PROFILES = {
    "openai_chat": OPENAI,
    "openai_compatible": COMPATIBLE,
    "openrouter": OPENROUTER,
    "groq": GROQ,
    "mistral": MISTRAL,
}
READER = Reader(
    lambda: Answer(ChatFold(), "recorded", redact=str),
    summed("total_tokens"),
    no_answer={
        "3ed6b81ca14903f3": "cut_stream",  # a stream without a byte in it
        "42532734af153b08": "bad_response",  # the echo of a test server
        "abc6a8ae806014ca": "bad_response",  # Groq: an error event ends the stream
    },
)


def items(body: Mapping[str, Any]) -> Iterator[Item]:
    """A request to Chat Completions, flattened."""
    for place, message in enumerate(body["messages"]):
        role: Any = "system" if message["role"] == "developer" else message["role"]
        content = message.get("content") or ()
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if role == "tool":
            text = "".join(part["text"] for part in parts)
            yield Item("result", role, text, message["tool_call_id"])
        elif not acknowledges(body["messages"], place):
            yield from thoughts(message)
            for part in parts:
                yield part_item(part, role)
            for call in message.get("tool_calls") or ():
                function = call["function"]
                arguments = arguments_of(function["arguments"])
                yield Item("call", role, arguments, call["id"], function["name"])


def acknowledges(messages: list[Any], place: int) -> bool:
    """Whether it is the OK between a result and a user that Mistral wants, and some send."""
    around = [one["role"] for one in messages[max(0, place - 1) : place + 2]]
    return around == ["tool", "assistant", "user"] and messages[place].get("content") == "OK"


def thoughts(message: Mapping[str, Any]) -> Iterator[Item]:
    """What the model thought, in any of the members that servers have for it."""
    details = message.get("reasoning_details") or ()
    texts = [detail.get("text") or detail.get("summary") or "" for detail in details]
    said = message.get("reasoning_content") or message.get("reasoning") or "".join(texts)
    if said:
        yield Item("thought", "assistant", said)
    for detail in details:
        if signature := detail.get("signature") or detail.get("data"):
            yield Item("signature", "assistant", signature)


def part_item(part: Mapping[str, Any], role: Any) -> Item:
    """One part of a content, flattened."""
    match part:
        case {"type": "text", "text": text}:
            return Item("text", role, text)
        case {"type": "thinking", "thinking": said}:
            return Item("thought", role, "".join(one["text"] for one in said))
        case {"type": "image_url", "image_url": image}:
            url = image if isinstance(image, str) else image["url"]
            mime_type, _, data = url.removeprefix("data:").partition(";base64,")
            elsewhere = {} if data else {"openai": {"url": url}}
            return Item("media", role, ImageContent(data, data and mime_type, meta=elsewhere))
        case {"type": "file", "file": file}:
            return Item("media", role, FileContent("", "", extra={"openai": file}))
        case _:
            raise AssertionError(part)


def tools(body: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas of the functions in a request, by their names."""
    functions = [tool["function"] for tool in body.get("tools") or ()]
    return {function["name"]: function.get("parameters") for function in functions}


def api(profile: Profile) -> Api:
    """Chat Completions of one kind of server."""

    def generator(record: Record, client: httpx.Client) -> OpenAIChatGenerator:
        return OpenAIChatGenerator(
            record["model"], api_key="k", profile=profile, http_client=client
        )

    # Records hold ids that were redacted, and are not those that Mistral issued.
    return Api(generator, items, tools, same_id=short_call_id if profile is MISTRAL else str)
