"""Recorded traffic of the Responses API, from OpenAI and from servers that speak it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import httpx
import pytest

from detent.adapters.providers.http.answers import Answer
from detent.adapters.providers.http.parts import Opaque
from detent.adapters.providers.openai_responses.chat import OpenAIResponsesChatGenerator
from detent.adapters.providers.openai_responses.decode import ResponseFold
from detent.adapters.providers.openai_responses.encode import PROVIDER
from detent.core.chat.messages import ImageContent
from detent.core.chat.replies import ModelFailure
from tests.adapters.providers.http.recorded import (
    Reader,
    Record,
    check,
    check_byte_by_byte,
    check_documented_errors,
    decoded,
    needs_records,
    records,
)
from tests.adapters.providers.http.replayed import Api, Item, arguments_of, check_runs

pytestmark = needs_records

UNSUMMED = "a thought that has no summary is a thought"
READER = Reader(
    lambda: Answer(ResponseFold(), "recorded", redact=str),
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


def test_every_record_is_decoded_as_expected(capsys: pytest.CaptureFixture[str]) -> None:
    """Text, refusal, calls, reasoning, status and usage, from bytes cut at random places."""
    check("openai_responses", READER, capsys)


def test_cutting_a_stream_after_each_byte_changes_nothing() -> None:
    """The same pieces and the same reply."""
    check_byte_by_byte("openai_responses", READER)


def test_every_documented_error_is_worth_another_try_or_not() -> None:
    """Whether it is, is documented too."""
    check_documented_errors(READER, "openai_responses")


def test_every_usage_has_the_common_shape() -> None:
    """Input and output add up to the provider's total; cached and reasoning are within them."""
    for record in records("openai_responses"):
        _, reply = decoded(record, READER)
        if isinstance(reply, ModelFailure) or not record["expected"]["usage"]:
            continue
        assert reply.usage.total_tokens == record["expected"]["usage"]["total_tokens"]
        assert reply.usage.cached_tokens <= reply.usage.input_tokens
        assert reply.usage.reasoning_tokens <= reply.usage.output_tokens


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


def test_the_requests_of_every_run_are_those_recorded() -> None:
    """Texts, calls, results, thoughts and what is encrypted of them, in order."""
    known = {"run_df8b453d1535": "the client rewrote a search for tools and left out what it found"}
    check_runs("openai_responses", Api(generator, items, tools), known)
