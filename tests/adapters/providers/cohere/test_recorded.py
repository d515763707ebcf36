"""Recorded traffic of Cohere's chat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from detent.adapters.providers.cohere.chat import CohereChatGenerator
from detent.adapters.providers.cohere.decode import ChatFold
from detent.adapters.providers.http.answers import Answer
from detent.core.chat.messages import ImageContent
from detent.core.chat.replies import ModelFailure, Usage
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
from tests.adapters.providers.http.replayed import Api, Item, arguments_of, check_runs, payload_of

pytestmark = needs_records

READER = Reader(
    lambda: Answer(ChatFold(), "recorded", redact=str),
    no_answer={
        "2efa235994e2aba1": "bad_response",  # the model made a call that is none
    },
)


def test_every_record_is_decoded_as_expected(capsys: pytest.CaptureFixture[str]) -> None:
    """Text, calls, reasoning, reason and usage, from bytes cut at random places."""
    check("cohere", READER, capsys)


def test_cutting_a_stream_after_each_byte_changes_nothing() -> None:
    """The same pieces and the same reply."""
    check_byte_by_byte("cohere", READER)


def test_every_documented_error_is_worth_another_try_or_not() -> None:
    """Whether it is, is documented too."""
    check_documented_errors(READER, "cohere")


def test_every_usage_has_the_common_shape() -> None:
    """Images are part of the input, and what was thought part of the output."""
    for record in records("cohere"):
        _, reply = decoded(record, READER)
        if isinstance(reply, ModelFailure) or not (told := record["expected"]["usage"]):
            continue
        tokens = told["tokens"]
        read = tokens["input_tokens"] + tokens.get("image_tokens", 0)
        thought = tokens.get("reasoning_tokens", 0)
        cached = told.get("cached_tokens", 0)
        assert reply.usage == Usage(read, tokens["output_tokens"], cached, thought)


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


def test_the_requests_of_every_run_are_those_recorded() -> None:
    """Texts, calls, results and thoughts, in order."""
    check_runs("cohere", Api(generator, items, tools))
