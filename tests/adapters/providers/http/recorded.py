"""Recorded traffic: reading it, and holding what we decode of it against an independent reader.

The records are not part of the project; DETENT_VECTORS names their folder.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import pytest
from attrs import field, frozen
from returns.result import Failure

from detent.adapters.providers.http.answers import Answer
from detent.adapters.providers.http.calls import free_text_of
from detent.core.chat.messages import ToolCall
from detent.core.chat.replies import ChatReply, FailureCause, ModelFailure, Usage
from detent.core.values.frozen import thaw
from detent.ports.chat import StreamingChunk

Record: TypeAlias = dict[str, Any]

BESIDE = Path(__file__).parents[5] / "shared" / "vectors"
FOLDER = Path(os.environ.get("DETENT_VECTORS") or BESIDE)

needs_records = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="DETENT_VECTORS names no folder of records"
)

CAUSES: Mapping[int, FailureCause] = {
    401: "authentication",
    402: "rate_limit",
    404: "not_found",
    429: "rate_limit",
}


@frozen
class Reader:
    """How the answers of one API are read.

    Attributes:
        answer: makes the reader of one answer.
        usage: holds the usage of a reply against what the provider said.
        no_answer: records under status 200 that are no answer, by id, with the failure that each
            must be. The failure of others of this kind is left open.
        better: records in which we know better than the independent reader, with the reason.
    """

    answer: Callable[[], Answer]
    usage: Callable[[Mapping[str, Any], Usage], None]
    no_answer: Mapping[str, FailureCause] = field(factory=dict)
    better: Mapping[str, str] = field(factory=dict)


def summed(name: str) -> Callable[[Mapping[str, Any], Usage], None]:
    """Input and output add up to the total that the provider calls `name`."""

    def usage(told: Mapping[str, Any], counted: Usage) -> None:
        assert told.get(name) in {None, counted.total_tokens}

    return usage


@cache
def records(name: str) -> Sequence[Record]:
    """The records of one file."""
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def documented_errors(api: str) -> Sequence[Record]:
    """The errors of an API that nobody has recorded."""
    return [record for record in records("documented_errors") if record["api"] == api]


def body_of(record: Record) -> bytes:
    """The bytes of a recorded answer."""
    if "response_body_base64" in record:  # Bedrock streams messages that are not text
        return b64decode(record["response_body_base64"])
    body = record["response_body"]
    return (body if isinstance(body, str) else json.dumps(body)).encode()


def cut_at_random(data: bytes, seed: str) -> Iterator[bytes]:
    """`data` in pieces, the same ones for the same seed."""
    random, at = Random(seed), 0  # noqa: S311 - no secret
    while at < len(data):
        size = random.choice((1, 2, 7, 100, 1500))
        yield data[at : at + size]
        at += size


def cut_byte_by_byte(data: bytes, seed: str) -> Iterator[bytes]:
    """`data` in pieces of one byte."""
    return (data[at : at + 1] for at in range(len(data)))


Cut: TypeAlias = Callable[[bytes, str], Iterator[bytes]]


def decoded(
    record: Record, reader: Reader, cut: Cut = cut_at_random
) -> tuple[list[StreamingChunk], ChatReply | ModelFailure]:
    """The pieces, and the reply or the failure."""
    answer = reader.answer()
    headers = {name.lower(): text for name, text in (record["response_headers"] or {}).items()}
    answer.begin(record["status"], headers)
    pieces: list[StreamingChunk] = []
    for chunk in cut(body_of(record), record["id"]):
        pieces += answer.feed(chunk)
    result = answer.finish()
    if isinstance(result, Failure):
        return pieces, result.failure()
    last, reply = result.unwrap()
    return [*pieces, *last], reply


def summary(reply: ChatReply) -> Record:
    """A reply in the terms of `expected`."""
    message = reply.message
    return {
        "text": message.text or "",
        "refusal": reply.extra.get("refusal"),
        "thinking": "".join(thought.reasoning_text for thought in message.reasonings) or None,
        "finish": reply.raw_finish_reason or None,
        "usage": thaw(reply.extra.get("usage")),
        "tool_calls": [
            {"id": call.id, "name": call.tool_name, "arguments": arguments_of(call)}
            for call in message.tool_calls
        ],
    }


def arguments_of(call: ToolCall) -> object:
    """The arguments of a call, or its free text."""
    is_custom = call.extra.get("type") == "custom"
    return free_text_of(call) if is_custom else call.unreadable or call.arguments


def difference(record: Record, reader: Reader, cut: Cut = cut_at_random) -> str:
    """What is wrong with how a record is decoded; empty when nothing is."""
    pieces, result = decoded(record, reader, cut)
    expected = record.get("expected")
    known = reader.no_answer.get(record["id"])
    if isinstance(result, ModelFailure):
        cause = known or CAUSES.get(record["status"], result.cause)
        return "" if is_no_answer(record) and result.cause == cause else str(result)
    if not expected or known:
        return "an error was taken for an answer"
    got = summary(result)
    # The expected usage holds those of its members that are about tokens and costs.
    usage = got["usage"] or {}
    got["usage"] = expected["usage"] and {name: usage.get(name) for name in expected["usage"]}
    wrong = {name: (expected[name], got[name]) for name in expected if expected[name] != got[name]}
    for name, shown in (
        ("text", "".join(piece.content for piece in pieces)),
        ("thinking", "".join(piece.reasoning for piece in pieces) or None),
    ):
        if shown != got[name]:
            wrong[f"pieces of {name}"] = (got[name], shown)
    return f"(expected, got): {wrong}" if wrong else ""


def is_no_answer(record: Record) -> bool:
    """Whether it is an error, breaks off with one, or nothing at all could be read in it."""
    expected = record.get("expected") or {}
    nothing_read = not any(expected.values())
    return nothing_read or "midstream_error" in record["features"]


def check(name: str, reader: Reader, capsys: pytest.CaptureFixture[str]) -> None:
    """Hold every record of a file against `expected`, and print how it went."""
    differences = {record["id"]: difference(record, reader) for record in records(name)}
    failed = {key: text for key, text in differences.items() if text}
    explained = {key: reader.better[key] for key in failed if key in reader.better}
    with capsys.disabled():
        counts = f"{len(differences):4} records{len(differences) - len(failed):5} passed"
        print(f"\n{name:20}{counts}{len(failed):5} failed", end="")  # noqa: T201 - a table
        for key, reason in explained.items():
            print(f"\n{'':20}{key}: {reason}", end="")  # noqa: T201 - a table
    assert failed.keys() == explained.keys(), failed


def check_byte_by_byte(name: str, reader: Reader) -> None:
    """Hold every stream of a file, cut after each byte, against the same cut at random."""
    for record in records(name):
        if record["stream"]:
            assert decoded(record, reader, cut_byte_by_byte) == decoded(record, reader)


def check_usages(name: str, reader: Reader) -> None:
    """Hold the usage of every reply of a file against what the provider said."""
    for record in records(name):
        _, reply = decoded(record, reader)
        if isinstance(reply, ChatReply):
            usage = reply.usage
            reader.usage((record.get("expected") or {}).get("usage") or {}, usage)
            assert usage.cached_tokens <= usage.input_tokens
            assert usage.reasoning_tokens <= usage.output_tokens


def check_documented_errors(name: str, reader: Reader) -> None:
    """Hold every documented error of an API against whether it is worth another try."""
    chosen = documented_errors(name)
    results = {record["id"]: decoded(record, reader)[1] for record in chosen}
    wrong = [
        (record["id"], results[record["id"]])
        for record in chosen
        if getattr(results[record["id"]], "retryable", None) != record["expect_retryable"]
    ]
    assert results
    assert not wrong
