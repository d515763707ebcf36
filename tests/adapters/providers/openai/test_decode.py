"""Answers, whole and streamed, with everything that servers do beside the documentation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from detent.adapters.providers.http.answers import Answer
from detent.adapters.providers.openai.decode import ChatFold
from detent.adapters.providers.openai.encode import wire_messages
from detent.core.chat.replies import ChatReply, Usage
from detent.core.values.frozen import thaw
from detent.ports.chat import StreamingChunk, ToolCallDelta
from tests.adapters.providers.http.folds import Codec, Failures, events, failure_of, fed

Json = dict[str, Any]


def answer() -> Answer:
    """An answer of which nothing has come."""
    return Answer(ChatFold(), "example.org", redact=str)


def read(data: bytes, *, size: int | None = None) -> tuple[list[StreamingChunk], ChatReply]:
    """The pieces and the reply of an answer fed in chunks of `size` bytes."""
    return fed(data, answer, size=size)


def whole(message: Json, finish: str | None = "stop", **members: object) -> ChatReply:
    """The reply of an answer in one body."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return read(json.dumps({"choices": [choice], **members}).encode())[1]


def ended(*chunks: Json) -> bytes:
    """A stream of these values, with its end mark."""
    return events(*chunks, end="[DONE]")


def delta(finish: str | None = None, **members: object) -> Json:
    """One value of a stream."""
    return {"choices": [{"index": 0, "delta": members, "finish_reason": finish}]}


def call(arguments: object = "{}", **members: object) -> Json:
    """One tool call, or a piece of one."""
    return {"id": "c1", "function": {"name": "add", "arguments": arguments}, **members}


def streamed(*chunks: Json) -> ChatReply:
    """The reply of a stream."""
    return read(events(*chunks))[1]


def test_a_whole_answer_is_read() -> None:
    """Text, reason, usage, model and what stands beside them."""
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    reply = whole({"content": "hello", "refusal": None}, model="m-1", id="r1", usage=usage)
    assert reply.message.text == "hello"
    assert (reply.finish_reason, reply.raw_finish_reason, reply.model) == ("stop", "stop", "m-1")
    assert reply.usage == Usage(10, 5, 8, 3)
    assert thaw(reply.extra) == {"id": "r1", "usage": usage}


@pytest.mark.parametrize("empty", [{}, {"role": "assistant", "content": ""}, None])
def test_an_empty_delta_beside_the_message_does_not_hide_it(empty: Json | None) -> None:
    """Perplexity's whole answers have both; in its streams the message repeats the deltas."""
    message = {"role": "assistant", "content": "hello"}
    choice = {"index": 0, "delta": empty, "message": message, "finish_reason": "stop"}
    pieces, reply = read(json.dumps({"choices": [choice]}).encode())
    assert reply.message.text == "hello"
    assert pieces[0] == StreamingChunk("hello", start=True)
    said = {**choice, "delta": {"content": "hello"}, "finish_reason": None}
    pieces, reply = read(ended({"choices": [said]}, {"choices": [choice]}))
    assert (reply.message.text, len(pieces)) == ("hello", 2)


def test_the_signature_of_a_message_goes_back_with_it() -> None:
    """Gemini's compatible API has it beside the text; other messages have none."""
    signature = {"google": {"thought_signature": "s"}}
    replies = (
        whole({"content": "a", "extra_content": signature}),
        streamed(delta(content="a"), delta("stop", extra_content=signature)),
    )
    for reply in replies:
        assert [*wire_messages([reply.message])] == [
            {"role": "assistant", "content": "a", "extra_content": signature}
        ]
    assert "extra_content" not in next(wire_messages([whole({"content": "a"}).message]))


def test_content_that_is_a_json_object_is_its_text() -> None:
    """Cloudflare sends it so where JSON was asked for."""
    assert whole({"content": {"total": 4}}).message.text == '{"total": 4}'


@pytest.mark.parametrize("content", [None, ""])
def test_calls_come_beside_empty_content(content: str | None) -> None:
    """The text of such a message is absent."""
    calls = [call('{"a": 1}', id="c1"), call('{"a": 2}', id="c2")]
    message = whole({"content": content, "tool_calls": calls}, "tool_calls").message
    assert message.text is None
    assert [(made.id, made.tool_name, made.arguments) for made in message.tool_calls] == [
        ("c1", "add", {"a": 1}),
        ("c2", "add", {"a": 2}),
    ]


@pytest.mark.parametrize("calls", [None, []])
def test_no_calls_are_no_calls(calls: list[Json] | None) -> None:
    """Servers send null or an empty list."""
    assert whole({"content": "hi", "tool_calls": calls}).message.tool_calls == ()
    assert streamed(delta("stop", content="hi", tool_calls=calls)).message.tool_calls == ()


@pytest.mark.parametrize(
    ("raw", "calls", "reason"),
    [
        ("stop", False, "stop"),
        ("eos", False, "stop"),
        ("length", False, "length"),
        ("length", True, "length"),
        ("model_length", False, "length"),
        ("tool_calls", True, "tool_calls"),
        ("tool_calls", False, "other"),
        ("stop", True, "tool_calls"),
        ("function_call", False, "other"),
        ("content_filter", False, "content_filter"),
        ("content_filter", True, "content_filter"),
        ("insufficient_system_resource", False, "other"),
        (None, False, "other"),
        (None, True, "tool_calls"),
    ],
)
def test_the_reason_is_decided_on_what_came(raw: str | None, reason: str, *, calls: bool) -> None:
    """The raw word is kept."""
    reply = whole({"content": "hi", "tool_calls": [call()] if calls else None}, raw)
    assert (reply.finish_reason, reply.raw_finish_reason) == (reason, raw or "")


def test_a_refusal_is_the_text_and_the_reason() -> None:
    """In both ways of sending it."""
    for reply in (
        whole({"content": None, "refusal": "I will not."}),
        streamed(
            delta(content="", refusal="I will"), delta(refusal=" not."), delta("stop", refusal="")
        ),
    ):
        assert reply.message.text == "I will not."
        assert reply.finish_reason == "refusal"
        assert reply.extra["refusal"] == "I will not."


@pytest.mark.parametrize("arguments", ["", " ", "null", None, "{}", {}])
def test_no_arguments_are_an_empty_object(arguments: object) -> None:
    """However a server writes them."""
    made = whole({"tool_calls": [call(arguments)]}, "tool_calls").message.tool_call
    assert made is not None
    assert (made.arguments, made.unreadable) == ({}, None)


def test_arguments_may_come_as_an_object() -> None:
    """Some servers forget to write them as text."""
    made = whole({"tool_calls": [call({"a": 1})]}, "tool_calls").message.tool_call
    assert made is not None
    assert made.arguments == {"a": 1}


@pytest.mark.parametrize(
    "arguments", ['{"a": ', "[1]", '"x"', "4", "NaN", '{"a": NaN}', "oops", "[" * 100_000]
)
def test_arguments_that_are_no_json_object_are_unreadable(arguments: str) -> None:
    """What the model wrote is kept, so that it can be told; such a call is never run."""
    made = whole({"tool_calls": [call(arguments)]}, "tool_calls").message.tool_call
    assert made is not None
    assert (made.arguments, made.unreadable) == ({}, arguments)


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_where_the_answer_was_cut_the_last_call_is_not_taken_for_one_without_arguments(
    finish: str,
) -> None:
    """The arguments of the one before are whole."""
    calls = [call("", id="c1"), call("", id="c2")]
    first, last = whole({"tool_calls": calls}, finish).message.tool_calls
    assert (first.unreadable, last.unreadable) == (None, "")


def test_a_call_that_was_whole_before_the_cut_is_kept() -> None:
    """Its arguments are a complete object."""
    made = whole({"tool_calls": [call('{"a": 1}')]}, "length").message.tool_call
    assert made is not None
    assert (made.arguments, made.unreadable) == ({"a": 1}, None)


def test_the_text_of_a_custom_call_is_its_only_argument() -> None:
    """It is given back as it came; one that was cut off is not run."""
    custom = {"id": "c1", "type": "custom", "custom": {"name": "exp", "input": "4 + 4"}}
    message = whole({"tool_calls": [custom]}, "tool_calls").message
    assert message.tool_calls[0].arguments == {"input": "4 + 4"}
    assert next(wire_messages([message]))["tool_calls"] == [custom]
    cut = whole({"tool_calls": [custom]}, "length").message
    assert (cut.tool_calls[0].arguments, cut.tool_calls[0].unreadable) == ({}, "4 + 4")
    assert next(wire_messages([cut]))["tool_calls"] == [custom]


@pytest.mark.parametrize("empty", [{}, {"name": "", "input": ""}, None])
def test_an_empty_custom_member_beside_a_function_is_none(empty: Json | None) -> None:
    """Snowflake has both in every call of a function."""
    made = whole({"tool_calls": [call('{"a": 1}', type="function", custom=empty)]}).message
    assert made.tool_calls[0].arguments == {"a": 1}


PARALLEL = [
    pytest.param(
        [
            call("", index=0, id="c1"),
            call('{"a"', index=0, id=None),
            call("", index=1, id="c2"),
            {"index": 1, "function": {"arguments": '{"b": 2}'}},
            {"index": 0, "function": {"arguments": ": 1}"}},
        ],
        id="by index",
    ),
    pytest.param(
        [call('{"a": 1}', index=0, id="c1"), call('{"b": 2}', index=0, id="c2")],
        id="one index for all",
    ),
    pytest.param([call('{"a": 1}', id="c1"), call('{"b": 2}', id="c2")], id="no index"),
    pytest.param(
        [
            call('{"a": ', id="c1"),
            {"function": {"arguments": "1}"}},
            call('{"b": ', id="c2"),
            {"id": "c2", "function": {"name": "add", "arguments": "2}"}},
        ],
        id="no index, in pieces",
    ),
    pytest.param(
        [
            call(None, index=0, id="c1"),
            call('{"a": ', index=0, id="c1"),
            {"index": 0, "id": "", "function": {"name": None, "arguments": "1}"}},
            call("", index=1, id="c2"),
            call('{"b": 2}', index=1, id="c2"),
        ],
        id="id and name repeated, empty or null",
    ),
]


@pytest.mark.parametrize("pieces", PARALLEL)
def test_pieces_of_calls_find_their_call(pieces: list[Json]) -> None:
    """By index, and where servers leave it out by id and name."""
    reply = streamed(*(delta(tool_calls=[piece]) for piece in pieces), delta("tool_calls"))
    made = [(one.id, one.tool_name, one.arguments) for one in reply.message.tool_calls]
    assert made == [("c1", "add", {"a": 1}), ("c2", "add", {"b": 2})]


def test_calls_without_ids_are_told_apart_by_their_names() -> None:
    """Their ids are left to the run."""
    pieces = [{"function": {"name": name, "arguments": "{}"}} for name in ("add", "add")]
    for reply in (
        whole({"tool_calls": pieces}, "tool_calls"),
        streamed(*(delta(tool_calls=[piece]) for piece in pieces), delta("tool_calls")),
    ):
        assert [one.id for one in reply.message.tool_calls] == [None, None]


def test_a_thought_signature_beside_a_call_is_kept_and_given_back() -> None:
    """Gemini's OpenAI endpoint demands it."""
    signed = call(extra_content={"google": {"thought_signature": "s"}}, index=0)
    message = streamed(delta(tool_calls=[signed]), delta("tool_calls")).message
    (wire,) = wire_messages([message])
    assert json.loads(json.dumps(wire))["tool_calls"][0]["extra_content"] == signed["extra_content"]


def test_the_pieces_show_text_thoughts_and_calls_as_they_come() -> None:
    """Each kind says where it starts; the last piece says why it ended."""
    pieces, _ = read(
        ended(
            delta(role="assistant", content=None),
            delta(reasoning_content="h"),
            delta(reasoning_content="m"),
            delta(content="Su"),
            delta(content="re"),
            delta(tool_calls=[call("", index=0)]),
            delta(tool_calls=[{"index": 0, "function": {"arguments": "{}"}}]),
            delta("tool_calls"),
            {"choices": [], "usage": {"prompt_tokens": 1}},
        )
    )
    assert pieces == [
        StreamingChunk(reasoning="h", start=True),
        StreamingChunk(reasoning="m"),
        StreamingChunk(content="Su", start=True),
        StreamingChunk(content="re"),
        StreamingChunk(tool_calls=(ToolCallDelta(0, "add", "", "c1"),)),
        StreamingChunk(tool_calls=(ToolCallDelta(0, None, "{}"),)),
        StreamingChunk(finish_reason="tool_calls"),
    ]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_is_kept_and_given_back_in_the_member_in_which_it_came(field: str) -> None:
    """Servers demand it back, each under its own name."""
    for reply in (
        whole({"content": "Hi", field: "hmm"}),
        streamed(delta(**{field: "h"}), delta(**{field: "mm"}), delta("stop", content="Hi")),
    ):
        assert reply.message.reasoning is not None
        assert reply.message.reasoning.reasoning_text == "hmm"
        (wire,) = wire_messages([reply.message])
        assert wire == {"role": "assistant", "content": "Hi", field: "hmm"}


def test_reasoning_in_the_content_is_taken_out_of_the_text() -> None:
    """Mistral sends content as a list of parts, also in pieces."""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    text = {"type": "text", "text": "Hi"}
    for reply in (
        whole({"content": [thinking, text, {"type": "reference", "reference_ids": [1]}]}),
        streamed(delta(content=[thinking]), delta(content=[text]), delta("stop", content="")),
    ):
        assert reply.message.text == "Hi"
        (wire,) = wire_messages([reply.message])
        assert wire["content"] == [thinking, text]


def test_think_tags_in_the_text_stay_there() -> None:
    """They are what the model said; where they end is a guess."""
    assert whole({"content": "<think>hm</think>Hi"}).message.text == "<think>hm</think>Hi"


def test_fragments_of_reasoning_details_are_joined() -> None:
    """By type and index; signatures and encrypted data stay whole, as they must be given back."""

    def detail(kind: str, index: int | None = 0, **members: object) -> Json:
        return {"type": f"reasoning.{kind}", "index": index, **members}

    reply = streamed(
        delta(reasoning_details=[detail("text", text="a", signature=None)]),
        delta(reasoning_details=[detail("summary", summary="s")]),
        delta(reasoning_details=[detail("text", text="b")]),
        delta(reasoning_details=[detail("text", text=None, signature="sig")]),
        delta(reasoning_details=[detail("text", 1, text="c"), detail("encrypted", 1, data="x")]),
        delta(reasoning_details=[detail("encrypted", 1, data="y")]),
        delta("stop", content="Hi"),
    )
    assert reply.message.reasoning is not None
    assert thaw(reply.message.reasoning.extra) == {
        "reasoning_details": [
            detail("text", text="ab", signature="sig"),
            detail("summary", summary="s"),
            detail("text", 1, text="c"),
            detail("encrypted", 1, data="x"),
            detail("encrypted", 1, data="y"),
        ]
    }


def test_details_that_come_whole_are_left_as_they_are() -> None:
    """Two thoughts without an index are still two."""
    details = [{"type": "reasoning.text", "text": text} for text in ("a", "b")]
    reply = whole({"content": "Hi", "reasoning_details": details})
    (wire,) = wire_messages([reply.message])
    assert thaw(wire["reasoning_details"]) == details


def test_only_the_first_of_several_choices_is_followed() -> None:
    """Their pieces may come in any order."""

    def choice(index: int, text: str, finish: str | None = None) -> Json:
        return {"index": index, "delta": {"content": text}, "finish_reason": finish}

    reply = streamed(
        {"choices": [choice(1, "x", "length")]},
        {"choices": [choice(1, "y"), choice(0, "a")]},
        {"choices": [choice(0, "b", "stop")]},
        {"choices": [choice(1, "z", "length")]},
    )
    assert (reply.message.text, reply.raw_finish_reason) == ("ab", "stop")


def test_pieces_win_over_the_text_so_far_beside_them() -> None:
    """Perplexity sends both in every value."""
    chunks = [delta(content="1"), delta(content=" 2"), delta("stop", content="")]
    for chunk, text in zip(chunks, ("1", "1 2", "1 2"), strict=True):
        chunk["choices"][0]["message"] = {"content": text}
    assert streamed(*chunks).message.text == "1 2"


USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


@pytest.mark.parametrize(
    "chunks",
    [
        [delta("stop", content="a"), {"choices": [], "usage": USAGE}],
        [{**delta("stop", content="a"), "usage": USAGE}],
        [delta("stop", content="a"), {**delta("stop"), "usage": USAGE}],
        [{**delta(content="a"), "usage": {"prompt_tokens": 1}}, {**delta("stop"), "usage": USAGE}],
        [{**delta("stop", content="a"), "usage": USAGE}, {"choices": [], "usage": None}],
        [{**delta("stop", content="a"), "x_groq": {"id": "r", "usage": USAGE}}],
        [{"choices": [{"delta": {}, "finish_reason": "stop", "usage": USAGE}]}],
    ],
    ids=["empty choices", "last", "twice", "cumulative", "null after", "x_groq", "in the choice"],
)
def test_usage_is_found_wherever_it_stands(chunks: list[Json]) -> None:
    """The last word counts; nothing is added up."""
    assert streamed(*chunks).usage == Usage(3, 2)


def test_a_stream_may_have_no_usage() -> None:
    """Servers send it only when asked, some never."""
    assert streamed(delta("stop", content="a")).usage == Usage()


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, Usage(10, 5)),
        ({"prompt_tokens": 10, "completion_tokens": None}, Usage(10, 0)),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 40,
                "completion_tokens_details": {"reasoning_tokens": 25},
            },
            Usage(10, 30, 0, 25),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 15,
                "completion_tokens_details": {"reasoning_tokens": 25},
            },
            Usage(10, 5, 0, 5),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 4},
            Usage(10, 5, 4),
        ),
        ({"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 4}, Usage(10, 5, 4)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "reasoning_tokens": 4}, Usage(10, 5, 0, 4)),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": None},
            Usage(10, 5),
        ),
    ],
)
def test_usage_has_one_shape_for_all(usage: Json, expected: Usage) -> None:
    """Reasoning is part of the output, also for servers that leave it out, and never more."""
    reply = whole({"content": "a"}, usage=usage)
    assert reply.usage == expected
    assert thaw(reply.extra["usage"]) == usage


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-1"])
def test_a_count_that_is_no_number_of_tokens_does_not_cost_the_answer(number: str) -> None:
    """Proxies divide by zero; the counts beside it hold."""
    usage = f'{{"prompt_tokens": 3, "completion_tokens": {number}}}'
    choice = '{"message": {"content": "a"}, "finish_reason": "stop"}'
    reply = read(f'{{"choices": [{choice}], "usage": {usage}}}'.encode())[1]
    assert (reply.message.text, reply.usage) == ("a", Usage(3, 0))


def test_what_servers_add_does_no_harm() -> None:
    """Azure's filter results, padding, null members and unknown ones."""
    reply = streamed(
        {"choices": [], "prompt_filter_results": [1], "model": "", "id": "", "error": None},
        {**delta(content="a", annotations=[], audio=None), "obfuscation": "xx", "model": "m"},
        {"choices": [{"delta": None}]},
        {"choices": None},
        {"choices": [{"content_filter_results": {}, "delta": {}, "finish_reason": "stop"}]},
    )
    assert (reply.message.text, reply.model) == ("a", "m")
    assert thaw(reply.extra) == {"prompt_filter_results": [1]}


DEEP = b"[" * 600 + b"]" * 600 + b"}"
ERROR = {"error": {"message": "broke", "type": "server_error", "code": None}}


FAILURES: Failures = [
    (json.dumps(ERROR).encode(), "server", True),
    (json.dumps([ERROR]).encode(), "server", True),
    (ended(delta(content="a"), ERROR), "server", True),
    (ended(delta("stop", content="a"), {**delta(), **ERROR}), "server", True),
    (ended(delta("error", content="a")), "server", True),
    (b'event: error\ndata: {"error": {"code": "tool_use_failed"}}\n\n', "bad_response", True),
    (b'{"object": "error", "message": "no", "code": 400}', "bad_request", False),
    (b'{"error": {"code": "content_filter", "message": "no"}}', "content_filter", False),
    (b'{"choices": []}', "bad_response", False),
    (b'{"hello": 1}', "bad_response", False),
    (ended({"choices": [], "usage": USAGE}), "bad_response", False),
    (ended(delta(content="a"))[:-14], "cut_stream", True),
    (events({"type": "message_start", "message": {}}), "bad_response", False),
    (b'error: {"code": 500, "message": "no slot", "type": "server_error"}\n\n', "server", True),
    (
        events(delta(content="a")) + b'error: {"error": {"code": "context_length_exceeded"}}\n',
        "context_length",
        False,
    ),
    (events(delta(content="a")) + b"error: no memory\n\n", "server", True),
    (b'{"choices": "oops"}', "bad_response", False),
    (json.dumps(delta("stop") | {"x": 1}).encode()[:-2] + DEEP, "bad_response", False),
    (b'{"choices": [{"message": {"content": 5}}]}', "bad_response", False),
]


@pytest.mark.parametrize("end", [b"", b"data: [DONE]"])
def test_a_stream_has_ended_with_its_reason_or_with_its_mark(end: bytes) -> None:
    """Servers leave out the one or the other, and the last blank line."""
    last = delta(None if end else "stop", content="a")
    _, reply = read(b"data: " + json.dumps(last).encode() + b"\n\n" + end)
    assert reply.message.text == "a"


TALK = ended(
    delta(role="assistant", reasoning="h—m"),
    delta(content="Grüße "),
    delta(content="an alle"),
    delta(tool_calls=[call('{"a"', index=0)]),
    delta(tool_calls=[{"index": 0, "function": {"arguments": ': "ü"}'}}]),
    delta("tool_calls"),
    {"choices": [], "usage": USAGE},
)


def strange(value: Any) -> Sequence[bytes]:
    """Streams with `value` at every place where a value of any shape may stand."""
    strangers: Sequence[Any] = (
        value,
        {"choices": value, "usage": value, "x_groq": value},
        {"choices": [value]},
        delta(value, tool_calls=value, content=value, reasoning_details=value),
        delta(tool_calls=[value, {"index": 0, "function": value}]),
    )
    return [events(delta(content="a"), one, delta("stop")) for one in strangers]


MEMBERS = (
    "arguments choices content delta error finish_reason function id index message name "
    "reasoning reasoning_details tool_calls type usage"
)
CODEC = Codec(answer, FAILURES, TALK, MEMBERS, strange)


def test_a_reason_after_each_call_is_not_the_end() -> None:
    """Together gives one; a stream that breaks in the second call is cut."""
    first = delta("tool_calls", tool_calls=[call(index=0)])
    second = delta(tool_calls=[call('{"a":', id="c2", index=1)])
    data = "".join(f"data: {json.dumps(value)}\n\n" for value in (first, second)).encode()
    assert failure_of(data, answer).cause == "cut_stream"


@pytest.mark.parametrize(
    ("part", "text", "thought"),
    [
        ({"type": "thinking", "thinking": "hm"}, None, "hm"),
        ({"type": "thinking"}, None, ""),
        ({"type": "text"}, None, None),
        ({"type": "text", "text": "a"}, "a", None),
        ({"type": "reference", "reference_ids": [1]}, None, None),
    ],
    ids=["text of a thought", "no thought", "no text", "text", "unknown"],
)
def test_parts_of_a_content_may_lack_what_they_are_for(
    part: Json, text: str | None, thought: str | None
) -> None:
    """And a thought may be a list, or a text."""
    message = whole({"content": [part]}).message
    assert message.text == text
    assert [one.reasoning_text for one in message.reasonings] == (
        [] if thought is None else [thought]
    )
