"""Answers of Cohere, whole and streamed, and in the form of its older version."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from detent.adapters.providers.cohere.decode import ChatFold
from detent.adapters.providers.cohere.encode import wire_messages
from detent.adapters.providers.http.answers import Answer
from detent.core.chat.messages import ReasoningContent, TextContent
from detent.core.chat.replies import ChatReply, Usage
from detent.ports.chat import StreamingChunk, ToolCallDelta
from tests.adapters.providers.http.folds import Codec, Failures, events, fed

Json = dict[str, Any]

USAGE = {
    "billed_units": {"input_tokens": 1, "output_tokens": 2},
    "tokens": {"input_tokens": 10, "output_tokens": 5, "reasoning_tokens": 3},
    "cached_tokens": 8,
}


def answer() -> Answer:
    """An answer of which nothing has come."""
    return Answer(ChatFold(), "example.org", redact=str)


def read(data: bytes, *, size: int | None = None) -> tuple[list[StreamingChunk], ChatReply]:
    """The pieces and the reply of an answer fed in chunks of `size` bytes."""
    return fed(data, answer, size=size)


def piece(kind: str, index: int | None = None, **message: object) -> Json:
    """One value of a stream that holds a piece of the message."""
    made: Json = {"type": kind, "delta": {"message": message}}
    return made if index is None else made | {"index": index}


def started(index: int, name: str, call_id: str) -> Json:
    """The beginning of a call."""
    function = {"name": name, "arguments": ""}
    call = {"id": call_id, "type": "function", "function": function}
    return piece("tool-call-start", index, tool_calls=call)


def arguments(index: int, text: str) -> Json:
    """A piece of the arguments of a call."""
    return piece("tool-call-delta", index, tool_calls={"function": {"arguments": text}})


def ended(reason: str = "COMPLETE", **members: object) -> Json:
    """The last value of a stream."""
    return {"type": "message-end", "delta": {"finish_reason": reason, **members}}


def whole(reason: str = "COMPLETE", **message: object) -> ChatReply:
    """The reply of an answer in one body."""
    body = {"id": "r1", "message": message, "finish_reason": reason, "usage": USAGE}
    return read(json.dumps(body).encode())[1]


def call(text: str, call_id: str = "c1") -> Json:
    """A call of a whole answer."""
    return {"id": call_id, "type": "function", "function": {"name": "add", "arguments": text}}


def test_a_whole_answer_is_read() -> None:
    """Text, reason, what was read and written (not what is billed), and citations."""
    citations = [{"start": 0, "end": 2, "text": "Hi"}]
    reply = whole(content=[{"type": "text", "text": "Hi"}], citations=citations)
    assert reply.message.text == "Hi"
    assert (reply.finish_reason, reply.raw_finish_reason) == ("stop", "COMPLETE")
    assert reply.usage == Usage(10, 5, 8, 3)
    assert reply.extra == {"id": "r1", "usage": USAGE, "citations": citations}


@pytest.mark.parametrize("text", ["", "null", "{}"])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    """However Cohere writes them."""
    (made,) = whole("TOOL_CALL", tool_calls=[call(text)]).message.tool_calls
    assert (made.arguments, made.unreadable, made.id) == ({}, None, "c1")


def test_a_call_that_was_cut_off_is_unreadable() -> None:
    """It is the last one, and may have no arguments yet; such a call is never run."""
    for begun in ('{"a": ', ""):
        reply = whole("MAX_TOKENS", tool_calls=[call(""), call(begun, "c2")])
        assert [one.unreadable for one in reply.message.tool_calls] == [None, begun]
        assert reply.finish_reason == "length"


def test_the_plan_behind_calls_is_kept_and_given_back() -> None:
    """It is neither text nor thought, but part of the history."""
    for reply in (
        whole("TOOL_CALL", tool_plan="I will add.", tool_calls=[call('{"a":1}')]),
        read(
            events(
                piece("message-start", content=[], tool_plan="", tool_calls=[], citations=[]),
                piece("tool-plan-delta", tool_plan="I will"),
                piece("tool-plan-delta", tool_plan=" add."),
                started(0, "add", "c1"),
                arguments(0, '{"a"'),
                arguments(0, ":1}"),
                {"type": "tool-call-end", "index": 0},
                ended("TOOL_CALL"),
            )
        )[1],
    ):
        assert (reply.message.text, reply.message.reasoning) == (None, None)
        (wire,) = wire_messages([reply.message])
        assert wire["tool_plan"] == "I will add."
        assert wire["tool_calls"] == [call('{"a":1}')]


def test_the_pieces_show_text_thoughts_and_calls_as_they_come() -> None:
    """Calls are told apart by their index."""
    pieces, reply = read(
        events(
            piece("content-start", 0, content={"type": "thinking", "thinking": ""}),
            piece("content-delta", 0, content={"thinking": "h"}),
            piece("content-delta", 0, content={"thinking": "m"}),
            piece("content-start", 1, content={"type": "text", "text": ""}),
            piece("content-delta", 1, content={"text": "Hi"}),
            started(0, "add", "c1"),
            started(1, "sub", "c2"),
            arguments(0, '{"a": 1}'),
            ended("TOOL_CALL"),
        )
    )
    assert pieces == [
        StreamingChunk(reasoning="h", start=True),
        StreamingChunk(reasoning="m"),
        StreamingChunk(content="Hi", start=True),
        StreamingChunk(tool_calls=(ToolCallDelta(0, "add", "", "c1"),)),
        StreamingChunk(tool_calls=(ToolCallDelta(1, "sub", "", "c2"),)),
        StreamingChunk(tool_calls=(ToolCallDelta(0, None, '{"a": 1}'),)),
        StreamingChunk(finish_reason="tool_calls"),
    ]
    thought, text, *calls = reply.message.content
    assert (thought, text) == (ReasoningContent("hm", {"cohere": {}}), TextContent("Hi"))
    assert [one.arguments for one in reply.message.tool_calls] == [{"a": 1}, {}]
    assert len(calls) == 2
    (wire,) = wire_messages([reply.message])
    assert wire["content"] == [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Hi"},
    ]


def test_a_mark_after_the_end_does_no_harm() -> None:
    """Cohere sends one that is not its own."""
    hello = piece("content-delta", 0, content={"text": "Hi"})
    assert read(events(hello, ended(), end="[DONE]"))[1].message.text == "Hi"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("COMPLETE", "stop"),
        ("STOP_SEQUENCE", "stop"),
        ("MAX_TOKENS", "length"),
        ("TOOL_CALL", "other"),
        ("SOMETHING_NEW", "other"),
    ],
)
def test_every_reason_is_kept_and_read(raw: str, reason: str) -> None:
    """New ones are none of those that we know."""
    reply = whole(raw, content=[{"type": "text", "text": "a"}])
    assert (reply.finish_reason, reply.raw_finish_reason) == (reason, raw)


def test_answers_of_version_1_are_read() -> None:
    """Whole, and as a stream of lines."""
    old: list[Json] = [
        {"event_type": "stream-start", "is_finished": False},
        {"event_type": "text-generation", "text": "H"},
        {"event_type": "text-generation", "text": "i"},
        {
            "event_type": "stream-end",
            "finish_reason": "COMPLETE",
            "response": {"text": "Hi", "finish_reason": "COMPLETE", "meta": USAGE},
        },
    ]
    body = {"response_id": "r1", "text": "Hi", "finish_reason": "COMPLETE", "meta": USAGE}
    lines = "".join(f"{json.dumps(one)}\n" for one in old).encode()
    for reply in (read(json.dumps(body).encode())[1], read(lines)[1]):
        assert reply.message.text == "Hi"
        assert (reply.finish_reason, reply.usage) == ("stop", Usage(10, 5, 8, 3))


HELLO = piece("content-delta", 0, content={"text": "Hi"})


FAILURES: Failures = [
    (
        events(HELLO, ended("ERROR", error="invalid call", error_type="INVALID_TOOL_GENERATION")),
        "bad_response",
        True,
    ),
    (events(HELLO, ended("ERROR")), "server", True),
    (events(HELLO, ended("TIMEOUT")), "timeout", True),
    (events(HELLO), "cut_stream", True),
    (b"", "cut_stream", True),
    (b'{"message": "no"}', "server", True),
    (b'{"choices": []}', "bad_response", False),
    (b'{"response_id": "r1", "text": "Hi", "meta": {}}', "bad_response", False),
    (
        b'{"text": "", "tool_calls": [{"name": "a"}], "finish_reason": "COMPLETE"}',
        "bad_response",
        False,
    ),
    (b'{"event_type": "text-generation", "text": "H"}\n', "cut_stream", True),
    (b'{"message": {"content": 4}}', "bad_response", False),
    (b"<html></html>", "bad_response", False),
]
TALK = events(
    piece("content-delta", 0, content={"thinking": "h—m"}),
    piece("content-delta", 1, content={"text": "Grüße"}),
    started(0, "add", "c1"),
    arguments(0, '{"a": "ü"}'),
    ended("TOOL_CALL", usage=USAGE),
)


def strange(stranger: Any) -> Sequence[bytes]:
    """Streams with `stranger` at every place where a value of any shape may stand."""
    strangers: Sequence[Any] = (
        stranger,
        {"type": stranger, "delta": stranger},
        piece("x", 0, content=stranger, tool_calls=stranger, tool_plan=stranger),
    )
    return [events(HELLO, one, ended()) for one in strangers]


MEMBERS = (
    "arguments content delta error finish_reason function id index message name text thinking "
    "tool_calls tool_plan type usage"
)
CODEC = Codec(answer, FAILURES, TALK, MEMBERS, strange)


def test_an_answer_may_end_without_a_reason() -> None:
    """Its last event, or the end of the whole body, is end enough."""
    said = piece("content-delta", 0, content={"text": "a"})
    for data in (
        events(said, {"type": "message-end"}),
        json.dumps({"id": "1", "message": {"content": [{"text": "a"}]}}).encode(),
    ):
        reply = read(data)[1]
        assert (reply.message.text, reply.finish_reason) == ("a", "other")
