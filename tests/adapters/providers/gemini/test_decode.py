"""Answers of Gemini, whole and streamed, with everything that it does beside the documentation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from detent.adapters.providers.gemini.decode import GenerateFold
from detent.adapters.providers.gemini.encode import contents
from detent.adapters.providers.http.answers import Answer
from detent.core.chat.messages import FileContent, ImageContent, ReasoningContent, TextContent
from detent.core.chat.replies import ChatReply, Usage
from detent.ports.chat import StreamingChunk, ToolCallDelta
from tests.adapters.providers.http.folds import Codec, Failures, events, fed

Json = dict[str, Any]

ADD = {"functionCall": {"name": "add", "args": {"a": 1}}}


def answer() -> Answer:
    """An answer of which nothing has come."""
    return Answer(GenerateFold(), "example.org", redact=str)


def read(data: bytes, *, size: int | None = None) -> tuple[list[StreamingChunk], ChatReply]:
    """The pieces and the reply of an answer fed in chunks of `size` bytes."""
    return fed(data, answer, size=size)


def value(*parts: Json, finish: str | None = None, **members: object) -> Json:
    """One value of a stream, or a whole answer."""
    candidate: Json = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], **members}


def whole(*parts: Json, finish: str = "STOP", **members: object) -> ChatReply:
    """The reply of an answer in one body."""
    return read(json.dumps(value(*parts, finish=finish, **members)).encode())[1]


def streamed(*parts: Json, finish: str = "STOP") -> ChatReply:
    """The reply of a stream with one part in each value."""
    return read(events(*(value(part) for part in parts), value(finish=finish)))[1]


def given_back(reply: ChatReply) -> list[Json]:
    """The parts of a reply as they are sent in the next request."""
    (content,) = contents([reply.message])
    parts: list[Json] = json.loads(json.dumps(content["parts"]))
    return parts


def test_a_whole_answer_is_read() -> None:
    """Text, reason, usage, model and what stands beside them."""
    usage = {
        "promptTokenCount": 10,
        "toolUsePromptTokenCount": 2,
        "cachedContentTokenCount": 8,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 3,
    }
    reply = whole({"text": "hello"}, modelVersion="m-1", responseId="r1", usageMetadata=usage)
    assert reply.message.text == "hello"
    assert (reply.finish_reason, reply.raw_finish_reason, reply.model) == ("stop", "STOP", "m-1")
    assert reply.usage == Usage(12, 8, 8, 3)
    assert reply.extra == {"responseId": "r1", "usage": usage}


def test_calls_come_with_and_without_ids_and_arguments() -> None:
    """The reason is STOP all the same."""
    named = {"functionCall": {"name": "list", "id": "g1"}}
    for reply in (whole(ADD, named), streamed(ADD, named)):
        made = [(one.tool_name, one.arguments, one.id) for one in reply.message.tool_calls]
        assert made == [("add", {"a": 1}, None), ("list", {}, "g1")]
        assert (reply.finish_reason, reply.raw_finish_reason) == ("tool_calls", "STOP")
        assert given_back(reply) == [
            ADD,
            {"functionCall": {"name": "list", "args": {}, "id": "g1"}},
        ]


SIGNED: list[list[Json]] = [
    [ADD | {"thoughtSignature": "c2ln"}, ADD],
    [{"text": "Hi", "thoughtSignature": "c2ln"}],
    [{"text": "Hi"}, {"text": "", "thoughtSignature": "c2ln"}],
    [{"text": "", "thoughtSignature": "c2ln"}, ADD],
    [{"text": "hm", "thought": True, "thoughtSignature": "c2ln"}, {"text": "Hi"}],
    [{"text": "a", "thoughtSignature": "c2ln"}, {"text": "b", "thoughtSignature": "c2lu"}],
    [{"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thoughtSignature": "c2ln"}],
    [{"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "c2ln"}],
    [{"text": "a"}, {"toolCall": {"id": "x"}}, {"toolResponse": {"id": "x"}}, {"text": "b"}],
]


@pytest.mark.parametrize("parts", SIGNED)
def test_signatures_and_what_only_google_understands_are_given_back_in_place(
    parts: list[Json],
) -> None:
    """Gemini demands them, on whatever part they came."""
    assert given_back(whole(*parts)) == given_back(streamed(*parts)) == parts


def test_pieces_of_text_and_of_thoughts_are_joined() -> None:
    """Empty ones without a signature mean nothing."""
    thought = {"text": "h", "thought": True}
    reply = streamed(thought, thought | {"text": "m"}, {"text": ""}, {"text": "H"}, {"text": "i"})
    assert reply.message.content == (ReasoningContent("hm", {"gemini": {}}), TextContent("Hi"))


def test_the_pieces_show_text_thoughts_and_calls_as_they_come() -> None:
    """Each kind says where it starts; the last piece says why it ended."""
    pieces, _ = read(
        events(
            value({"text": "h", "thought": True}),
            value({"text": "m", "thought": True}, {"text": "Su"}),
            value({"text": "re"}, {"functionCall": {"name": "add", "args": {"a": 1}, "id": "g1"}}),
            value({"text": "", "thoughtSignature": "c2ln"}, finish="STOP"),
        )
    )
    assert pieces == [
        StreamingChunk(reasoning="h", start=True),
        StreamingChunk(reasoning="m"),
        StreamingChunk(content="Su", start=True),
        StreamingChunk(content="re"),
        StreamingChunk(tool_calls=(ToolCallDelta(0, "add", '{"a": 1}', "g1"),)),
        StreamingChunk(finish_reason="tool_calls"),
    ]


def test_calls_may_come_argument_by_argument() -> None:
    """One after the other; the last piece of each is empty."""

    def piece(**members: object) -> Json:
        return {"functionCall": members}

    def partial(path: str, text: str) -> Json:
        return piece(partialArgs=[{"jsonPath": path, "stringValue": text}], willContinue=True)

    pieces, reply = read(
        events(
            value(piece(name="look", willContinue=True) | {"thoughtSignature": "c2ln"}),
            value(partial("$.city", "Bos")),
            value(partial("$.city", "ton")),
            value(piece()),
            value(piece(name="look", willContinue=True)),
            value(partial("$.city", "Paris")),
            value(piece(), finish="STOP"),
        )
    )
    first, second = reply.message.tool_calls
    assert (first.arguments, second.arguments) == ({"city": "Boston"}, {"city": "Paris"})
    assert given_back(reply)[0]["thoughtSignature"] == "c2ln"
    shown = [piece.tool_calls[0] for piece in pieces if piece.tool_calls]
    assert [one.arguments for one in shown if one.arguments] == [
        '{"city": "Boston"}',
        '{"city": "Paris"}',
    ]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("MODEL_ARMOR", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "other"),
        ("UNEXPECTED_TOOL_CALL", "other"),
        ("OTHER", "other"),
        ("SOMETHING_NEW", "other"),
    ],
)
def test_every_reason_is_kept_and_read(raw: str, reason: str) -> None:
    """New ones are none of those that we know."""
    reply = whole({"text": "a"}, finish=raw)
    assert (reply.finish_reason, reply.raw_finish_reason) == (reason, raw)


def test_a_reason_may_come_before_the_end() -> None:
    """What follows it belongs to the answer."""
    reply = read(events(value({"text": "H"}, finish="MAX_TOKENS"), value({"text": "i"})))[1]
    assert (reply.message.text, reply.finish_reason) == ("Hi", "length")


def test_a_call_that_came_is_one_whatever_the_reason() -> None:
    """But for one that says that there was to be more."""
    assert whole(ADD, finish="UNEXPECTED_TOOL_CALL").finish_reason == "tool_calls"
    assert whole(ADD, finish="MAX_TOKENS").finish_reason == "length"


@pytest.mark.parametrize(
    "candidate",
    [
        {"finishReason": "MAX_TOKENS"},
        {"finishReason": "MAX_TOKENS", "content": {"role": "model"}},
        {"finishReason": "MAX_TOKENS", "content": {"role": "model", "parts": [{"text": ""}]}},
    ],
)
def test_an_answer_may_hold_nothing(candidate: Json) -> None:
    """All tokens went into thinking, say. It is not given back: an empty content is refused."""
    reply = read(json.dumps({"candidates": [candidate]}).encode())[1]
    assert (reply.message.text, reply.finish_reason) == (None, "length")
    assert [*contents([reply.message])] == []


@pytest.mark.parametrize("stream", [True, False])
def test_a_blocked_prompt_is_a_filtered_answer(*, stream: bool) -> None:
    """There is no candidate then; what Google says about it is kept."""
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    reply = read(events(blocked) if stream else json.dumps(blocked).encode())[1]
    assert (reply.message.text, reply.finish_reason) == (None, "content_filter")
    assert reply.extra["promptFeedback"] == {"blockReason": "SAFETY"}


def test_the_last_usage_counts() -> None:
    """Each value of a stream has one, and they grow."""
    usages: list[Json] = [
        {"promptTokenCount": 5, "candidatesTokenCount": count} for count in (1, 7)
    ]
    values = [value({"text": "a"}, usageMetadata=usage) for usage in usages]
    reply = read(events(*values, value(finish="STOP")))[1]
    assert reply.usage == Usage(5, 7)


def test_what_stands_beside_the_content_is_kept() -> None:
    """The sources of an answer, and members that nobody knows yet."""
    made = value({"text": "a"}, finish="STOP", new=1)
    made["candidates"][0] |= {"groundingMetadata": {"webSearchQueries": ["x"]}, "avgLogprobs": -1}
    reply = read(json.dumps(made).encode())[1]
    assert reply.extra["groundingMetadata"] == {"webSearchQueries": ["x"]}
    assert reply.extra["new"] == 1


def test_images_and_sounds_of_the_model_are_parts_of_its_message() -> None:
    """As they are in a user's."""
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    sound = {"inlineData": {"mimeType": "audio/wav", "data": "aGk="}}
    message = whole(image, sound).message
    assert message.images == (ImageContent("aGk=", "image/png", meta={"gemini": {}}),)
    assert message.files == (FileContent("aGk=", "audio/wav", extra={"gemini": {}}),)


def test_a_stream_may_be_one_list() -> None:
    """Google sends one where it was not asked for events."""
    values = [value({"text": "H"}), value({"text": "i"}, finish="STOP")]
    assert read(json.dumps(values, indent=2).encode())[1].message.text == "Hi"


ERROR = {"error": {"code": 503, "message": "full", "status": "UNAVAILABLE"}}


FAILURES: Failures = [
    (json.dumps(ERROR).encode(), "overloaded", True),
    (json.dumps([ERROR]).encode(), "overloaded", True),
    (events(value({"text": "a"}), ERROR), "overloaded", True),
    (events(value({"text": "a"})), "cut_stream", True),
    (b"", "cut_stream", True),
    (b"{}", "bad_response", False),
    (b'{"candidates": []}', "bad_response", False),
    (b'{"candidates": [{"content": 4}]}', "bad_response", False),
    (events(value({"text": "a"}))[:-20], "cut_stream", True),
]
TALK = events(
    value({"text": "h—m", "thought": True}),
    value({"text": "Grüße "}, {"text": "an alle"}),
    value(ADD | {"thoughtSignature": "c2ln"}, finish="STOP", usageMetadata={"totalTokenCount": 1}),
)


def strange(value_: Any) -> Sequence[bytes]:
    """Streams with `value_` at every place where a value of any shape may stand."""
    strangers: Sequence[Any] = (
        value_,
        {"candidates": value_, "usageMetadata": value_, "promptFeedback": value_},
        {"candidates": [value_]},
        value({"text": "a"}, {"functionCall": value_}, {"inlineData": value_}, finish="STOP"),
    )
    return [events(value({"text": "a"}), one, value(finish="STOP")) for one in strangers]


MEMBERS = (
    "args candidates content data error finishReason functionCall id index inlineData "
    "jsonPath mimeType name partialArgs parts promptFeedback stringValue text thought "
    "usageMetadata"
)
CODEC = Codec(answer, FAILURES, TALK, MEMBERS, strange)
