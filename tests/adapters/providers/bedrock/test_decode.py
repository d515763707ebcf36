"""Answers of Converse and ConverseStream, with everything that may stand in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from detent.adapters.providers.bedrock.decode import ConverseFold
from detent.adapters.providers.bedrock.encode import wire_messages
from detent.adapters.providers.bedrock.payloads import ConversePayloads
from detent.adapters.providers.http.answers import Answer
from detent.adapters.providers.meaning.parts import Said, parts_of
from detent.core.chat.messages import ReasoningContent, TextContent, ToolCall
from detent.core.chat.replies import ChatReply, Usage
from detent.core.values.frozen import thaw
from detent.ports.chat import StreamingChunk, ToolCallDelta
from tests.adapters.providers.bedrock.messages import message, stream
from tests.adapters.providers.http.folds import Codec, Failures, fed

Json = dict[str, Any]


def answer() -> Answer:
    """An answer that is to come."""
    return Answer(ConverseFold("m"), "example.org", redact=str, payloads=ConversePayloads())


def body(*content: Json, stop: str = "end_turn", **members: object) -> bytes:
    """An answer in one body."""
    output = {"message": {"role": "assistant", "content": content}}
    return json.dumps({"output": output, "stopReason": stop, **members}).encode()


def whole(*content: Json, stop: str = "end_turn", **members: object) -> ChatReply:
    """The reply of an answer in one body."""
    return fed(body(*content, stop=stop, **members), answer)[1]


def opened(index: int, **start: object) -> Json:
    """The start of a block."""
    return {"contentBlockStart": {"contentBlockIndex": index, "start": start, "p": "abc"}}


def delta(index: int, **piece: object) -> Json:
    """A piece of a block."""
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": piece, "p": "abcd"}}


def stopped(reason: str = "end_turn") -> Json:
    """The end of a message."""
    return {"messageStop": {"stopReason": reason, "p": "ab"}}


def streamed(*values: Json) -> ChatReply:
    """The reply of a stream."""
    return fed(stream({"messageStart": {"role": "assistant"}}, *values), answer)[1]


def replayed_parts(reply: ChatReply) -> list[object]:
    """The parts that may go back to the provider."""
    return [*parts_of("bedrock", reply.message)]


def replayed(reply: ChatReply) -> list[Json]:
    """The blocks that go back to the provider."""
    blocks: list[Json] = json.loads(json.dumps(wire_messages([reply.message])))[0]["content"]
    return blocks


USAGE = {
    "inputTokens": 10,
    "outputTokens": 7,
    "totalTokens": 25,
    "cacheReadInputTokens": 3,
    "cacheReadInputTokenCount": 3,
    "cacheWriteInputTokens": 5,
    "cacheWriteInputTokenCount": 5,
}
METADATA = {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 5}, "p": "abc"}}


def test_a_whole_answer_is_read() -> None:
    """Text, reason, usage, and what stands beside them."""
    reply = whole({"text": "hello"}, usage=USAGE, metrics={"latencyMs": 5})
    assert reply.message.text == "hello"
    assert reply.message.meta == {}
    assert (reply.finish_reason, reply.raw_finish_reason) == ("stop", "end_turn")
    assert reply.model == "m"
    assert reply.usage == Usage(18, 7, 3)
    assert thaw(reply.extra) == {"usage": USAGE, "metrics": {"latencyMs": 5}}


CALL = {"toolUseId": "c1", "name": "add"}
TALK = (
    {"messageStart": {"role": "assistant"}},
    delta(0, reasoningContent={"text": "h—"}),
    delta(0, reasoningContent={"text": "m"}),
    delta(0, reasoningContent={"signature": "c2ln"}),
    {"contentBlockStop": {"contentBlockIndex": 0}},
    delta(1, text="Su"),
    delta(1, text="re"),
    opened(2, toolUse=CALL),
    delta(2, toolUse={"input": ""}),
    delta(2, toolUse={"input": '{"a"'}),
    delta(2, toolUse={"input": ': "ü"}'}),
    opened(3, toolUse={"toolUseId": "c2", "name": "now"}),
    stopped("tool_use"),
    METADATA,
)


def test_a_stream_shows_its_pieces_and_then_gives_the_reply() -> None:
    """Texts have no start of their own, and the counts come after the end."""
    pieces, reply = fed(stream(*TALK), answer)
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
        ReasoningContent("h—m", {"bedrock": {"signature": "c2ln"}}),
        TextContent("Sure"),
        ToolCall("add", {"a": "ü"}, "c1"),
        ToolCall("now", {}, "c2"),
    )
    assert reply.usage == Usage(18, 7, 3)
    assert thaw(reply.extra) == {"usage": USAGE, "metrics": {"latencyMs": 5}}


def test_a_whole_answer_is_shown_as_a_stream_is() -> None:
    """A callback may be there for a server that does not stream."""
    pieces, _ = fed(
        body(
            {"reasoningContent": {"reasoningText": {"text": "hm"}}},
            {"text": "Sure"},
            {"citationsContent": {"content": [{"text": " so"}], "citations": []}},
            {"toolUse": {**CALL, "input": {"a": 1}}},
            stop="tool_use",
        ),
        answer,
    )
    assert pieces == [
        StreamingChunk(reasoning="hm", start=True),
        StreamingChunk(content="Sure", start=True),
        StreamingChunk(content=" so", start=True),
        StreamingChunk(tool_calls=(ToolCallDelta(0, "add", '{"a": 1}', "c1"),)),
        StreamingChunk(finish_reason="tool_calls"),
    ]


SERVER_CALL = {"toolUseId": "s1", "name": "nova_grounding", "type": "server_tool_use"}
FOUND = {"toolUseId": "s1", "status": "success", "type": "nova_grounding_result"}


def test_what_the_model_said_goes_back_as_it_came() -> None:
    """Signatures byte by byte, texts with citations, and the order of all blocks."""
    blocks: list[Json] = [
        {"reasoningContent": {"redactedContent": "RW1vajE="}},
        {"reasoningContent": {"reasoningText": {"text": "", "signature": "c2lnbg=="}}},
        {"toolUse": {**SERVER_CALL, "input": {"query": "q"}}},
        {"toolResult": {**FOUND, "content": [{"json": {"a": 1}}]}},
        {"citationsContent": {"content": [{"text": "So "}], "citations": [{"title": "t"}]}},
        {"text": "it is."},
        {"brandNew": {"a": [1]}},
        {"toolUse": {**CALL, "input": {"a": 1}, "brandNew": 1}},
    ]
    reply = whole(*blocks, stop="tool_use")
    assert replayed(reply) == blocks
    assert reply.message.text == "So it is."
    assert [thought.reasoning_text for thought in reply.message.reasonings] == ["", ""]
    assert [call.tool_name for call in reply.message.tool_calls] == ["add"]


def test_a_stream_goes_back_as_a_whole_answer_does() -> None:
    """Also what tools of the provider were asked and gave."""
    reply = streamed(
        delta(0, reasoningContent={"redactedContent": "RW1vajE="}),
        delta(1, reasoningContent={"signature": "c2lnbg=="}),
        opened(2, toolUse=SERVER_CALL),
        delta(2, toolUse={"input": '{"query": "q"}'}),
        opened(3, toolResult=FOUND),
        delta(3, toolResult=[{"json": {"a": 1}}]),
        delta(3, toolResult=[{"text": "b"}]),
        delta(4, citation={"title": "t"}),
        delta(4, text="So."),
        delta(4, brandNew=1),
        opened(5, brandNew={"a": 1}),
        stopped(),
    )
    assert replayed(reply) == [
        {"reasoningContent": {"redactedContent": "RW1vajE="}},
        {"reasoningContent": {"reasoningText": {"text": "", "signature": "c2lnbg=="}}},
        {"toolUse": {**SERVER_CALL, "input": {"query": "q"}}},
        {"toolResult": {**FOUND, "content": [{"json": {"a": 1}}, {"text": "b"}]}},
        {"citationsContent": {"content": [{"text": "So."}], "citations": [{"title": "t"}]}},
        {"brandNew": {"a": 1}},
    ]
    assert reply.message.tool_calls == ()


def test_a_thought_that_is_not_signed_is_shown_but_not_sent_back() -> None:
    """Models that do not sign do not want it."""
    block = {"reasoningContent": {"reasoningText": {"text": "hm"}}}
    for reply in (
        whole(block, {"text": "Hi"}),
        streamed(delta(0, reasoningContent={"text": "hm"}), delta(1, text="Hi"), stopped()),
    ):
        assert reply.message.reasonings[0].reasoning_text == "hm"
        assert replayed(reply) == [{"text": "Hi"}]


def test_a_stream_may_have_empty_blocks_and_none() -> None:
    """A text of no pieces, citations of no text, and nothing at all."""
    cited = streamed(delta(0, citation={"title": "t"}), stopped())
    assert replayed_parts(cited) == [Said("", {"citations": [{"title": "t"}]})]
    assert streamed(delta(0, text=""), stopped()).message.text == ""
    assert streamed(stopped()).message.content == ()
    assert whole({"text": ""}).message.text == ""


@pytest.mark.parametrize(
    ("written", "stop", "arguments", "unreadable"),
    [
        ("", "tool_use", {}, None),
        ("", "max_tokens", {}, ""),
        ('{"a": 1}', "max_tokens", {"a": 1}, None),
        ('{"a": ', "max_tokens", {}, '{"a": '),
        ('{"a": ', "guardrail_intervened", {}, '{"a": '),
        ("[1]", "tool_use", {}, "[1]"),
    ],
)
def test_a_call_that_was_cut_off_is_not_taken_for_whole(
    written: str, stop: str, arguments: Json, unreadable: str | None
) -> None:
    """It is never run, and the model is told what it wrote."""
    reply = streamed(opened(0, toolUse=CALL), delta(0, toolUse={"input": written}), stopped(stop))
    (call,) = reply.message.tool_calls
    assert (call.arguments, call.unreadable) == (arguments, unreadable)


def test_of_a_whole_answer_the_last_call_before_the_cut_is_not_trusted() -> None:
    """The provider has closed the braces; what was to come in them, nobody knows."""
    call = {"toolUse": {**CALL, "input": {"a": 1}}}
    first, last = whole(call, call, stop="max_tokens").message.tool_calls
    assert (first.unreadable, last.unreadable) == (None, '{"a": 1}')


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("content_filtered", "content_filter"),
        ("guardrail_intervened", "content_filter"),
        ("tool_use", "other"),
        ("malformed_tool_use", "other"),
    ],
)
def test_every_reason_is_mapped_and_kept(raw: str, reason: str) -> None:
    """Also those that are not known yet. Without a call of ours there is nothing to run."""
    for reply in (whole({"text": "a"}, stop=raw), streamed(delta(0, text="a"), stopped(raw))):
        assert (reply.finish_reason, reply.raw_finish_reason) == (reason, raw)


def test_an_answer_without_usage_is_an_answer() -> None:
    """It happens."""
    assert whole({"text": "a"}).usage == Usage()


def exception(name: str) -> bytes:
    """An exception in a stream."""
    headers = {":message-type": "exception", ":exception-type": name}
    return message(headers, {"message": "Retry your request."})


FAILURES: Failures = [
    (stream(delta(0, text="a")) + exception("throttlingException"), "rate_limit", True),
    (stream(delta(0, text="a")) + exception("modelStreamErrorException"), "server", True),
    (exception("internalServerException"), "server", True),
    (exception("modelErrorException"), "server", True),
    (exception("modelNotReadyException"), "rate_limit", True),
    (exception("resourceNotFoundException"), "not_found", False),
    (exception("serviceUnavailableException"), "overloaded", True),
    (exception("modelTimeoutException"), "timeout", True),
    (exception("validationException"), "bad_request", False),
    (exception("accessDeniedException"), "authentication", False),
    (exception("brandNewException"), "server", True),
    (stream(delta(0, text="a")), "cut_stream", True),
    (stream(delta(0, text="a"), stopped())[:-1], "cut_stream", True),
    (b"", "cut_stream", True),
    (b'{"hello": 1}', "bad_response", False),
    (b"<html></html>", "bad_response", False),
    (b"\x00\x00\x00\x10" + b"\x00" * 20, "bad_response", False),
    (message({":event-type": "metadata"}, None, payload=b"oops"), "bad_response", False),
]


def strange(value: Any) -> Sequence[bytes]:
    """Streams with `value` at every place where a value of any shape may stand."""
    strangers: Sequence[Any] = (
        {"contentBlockStart": {"contentBlockIndex": 1, "start": value}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": value}},
        {"contentBlockDelta": {"contentBlockIndex": value, "delta": {"text": "a"}}},
        {"messageStop": value},
        {"metadata": {"usage": value}},
        {"output": {"message": {"content": value}}},
    )
    return [stream(opened(0, toolUse=CALL), one, stopped("tool_use")) for one in strangers]


MEMBERS = "citation content input name reasoningContent reasoningText text toolResult toolUse type"
CODEC = Codec(answer, FAILURES, stream(*TALK), MEMBERS, strange)
