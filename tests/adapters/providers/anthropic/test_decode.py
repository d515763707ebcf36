"""Answers of the Messages API, whole and streamed, with everything that may stand in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from detent.adapters.providers.anthropic.decode import MessageFold
from detent.adapters.providers.anthropic.encode import wire_messages
from detent.adapters.providers.http.answers import Answer
from detent.core.chat.messages import ReasoningContent, TextContent, ToolCall
from detent.core.chat.replies import ChatReply, Usage
from detent.core.values.frozen import thaw
from detent.ports.chat import StreamingChunk, ToolCallDelta
from tests.adapters.providers.http.folds import Codec, Failures, events, fed

Json = dict[str, Any]


def answer() -> Answer:
    """An answer that is to come."""
    return Answer(MessageFold(), "example.org", redact=str)


def whole(*content: Json, stop: str | None = "end_turn", **members: object) -> ChatReply:
    """The reply of a message that came in one body."""
    body = {"type": "message", "role": "assistant", "content": content, "stop_reason": stop}
    return fed(json.dumps(body | members).encode(), answer)[1]


START: Json = {"type": "message_start", "message": {"content": [], "model": "m-1", "id": "msg"}}
STOP: Json = {"type": "message_stop"}
PING: Json = {"type": "ping"}


def opened(index: int, kind: str, **members: object) -> Json:
    """The start of a block."""
    block = {"type": kind, **members}
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **members: object) -> Json:
    """A piece of a block."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **members}}


def ended(reason: str = "end_turn", **members: object) -> Json:
    """What is told of a message at its end."""
    return {"type": "message_delta", "delta": {"stop_reason": reason}, **members}


def streamed(*values: Json) -> ChatReply:
    """The reply of a stream."""
    return fed(events(START, *values, STOP), answer)[1]


def replayed(reply: ChatReply) -> list[Json]:
    """The blocks that go back to the provider."""
    wire = wire_messages([reply.message])
    blocks: list[Json] = json.loads(json.dumps(wire))[0]["content"]
    return blocks


USAGE = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 5,
    "cache_read_input_tokens": 3,
    "output_tokens": 7,
    "output_tokens_details": {"thinking_tokens": 4},
}


def test_a_whole_message_is_read() -> None:
    """Text, reason, usage, model and what stands beside them."""
    text = {"type": "text", "text": "hello", "citations": None}
    reply = whole(text, model="m-1", id="msg", usage=USAGE, stop_sequence=None)
    assert reply.message.text == "hello"
    assert reply.message.meta == {}
    assert (reply.finish_reason, reply.raw_finish_reason, reply.model) == (
        "stop",
        "end_turn",
        "m-1",
    )
    assert reply.usage == Usage(18, 7, 3, 4)
    assert thaw(reply.extra) == {"id": "msg", "usage": USAGE}


TALK = (
    START,
    opened(0, "thinking", thinking="", signature=""),
    PING,
    delta(0, "thinking_delta", thinking="h—"),
    delta(0, "thinking_delta", thinking="m"),
    delta(0, "signature_delta", signature="c2ln"),
    delta(0, "signature_delta", signature="bg=="),
    {"type": "content_block_stop", "index": 0},
    opened(1, "text", text=""),
    delta(1, "text_delta", text="Su"),
    delta(1, "text_delta", text="re"),
    opened(2, "tool_use", id="c1", name="add", input={}, caller={"type": "direct"}),
    delta(2, "input_json_delta", partial_json=""),
    delta(2, "input_json_delta", partial_json='{"a"'),
    delta(2, "input_json_delta", partial_json=': "ü"}'),
    opened(3, "tool_use", id="c2", name="now", input={}),
    delta(3, "input_json_delta", partial_json=""),
    ended("tool_use", usage={"output_tokens": 9}),
    STOP,
)


def test_a_stream_shows_its_pieces_and_then_gives_the_reply() -> None:
    """Each kind says where it starts; the last piece says why it ended."""
    pieces, reply = fed(events(*TALK), answer)
    assert pieces == [
        StreamingChunk(reasoning="h—", start=True),
        StreamingChunk(reasoning="m"),
        StreamingChunk(content="Su", start=True),
        StreamingChunk(content="re"),
        StreamingChunk(tool_calls=(ToolCallDelta(0, "add", "", "c1"),)),
        StreamingChunk(tool_calls=(ToolCallDelta(0, None, '{"a"'),)),
        StreamingChunk(tool_calls=(ToolCallDelta(0, None, ': "ü"}'),)),
        StreamingChunk(tool_calls=(ToolCallDelta(1, "now", "", "c2"),)),
        StreamingChunk(finish_reason="tool_calls"),
    ]
    assert reply.message.content == (
        ReasoningContent("h—m", {"anthropic": {"type": "thinking", "signature": "c2lnbg=="}}),
        TextContent("Sure"),
        ToolCall("add", {"a": "ü"}, "c1", {"anthropic": {"caller": {"type": "direct"}}}),
        ToolCall("now", {}, "c2"),
    )


def test_a_whole_message_is_shown_as_a_stream_is() -> None:
    """A callback may be there for a server that does not stream."""
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "Sure"},
        {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}},
    ]
    body = {"type": "message", "content": blocks, "stop_reason": "tool_use"}
    pieces, _ = fed(json.dumps(body).encode(), answer)
    assert pieces == [
        StreamingChunk(reasoning="hm", start=True),
        StreamingChunk(content="Sure", start=True),
        StreamingChunk(tool_calls=(ToolCallDelta(0, "add", '{"a": 1}', "c1"),)),
        StreamingChunk(finish_reason="tool_calls"),
    ]


def test_what_the_model_said_goes_back_as_it_came() -> None:
    """Signatures byte by byte, texts with citations, and the order of all blocks."""
    blocks: list[Json] = [
        {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3"},
        {"type": "thinking", "thinking": "", "signature": "c2lnbg=="},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "u"}]},
        {"type": "text", "text": "So ", "citations": [{"url": "u", "encrypted_index": "E"}]},
        {"type": "text", "text": "it is."},
        {"type": "mcp_tool_use", "id": "m1", "name": "n", "server_name": "s", "input": {}},
        {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}, "caller": {"type": "x"}},
    ]
    reply = whole(*blocks, stop="tool_use")
    assert replayed(reply) == blocks
    assert reply.message.text == "So it is."
    assert [thought.reasoning_text for thought in reply.message.reasonings] == ["", ""]
    assert [call.tool_name for call in reply.message.tool_calls] == ["add"]


def test_a_stream_goes_back_as_a_whole_message_does() -> None:
    """Signatures, citations and the arguments of tools of the provider are put together."""
    reply = streamed(
        opened(0, "thinking", thinking="", signature=""),
        delta(0, "signature_delta", signature="c2lnbg=="),
        opened(1, "server_tool_use", id="s1", name="web_search", input={}),
        delta(1, "input_json_delta", partial_json='{"query"'),
        delta(1, "input_json_delta", partial_json=': "q"}'),
        opened(2, "web_search_tool_result", tool_use_id="s1", content=[{"url": "u"}]),
        opened(3, "text", text="", citations=[{"url": "u"}]),
        delta(3, "citations_delta", citation={"url": "v"}),
        delta(3, "text_delta", text="So."),
        opened(4, "redacted_thinking", data="x"),
        ended(),
    )
    assert replayed(reply) == [
        {"type": "thinking", "thinking": "", "signature": "c2lnbg=="},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "u"}]},
        {"type": "text", "text": "So.", "citations": [{"url": "u"}, {"url": "v"}]},
        {"type": "redacted_thinking", "data": "x"},
    ]


def test_kinds_that_are_not_known_yet_are_kept() -> None:
    """Blocks, pieces of them, and events."""
    reply = streamed(
        opened(0, "compaction", content=None),
        delta(0, "compaction_delta", content="It was "),
        delta(0, "compaction_delta", content="long."),
        {"type": "news", "headline": "?"},
        opened(1, "text", text=""),
        delta(1, "text_delta", text="Hi", confidence=0.5),
        delta(1, "glow_delta", glow=3),
        ended(),
    )
    assert reply.message.text == "Hi"
    assert replayed(reply)[0] == {"type": "compaction", "content": "It was long."}


def test_a_message_may_come_in_its_first_event() -> None:
    """So it does when a program at the provider calls the next tool."""
    call = {"type": "tool_use", "id": "c1", "name": "roll", "input": {"die": 6}}
    message = {"content": [call], "stop_reason": "tool_use", "container": {"id": "k"}}
    reply = fed(events({"type": "message_start", "message": message}, STOP), answer)[1]
    assert reply.message.tool_calls[0].arguments == {"die": 6}
    assert reply.finish_reason == "tool_calls"
    assert thaw(reply.message.meta) == {"anthropic": {"container": "k"}}


def test_arguments_may_come_at_the_start_of_a_call() -> None:
    """And no piece after it."""
    reply = streamed(opened(0, "tool_use", id="c1", name="f", input={"a": 1}), ended("tool_use"))
    assert reply.message.tool_calls[0].arguments == {"a": 1}


@pytest.mark.parametrize(
    ("written", "stop", "arguments", "unreadable"),
    [
        ("", "tool_use", {}, None),
        ("", "max_tokens", {}, ""),
        ('{"a": 1}', "max_tokens", {"a": 1}, None),
        ('{"a": ', "max_tokens", {}, '{"a": '),
        ('{"a": ', "refusal", {}, '{"a": '),
        ("[1]", "tool_use", {}, "[1]"),
    ],
)
def test_a_call_that_was_cut_off_is_not_taken_for_whole(
    written: str, stop: str, arguments: Json, unreadable: str | None
) -> None:
    """It is never run, and the model is told what it wrote."""
    reply = streamed(
        opened(0, "tool_use", id="c1", name="add", input={}),
        delta(0, "input_json_delta", partial_json=written),
        ended(stop),
    )
    (call,) = reply.message.tool_calls
    assert (call.arguments, call.unreadable) == (arguments, unreadable)


def test_of_a_whole_message_the_last_call_before_the_cut_is_not_trusted() -> None:
    """The provider has closed the braces; what was to come in them, nobody knows."""
    calls = [{"type": "tool_use", "id": i, "name": "f", "input": {"a": 1}} for i in ("c1", "c2")]
    first, last = whole(*calls, stop="max_tokens").message.tool_calls
    assert (first.unreadable, last.unreadable) == (None, '{"a": 1}')


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "paused"),
        ("tool_use", "other"),
        ("brand_new", "other"),
    ],
)
def test_every_reason_is_mapped_and_kept(raw: str, reason: str) -> None:
    """Also those that are not known yet. Without a call of ours there is nothing to run."""
    for reply in (whole(stop=raw), streamed(ended(raw))):
        assert (reply.finish_reason, reply.raw_finish_reason) == (reason, raw)


def test_a_refusal_keeps_its_details() -> None:
    """There may be no text at all."""
    details = {"type": "refusal", "category": "cyber"}
    reply = whole(stop="refusal", stop_details=details)
    assert reply.message.content == ()
    assert thaw(reply.extra["stop_details"]) == details


def test_the_last_count_holds() -> None:
    """Counts are repeated, corrected, or null; they are never added."""
    start = {**START["message"], "usage": {**USAGE, "output_tokens": 1}}
    reply = fed(
        events(
            {"type": "message_start", "message": start},
            ended(usage={"input_tokens": 100, "output_tokens": 8, "cache_read_input_tokens": None}),
            ended(usage={"output_tokens": 9, "server_tool_use": None}),
            STOP,
        ),
        answer,
    )[1]
    assert reply.usage == Usage(108, 9, 3, 4)


def test_an_answer_without_usage_is_an_answer() -> None:
    """Gateways leave it out."""
    reply = whole({"type": "text", "text": "Hi"}, stop=None)
    assert (reply.usage, reply.model, reply.raw_finish_reason) == (Usage(), "", "")


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


FAILURES: Failures = [
    (events(START, opened(0, "text", text="a"), OVERLOADED), "overloaded", True),
    (json.dumps(OVERLOADED).encode(), "overloaded", True),
    (events(START, {**OVERLOADED, "error": {"type": "api_error"}}), "server", True),
    (events(START, opened(0, "text", text="a")), "cut_stream", True),
    (events(START, PING), "cut_stream", True),
    (b"", "cut_stream", True),
    (b'{"hello": 1}', "bad_response", False),
    (events({"choices": [{"delta": {"content": "a"}}]}), "bad_response", False),
    (b'{"type": "skill_version", "id": "s"}', "bad_response", False),
    (events(delta(0, "text_delta", text="a")), "cut_stream", True),
    (
        b'{"type": "message", "content": "text", "stop_reason": "end_turn"}',
        "bad_response",
        False,
    ),
]


@pytest.mark.parametrize("end", ["[DONE]", ""])
def test_a_stream_has_ended_with_its_reason(end: str) -> None:
    """Gateways leave out the last event, or add a mark of another API."""
    values = (START, opened(0, "text", text="a"), ended())
    assert fed(events(*values, end=end), answer)[1].message.text == "a"


def strange(value: Any) -> Sequence[bytes]:
    """Streams with `value` at every place where a value of any shape may stand."""
    strangers: Sequence[Any] = (
        {"type": value, "index": value},
        {"type": "message_start", "message": value},
        {"type": "content_block_start", "index": 1, "content_block": value},
        {"type": "content_block_delta", "index": 0, "delta": value},
        {"type": "message_delta", "delta": value, "usage": value},
    )
    return [
        events(START, opened(0, "tool_use", id="c", name="n"), one, ended("tool_use"))
        for one in strangers
    ]


MEMBERS = (
    "caller citation citations content id index input name signature text thinking tool_use type "
    "usage"
)
CODEC = Codec(answer, FAILURES, events(*TALK), MEMBERS, strange)


def test_what_gateways_leave_out_is_made_up_for() -> None:
    """The start of a block, its number, the ids of calls, the reason to stop."""
    text, call = {"text": "a"}, {"partial_json": '{"b": 1}'}
    reply = streamed(
        delta(0, "text_delta", **text),
        {"type": "content_block_start", "content_block": {"type": "tool_use", "name": "add"}},
        {"type": "content_block_delta", "delta": {"type": "input_json_delta", **call}},
    )
    assert reply.message.content == (TextContent("a"), ToolCall("add", {"b": 1}))
    assert (reply.finish_reason, reply.raw_finish_reason) == ("tool_calls", "")


def test_a_piece_without_anything_is_passed_over() -> None:
    """Before the first block, and with nothing in it."""
    reply = streamed({"type": "content_block_delta"}, {"type": "message_delta"}, ended())
    assert reply.message.text in {None, ""}
    assert reply.finish_reason == "stop"
