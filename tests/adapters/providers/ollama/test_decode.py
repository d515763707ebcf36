"""Answers of Ollama, whole and line by line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from detent.adapters.providers.http.answers import Answer
from detent.adapters.providers.ollama.decode import ChatFold
from detent.adapters.providers.ollama.encode import wire_messages
from detent.core.chat.messages import ReasoningContent
from detent.core.chat.replies import ChatReply, Usage
from detent.ports.chat import StreamingChunk, ToolCallDelta
from tests.adapters.providers.http.folds import Codec, Failures, fed

Json = dict[str, Any]

DONE: Json = {"done": True, "done_reason": "stop"}


def answer() -> Answer:
    """An answer of which nothing has come."""
    return Answer(ChatFold(), "example.org", redact=str)


def read(data: bytes, *, size: int | None = None) -> tuple[list[StreamingChunk], ChatReply]:
    """The pieces and the reply of an answer fed in chunks of `size` bytes."""
    return fed(data, answer, size=size)


def value(message: Json | None = None, **members: object) -> Json:
    """One value of a stream."""
    said = {"role": "assistant", "content": "", **(message or {})}
    return {"model": "m", "message": said, "done": False, **members}


def lines(*values: Json) -> bytes:
    """A stream of these values."""
    return "".join(f"{json.dumps(one)}\n" for one in values).encode()


def whole(message: Json, **members: object) -> ChatReply:
    """The reply of an answer in one body."""
    return read(json.dumps(value(message, **DONE) | members).encode())[1]


def call(arguments: object, **members: object) -> Json:
    """A call on the wire."""
    return {"function": {"name": "add", "arguments": arguments, "index": 0}, **members}


def test_a_whole_answer_is_read() -> None:
    """Text, reason, usage, model and what stands beside them."""
    counts = {"prompt_eval_count": 10, "eval_count": 5, "total_duration": 7}
    reply = whole({"content": "hello"}, created_at="now", **counts)
    assert reply.message.text == "hello"
    assert (reply.finish_reason, reply.raw_finish_reason, reply.model) == ("stop", "stop", "m")
    assert reply.usage == Usage(10, 5)
    assert reply.extra == {"created_at": "now", "usage": counts}


def test_a_prompt_that_was_cached_is_not_counted() -> None:
    """Ollama leaves the number out."""
    assert whole({"content": "a"}, eval_count=5).usage == Usage(0, 5)


def test_calls_have_objects_as_arguments_and_ids_on_newer_servers() -> None:
    """Beside them the reason is "stop"; an id is given back."""
    reply = whole({"tool_calls": [call({"a": 1}), call({}, id="o1"), call('{"a": 2}')]})
    made = [(one.tool_name, one.arguments, one.id) for one in reply.message.tool_calls]
    assert made == [("add", {"a": 1}, None), ("add", {}, "o1"), ("add", {"a": 2}, None)]
    assert (reply.finish_reason, reply.raw_finish_reason) == ("tool_calls", "stop")
    (wire,) = wire_messages([reply.message])
    assert [one.get("id") for one in wire["tool_calls"]] == [None, "o1", None]


def test_arguments_that_are_no_object_are_unreadable() -> None:
    """Such a call is never run."""
    (made,) = whole({"tool_calls": [call([1])]}).message.tool_calls
    assert (made.arguments, made.unreadable) == ({}, "[1]")


def test_the_pieces_show_text_thoughts_and_calls_as_they_come() -> None:
    """Parallel calls are spread over several values, before the last."""
    pieces, reply = read(
        lines(
            value({"thinking": "h"}),
            value({"thinking": "m"}),
            value({"content": "Su"}),
            value({"content": "re"}),
            value({"tool_calls": [call({"a": 1}, id="o1")]}),
            value({"tool_calls": [call({"a": 2}, id="o2")]}),
            value(**DONE),
        )
    )
    assert pieces == [
        StreamingChunk(reasoning="h", start=True),
        StreamingChunk(reasoning="m"),
        StreamingChunk(content="Su", start=True),
        StreamingChunk(content="re"),
        StreamingChunk(tool_calls=(ToolCallDelta(0, "add", '{"a": 1}', "o1"),)),
        StreamingChunk(tool_calls=(ToolCallDelta(1, "add", '{"a": 2}', "o2"),)),
        StreamingChunk(finish_reason="tool_calls"),
    ]
    assert reply.message.reasoning == ReasoningContent("hm", {"ollama": {}})
    (wire,) = wire_messages([reply.message])
    assert wire["thinking"] == "hm"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [("stop", "stop"), (None, "stop"), ("length", "length"), ("load", "other")],
)
def test_every_reason_is_kept_and_read(raw: str | None, reason: str) -> None:
    """Older servers give none."""
    reply = whole({"content": "a"}, done_reason=raw)
    assert (reply.finish_reason, reply.raw_finish_reason) == (reason, raw or "")


FAILURES: Failures = [
    (b'{"error": "it broke"}', "server", True),
    (lines(value({"content": "a"}), {"error": "it broke"}), "server", True),
    (lines(value({"content": "a"})), "cut_stream", True),
    (lines(value({"content": "a"})) + b'{"mess', "cut_stream", True),
    (b"", "cut_stream", True),
    (b'{"choices": []}', "bad_response", False),
    (b"<html></html>", "bad_response", False),
    (lines(value({"content": "a"})) + b"oops\n", "bad_response", False),
    (b'{"message": 4, "done": true}', "bad_response", False),
]
TALK = lines(
    value({"thinking": "h—m"}),
    value({"content": "Grüße "}),
    value({"tool_calls": [call({"a": "ü"})]}),
    value(**DONE),
)


def strange(stranger: Any) -> Sequence[bytes]:
    """Streams with `stranger` at every place where a value of any shape may stand."""
    strangers: Sequence[Any] = (
        stranger,
        {"message": stranger, "done": stranger},
        value({"content": stranger, "tool_calls": [stranger]}, done_reason=stranger),
    )
    return [lines(value({"content": "a"}), one, value(**DONE)) for one in strangers]


MEMBERS = "arguments content done done_reason error function id message name thinking tool_calls"
CODEC = Codec(answer, FAILURES, TALK, MEMBERS, strange)
