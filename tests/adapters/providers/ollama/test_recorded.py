"""Recorded traffic of Ollama's own API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from detent.adapters.providers.http.answers import Answer
from detent.adapters.providers.ollama.chat import OllamaChatGenerator
from detent.adapters.providers.ollama.decode import ChatFold
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
from tests.adapters.providers.http.replayed import Api, Item, arguments_of, check_runs

pytestmark = needs_records

READER = Reader(lambda: Answer(ChatFold(), "recorded", redact=str))


def test_every_record_is_decoded_as_expected(capsys: pytest.CaptureFixture[str]) -> None:
    """Text, calls, reasoning, reason and usage, from bytes cut at random places."""
    check("ollama", READER, capsys)


def test_cutting_a_stream_after_each_byte_changes_nothing() -> None:
    """The same pieces and the same reply."""
    check_byte_by_byte("ollama", READER)


def test_every_documented_error_is_worth_another_try_or_not() -> None:
    """Whether it is, is documented too."""
    check_documented_errors(READER, "ollama")


def test_every_usage_has_the_common_shape() -> None:
    """A prompt that was cached is not counted."""
    for record in records("ollama"):
        _, reply = decoded(record, READER)
        if not isinstance(reply, ModelFailure):
            told = record["expected"]["usage"] or {}
            counts = (told.get("prompt_eval_count") or 0, told.get("eval_count") or 0)
            assert reply.usage == Usage(*counts)


def items(body: Mapping[str, Any]) -> Iterator[Item]:
    """A request to /api/chat, flattened."""
    for message in body["messages"]:
        role = message["role"]
        if role == "tool":
            call_id, name = message.get("tool_call_id"), message.get("tool_name")
            yield Item("result", role, message["content"], call_id, name)
            continue
        if thinking := message.get("thinking"):
            yield Item("thought", role, thinking)
        yield Item("text", role, message["content"])
        for image in message.get("images") or ():
            yield Item("media", role, ImageContent(image))
        for call in message.get("tool_calls") or ():
            function = call["function"]
            arguments = arguments_of(function.get("arguments"))
            yield Item("call", role, arguments, call.get("id"), function["name"])


def tools(body: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas of the functions in a request, by their names."""
    functions = [tool["function"] for tool in body.get("tools") or ()]
    return {function["name"]: function.get("parameters") for function in functions}


def generator(record: Record, client: httpx.Client) -> OllamaChatGenerator:
    """A generator for the model of a record."""
    return OllamaChatGenerator(record["model"], http_client=client)


def test_the_requests_of_every_run_are_those_recorded() -> None:
    """Texts, calls, results and thoughts, in order."""
    check_runs("ollama", Api(generator, items, tools, issues_ids=False))
