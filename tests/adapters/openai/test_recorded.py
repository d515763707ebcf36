"""Recorded traffic: every answer is decoded as an independent reader decoded it.

The records are not part of the project; DETENT_VECTORS names their folder.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from detent.adapters.http.answers import Answer
from detent.adapters.openai.decode import ChatFold
from detent.core.frozen import thaw
from detent.core.replies import ChatReply, ModelFailure, StreamingChunk
from detent.ports.chat import ChatGeneratorError

Record = dict[str, Any]

BESIDE = Path(__file__).parents[4] / "shared" / "vectors"
FOLDER = Path(os.environ.get("DETENT_VECTORS") or BESIDE)
FILES = ("openai_chat", "openai_compatible", "openrouter", "groq", "mistral")
NO_RECORDS = not FOLDER.is_dir()

pytestmark = pytest.mark.skipif(NO_RECORDS, reason="DETENT_VECTORS names no folder of records")

CAUSES = {401: "authentication", 402: "rate_limit", 404: "not_found", 429: "rate_limit"}
# Answers under status 200 that are none, and the failure that each must be.
NO_ANSWER = {
    "3ed6b81ca14903f3": "cut_stream",  # a stream without a byte in it
    "42532734af153b08": "bad_response",  # the echo of a test server
    "abc6a8ae806014ca": "bad_response",  # Groq: an error event ends the stream
}


@cache
def records(name: str) -> list[Record]:
    """The records of one file."""
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def chunks_of(data: bytes, random: Random) -> Iterator[bytes]:
    """`data` cut at random places."""
    at = 0
    while at < len(data):
        size = random.choice((1, 2, 7, 100, 1500))
        yield data[at : at + size]
        at += size


def decoded(record: Record) -> tuple[list[StreamingChunk], ChatReply | ModelFailure]:
    """The pieces, and the reply or the failure."""
    body = record["response_body"]
    data = (body if isinstance(body, str) else json.dumps(body)).encode()
    answer = Answer(ChatFold(), "recorded", redact=str)
    headers = {name.lower(): text for name, text in (record["response_headers"] or {}).items()}
    answer.begin(record["status"], headers)
    pieces: list[StreamingChunk] = []
    try:
        for chunk in chunks_of(data, Random(record["id"])):  # noqa: S311 - no secret
            pieces += answer.feed(chunk)
        last, reply = answer.finish()
    except ChatGeneratorError as error:
        return pieces, error.failure
    return [*pieces, *last], reply


def summary(reply: ChatReply) -> Record:
    """A reply in the terms of `expected`."""
    message = reply.message
    return {
        "text": message.text or "",
        "refusal": reply.extra.get("refusal"),
        "thinking": (message.reasoning.reasoning_text or None) if message.reasoning else None,
        "finish": reply.raw_finish_reason or None,
        "usage": thaw(reply.extra.get("usage")),
        "tool_calls": [
            {"id": call.id, "name": call.tool_name, "arguments": call.unreadable or call.arguments}
            for call in message.tool_calls
        ],
    }


def difference(record: Record) -> str:
    """What is wrong with how a record is decoded; empty when nothing is."""
    pieces, result = decoded(record)
    expected = record.get("expected")
    if isinstance(result, ModelFailure):
        cause = NO_ANSWER.get(record["id"]) or CAUSES.get(record["status"], result.cause)
        shown = "".join(piece.reasoning for piece in pieces)
        as_expected = not expected or record["id"] in NO_ANSWER
        seen = not expected or shown == (expected["thinking"] or "")
        return "" if as_expected and seen and result.cause == cause else str(result)
    if not expected:
        return "an error was taken for an answer"
    got = summary(result)
    # The expected usage holds those of its members that are about tokens and costs.
    usage = got["usage"] or {}
    got["usage"] = expected["usage"] and {name: usage.get(name) for name in expected["usage"]}
    wrong = {name: (expected[name], got[name]) for name in expected if expected[name] != got[name]}
    shown = "".join(piece.content for piece in pieces)
    if shown != got["text"]:
        wrong["pieces"] = (got["text"], shown)
    return f"(expected, got): {wrong}" if wrong else ""


@pytest.mark.parametrize("name", FILES)
def test_every_record_is_decoded_as_expected(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Text, refusal, calls, reasoning, reason and usage, from bytes cut at random places."""
    differences = {record["id"]: difference(record) for record in records(name)}
    failed = {key: text for key, text in differences.items() if text}
    with capsys.disabled():
        passed = len(differences) - len(failed)
        table = f"{name:20}{len(differences):4} records{passed:5} passed{len(failed):5} failed"
        print(f"\n{table}", end="")  # noqa: T201 - for whoever watches
    assert not failed


@pytest.mark.parametrize("name", FILES)
def test_every_usage_has_the_common_shape(name: str) -> None:
    """Input and output add up to the provider's total; cached and reasoning are within them."""
    for record in records(name):
        _, reply = decoded(record)
        if isinstance(reply, ModelFailure) or not record["expected"]["usage"]:
            continue
        assert reply.usage.total_tokens == record["expected"]["usage"]["total_tokens"]
        assert reply.usage.cached_tokens <= reply.usage.input_tokens
        assert reply.usage.reasoning_tokens <= reply.usage.output_tokens


def test_every_documented_error_is_worth_another_try_or_not() -> None:
    """Whether it is, is documented too."""
    apis = {"openai_chat", "groq", "mistral", "openrouter"}
    chosen = [record for record in records("documented_errors") if record["api"] in apis]
    results = {record["id"]: decoded(record)[1] for record in chosen}
    wrong = [
        record["id"]
        for record in chosen
        if getattr(results[record["id"]], "retryable", None) != record["expect_retryable"]
    ]
    assert not wrong
    causes = Counter(getattr(result, "cause", None) for result in results.values())
    assert {"rate_limit", "server", "overloaded", "context_length", "cut_stream"} <= set(causes)
