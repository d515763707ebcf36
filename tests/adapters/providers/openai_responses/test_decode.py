"""Answers of the Responses API, whole and streamed, with everything that may stand in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from detent.adapters.providers.http.answers import Answer
from detent.adapters.providers.meaning.parts import Said, parts_of
from detent.adapters.providers.openai_responses.decode import ResponseFold
from detent.adapters.providers.openai_responses.encode import under_way, wire_items
from detent.core.chat.messages import ChatMessage, ReasoningContent, TextContent, ToolCall
from detent.core.chat.replies import ChatReply, Usage
from detent.core.values.frozen import thaw
from detent.ports.chat import StreamingChunk, ToolCallDelta
from tests.adapters.providers.http.folds import Codec, Failures, events, fed

Json = dict[str, Any]


def answer() -> Answer:
    """An answer that is to come."""
    return Answer(ResponseFold(), "example.org", redact=str)


def response(*output: Json, status: str = "completed", **members: object) -> Json:
    """A whole response."""
    return {"object": "response", "status": status, "output": output, "error": None, **members}


def whole(*output: Json, status: str = "completed", **members: object) -> ChatReply:
    """The reply of a response in one body."""
    return fed(json.dumps(response(*output, status=status, **members)).encode(), answer)[1]


def event(kind: str, **members: object) -> Json:
    """One event."""
    return {"type": f"response.{kind}", "sequence_number": 1, **members}


def added(index: int, item: Json) -> Json:
    """The beginning of an item."""
    return event("output_item.added", output_index=index, item=item)


def done(index: int, item: Json) -> Json:
    """The end of an item."""
    return event("output_item.done", output_index=index, item=item)


def delta(kind: str, index: int, text: str, content: int = 0) -> Json:
    """A piece of an item."""
    return event(
        f"{kind}.delta", output_index=index, content_index=content, delta=text, obfuscation="xx"
    )


BEGUN = event("created", response=response(status="in_progress"))


def streamed(*values: Json) -> ChatReply:
    """The reply of a stream."""
    return fed(events(BEGUN, *values), answer)[1]


def replayed(reply: ChatReply) -> list[Json]:
    """The items that go back to the provider."""
    items: list[Json] = json.loads(json.dumps([*wire_items([reply.message])]))
    return items


def message(*texts: str, name: str = "msg_1", **members: object) -> Json:
    """A message."""
    parts = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "id": name, "role": "assistant", "content": parts, **members}


def call(arguments: str = "{}", name: str = "c1", **members: object) -> Json:
    """A call."""
    own = {"type": "function_call", "id": f"fc_{name}", "status": "completed", **members}
    return {**own, "call_id": name, "name": "add", "arguments": arguments}


def thought(*summary: str, **members: object) -> Json:
    """A thought."""
    texts = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": "rs_1", "summary": texts, **members}


USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 8},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 4},
    "total_tokens": 17,
}


def test_a_whole_response_is_read() -> None:
    """Text, reason, usage, model and what stands beside them, not what was in the request."""
    reply = whole(
        message("hello"),
        model="m-1",
        id="resp_1",
        store=False,
        usage=USAGE,
        instructions="Be kind",
        text={"format": {"type": "text"}},
        tools=[{"type": "web_search"}],
    )
    assert reply.message.text == "hello"
    assert (reply.finish_reason, reply.raw_finish_reason) == ("stop", "completed")
    assert reply.model == "m-1"
    assert reply.usage == Usage(10, 7, 8, 4)
    assert thaw(reply.extra) == {"id": "resp_1", "usage": USAGE}


TALK = (
    BEGUN,
    {"type": "keepalive"},
    added(0, thought()),
    delta("reasoning_summary_text", 0, "h—"),
    delta("reasoning_summary_text", 0, "m"),
    done(0, thought("h—m", encrypted_content="gAAA==")),
    added(1, message()),
    delta("output_text", 1, "Su"),
    delta("output_text", 1, "re"),
    delta("output_text", 1, "!", 1),
    done(1, message("Sure", "!")),
    added(2, call("")),
    delta("function_call_arguments", 2, '{"a"'),
    delta("function_call_arguments", 2, ': "ü"}'),
    done(2, call('{"a": "ü"}')),
    added(3, call("", "c2")),
    done(3, call("{}", "c2")),
    event("completed", response=response(usage=USAGE, model="m-1")),
)


def test_a_stream_shows_its_pieces_and_then_gives_the_reply() -> None:
    """The last event may leave out what was streamed."""
    pieces, reply = fed(events(*TALK), answer)
    assert pieces == [
        StreamingChunk(reasoning="h—", start=True),
        StreamingChunk(reasoning="m"),
        StreamingChunk(content="Su", start=True),
        StreamingChunk(content="re"),
        StreamingChunk(content="!", start=True),
        StreamingChunk(tool_calls=(ToolCallDelta(0, "add", "", "c1"),)),
        StreamingChunk(tool_calls=(ToolCallDelta(0, None, '{"a"'),)),
        StreamingChunk(tool_calls=(ToolCallDelta(0, None, ': "ü"}'),)),
        StreamingChunk(tool_calls=(ToolCallDelta(1, "add", "", "c2"),)),
        StreamingChunk(tool_calls=(ToolCallDelta(1, None, "{}"),)),
        StreamingChunk(finish_reason="tool_calls"),
    ]
    own = {"type": "function_call", "id": "fc_c1", "status": "completed"}
    assert reply.message.content == (
        ReasoningContent("h—m", {"openai_responses": thought("h—m", encrypted_content="gAAA==")}),
        TextContent("Sure"),
        TextContent("!"),
        ToolCall("add", {"a": "ü"}, "c1", {"openai_responses": own}),
        ToolCall("add", {}, "c2", {"openai_responses": {**own, "id": "fc_c2"}}),
    )
    item = {"type": "message", "id": "msg_1", "role": "assistant"}
    part = {"type": "output_text", "annotations": []}
    assert [*parts_of("openai_responses", reply.message)][1:3] == [
        Said("Sure", {"item": item, "part": part}),
        Said("!", {"item": item, "part": part}),
    ]
    assert (reply.usage, reply.model) == (Usage(10, 7, 8, 4), "m-1")


def test_what_comes_whole_is_shown_as_a_stream_is() -> None:
    """A whole response, items without pieces, and a stream of its last event alone."""
    items = [thought("h", "m"), message("Su", "re"), call('{"a": 1}')]
    expected = [
        StreamingChunk(reasoning="h", start=True),
        StreamingChunk(reasoning="m", start=True),
        StreamingChunk(content="Su", start=True),
        StreamingChunk(content="re", start=True),
        StreamingChunk(tool_calls=(ToolCallDelta(0, "add", "", "c1"),)),
        StreamingChunk(tool_calls=(ToolCallDelta(0, None, '{"a": 1}'),)),
        StreamingChunk(finish_reason="tool_calls"),
    ]
    last = event("completed", response=response(*items))
    assert fed(json.dumps(response(*items)).encode(), answer)[0] == expected
    assert (
        fed(events(*(done(at, one) for at, one in enumerate(items)), last), answer)[0] == expected
    )
    assert fed(events(last), answer)[0] == expected


def test_what_the_model_said_goes_back_as_it_came() -> None:
    """Ids, phases, encrypted thoughts, unknown items, and the order of all."""
    items = [
        thought(encrypted_content="gAAA==", content=[]),
        {"type": "web_search_call", "id": "ws_1", "action": {"query": "q"}},
        {"type": "mcp_list_tools", "tools": [{"name": "n", "input": None}]},
        message("So ", "it is.", phase="commentary", status="completed"),
        message("Yes.", name="msg_2", phase="final_answer"),
        {"type": "compaction", "encrypted_content": "gBBB=="},
        call('{"a":1}', namespace="math", caller={"type": "program", "caller_id": "p"}),
    ]
    reply = whole(*items)
    assert replayed(reply) == items
    assert reply.message.text == "So it is.Yes."
    assert replayed(streamed(*(done(at, one) for at, one in enumerate(items)), TALK[-1])) == items


def test_the_likelihoods_of_tokens_do_not_go_back() -> None:
    """They are large, and mean nothing to the model."""
    item = message("a")
    item["content"][0]["logprobs"] = [{"token": "a", "logprob": 0}]
    assert replayed(whole(item)) == [message("a")]


def test_the_last_event_wins_over_the_items_before_it() -> None:
    """Servers put them in another order there."""
    reply = streamed(
        done(0, message("4")),
        done(1, thought(content=[{"type": "reasoning_text", "text": "hm"}])),
        event(
            "completed",
            response=response(
                thought(content=[{"type": "reasoning_text", "text": "hm"}]), message("4")
            ),
        ),
    )
    assert [item["type"] for item in replayed(reply)] == ["reasoning", "message"]


@pytest.mark.parametrize("kind", ["reasoning_summary_text", "reasoning_text"])
def test_thoughts_are_read_from_wherever_they_are_told(kind: str) -> None:
    """As a summary, or, from open models, in full."""
    told = {"type": "reasoning_text", "text": "hmm"}
    item = thought("hmm") if kind == "reasoning_summary_text" else thought(content=[told])
    data = events(BEGUN, delta(kind, 0, "h"), delta(kind, 0, "mm"), done(0, item), TALK[-1])
    pieces, reply = fed(data, answer)
    assert "".join(piece.reasoning for piece in pieces) == "hmm"
    assert reply.message.reasonings[0].reasoning_text == "hmm"


def test_a_thought_of_several_parts_is_one() -> None:
    """Each part says where it starts."""
    deltas = [
        event("reasoning_summary_text.delta", output_index=0, summary_index=number, delta=text)
        for number, text in enumerate(("First. ", "Then."))
    ]
    item = thought("First. ", "Then.")
    pieces, reply = fed(events(BEGUN, *deltas, done(0, item), TALK[-1]), answer)
    assert [piece.start for piece in pieces[:2]] == [True, True]
    assert reply.message.reasonings[0].reasoning_text == "First. Then."


def test_an_empty_thought_is_kept() -> None:
    """What counts is what is encrypted in it."""
    reply = whole(thought(encrypted_content="gAAA=="), call())
    assert reply.message.reasonings[0].reasoning_text == ""
    assert replayed(reply)[0]["encrypted_content"] == "gAAA=="


def test_results_go_by_the_id_of_the_call_not_by_that_of_its_item() -> None:
    """They differ."""
    assert whole(call(name="c1")).message.tool_calls[0].id == "c1"


REFUSAL = {"type": "refusal", "refusal": "I will not."}


def test_a_refusal_is_the_text_and_the_reason() -> None:
    """In both ways of sending it; it goes back as one."""
    item = {**message(), "content": [REFUSAL]}
    shown, of_stream = fed(
        events(
            BEGUN,
            delta("refusal", 0, "I will"),
            delta("refusal", 0, " not."),
            done(0, item),
            TALK[-1],
        ),
        answer,
    )
    assert shown[:2] == [
        StreamingChunk(content="I will", start=True),
        StreamingChunk(content=" not."),
    ]
    for reply in (whole(item), of_stream):
        assert reply.message.text == "I will not."
        assert reply.finish_reason == "refusal"
        assert reply.extra["refusal"] == "I will not."
        assert replayed(reply) == [item]


def test_the_text_of_a_custom_call_is_its_only_argument() -> None:
    """It goes back as it came."""
    item = {"type": "custom_tool_call", "id": "ct", "call_id": "c1", "name": "exp", "input": "4+4"}
    pieces, reply = fed(
        events(
            BEGUN,
            added(0, {**item, "input": ""}),
            delta("custom_tool_call_input", 0, "4+"),
            delta("custom_tool_call_input", 0, "4"),
            done(0, item),
            TALK[-1],
        ),
        answer,
    )
    assert [piece.tool_calls for piece in pieces[1:3]] == [
        (ToolCallDelta(0, None, "4+"),),
        (ToolCallDelta(0, None, "4"),),
    ]
    (made,) = reply.message.tool_calls
    assert (made.tool_name, made.arguments, made.unreadable) == ("exp", {"input": "4+4"}, None)
    assert replayed(reply) == [item]


@pytest.mark.parametrize(
    ("written", "status", "arguments", "unreadable"),
    [
        ("", "completed", {}, None),
        ("", "incomplete", {}, ""),
        ('{"a": 1}', "incomplete", {"a": 1}, None),
        ('{"a": ', "incomplete", {}, '{"a": '),
        ("oops", "completed", {}, "oops"),
    ],
)
def test_a_call_that_was_cut_off_is_not_taken_for_whole(
    written: str, status: str, arguments: Json, unreadable: str | None
) -> None:
    """It is never run, and the model is told what it wrote."""
    told = {"incomplete_details": {"reason": "max_output_tokens"}}
    reply = whole(call(written, status=status), status="incomplete", **told)
    (made,) = reply.message.tool_calls
    assert (made.arguments, made.unreadable) == (arguments, unreadable)
    assert reply.finish_reason == "length"


@pytest.mark.parametrize(
    ("status", "details", "reason"),
    [
        ("completed", None, "stop"),
        ("complete", None, "stop"),
        ("incomplete", {"reason": "max_output_tokens"}, "length"),
        ("incomplete", {"reason": "content_filter"}, "content_filter"),
        ("incomplete", None, "other"),
        ("cancelled", None, "other"),
    ],
)
def test_every_reason_is_mapped_and_the_status_kept(
    status: str, details: Json | None, reason: str
) -> None:
    """The details stand beside it."""
    told = response(message("a"), status=status, incomplete_details=details)
    for reply in (
        fed(json.dumps(told).encode(), answer)[1],
        streamed(done(0, message("a")), event(status, response=told)),
    ):
        assert (reply.finish_reason, reply.raw_finish_reason) == (reason, status)
        assert thaw(reply.extra.get("incomplete_details")) == details


def test_a_call_of_a_program_is_whole_although_it_goes_on() -> None:
    """Its status is that of the program."""
    (made,) = whole(call("", status="in_progress")).message.tool_calls
    assert (made.arguments, made.unreadable) == ({}, None)


def test_a_response_in_the_background_is_an_answer_without_content() -> None:
    """Its id says where the content will be."""
    reply = whole(status="queued", id="resp_1", background=True)
    assert (reply.finish_reason, reply.raw_finish_reason) == ("paused", "queued")
    assert (reply.extra["id"], reply.message.content) == ("resp_1", ())
    assert under_way([reply.message]) == "/responses/resp_1"
    assert under_way([reply.message, reply.message, ChatMessage.from_user("Hi")]) is None


def test_a_stream_of_the_background_that_breaks_is_an_answer_that_goes_on() -> None:
    """Another try would be made, and paid, from the beginning."""
    begun = event("created", response=response(status="queued", id="resp_1", background=True))
    _, reply = fed(events(begun, delta("output_text", 0, "He")), answer)
    assert reply.finish_reason == "paused"
    assert under_way([reply.message]) == "/responses/resp_1"


SEARCHED = {
    "type": "custom_tool_call",
    "id": "ctc_1",
    "call_id": "xs_call_1",
    "name": "x_keyword_search",
    "input": '{"query":"detent"}',
    "status": "completed",
}


def test_a_custom_call_of_a_tool_that_is_not_ours_has_been_run_by_the_server() -> None:
    """XAI's search on X; nobody but the request knows which tools are ours."""

    def asked() -> Answer:
        return Answer(ResponseFold({"exp"}), "example.org", redact=str)

    own = {**SEARCHED, "call_id": "c1", "name": "exp"}
    pieces, reply = fed(
        events(BEGUN, added(0, SEARCHED), done(0, SEARCHED), done(1, message("a")), TALK[-1]), asked
    )
    assert (reply.message.tool_calls, reply.finish_reason) == ((), "stop")
    assert not any(piece.tool_calls for piece in pieces)
    assert replayed(reply) == [SEARCHED, message("a")]
    told = json.dumps(response(SEARCHED, own)).encode()
    (made,) = fed(told, asked)[1].message.tool_calls
    assert (made.tool_name, made.arguments) == ("exp", {"input": SEARCHED["input"]})


@pytest.mark.parametrize(("store", "kept"), [(True, True), (None, True), (False, False)])
def test_the_id_of_an_answer_that_the_server_keeps_is_kept(
    store: bool | None,  # noqa: FBT001 - as the server says it
    *,
    kept: bool,
) -> None:
    """The next request of a chain names it."""
    meta = whole(message("a"), id="resp_1", store=store).message.meta["openai_responses"]
    assert isinstance(meta, dict)
    assert meta.get("id") == ("resp_1" if kept else None)


REFUSED = {"status": "failed", "error": {"code": "invalid_prompt"}}
FAILED = {"status": "failed", "error": {"code": "server_error", "message": "broke"}, "output": []}


FAILURES: Failures = [
    (events(BEGUN, event("failed", response=FAILED)), "server", True),
    (events(BEGUN, event("failed", response={**FAILED, "error": None})), "server", True),
    (
        events(BEGUN, event("failed", response={**FAILED, "error": {"code": "invalid_prompt"}})),
        "bad_request",
        False,
    ),
    (events(BEGUN, {"type": "error", "code": "rate_limit_exceeded"}), "rate_limit", True),
    (
        events(BEGUN, {"type": "error", "error": {"code": "insufficient_quota"}}),
        "rate_limit",
        False,
    ),
    (json.dumps(FAILED).encode(), "server", True),
    (b'{"error": {"code": "invalid_api_key"}}', "authentication", False),
    (events(BEGUN, added(0, message()), delta("output_text", 0, "a")), "cut_stream", True),
    (events(BEGUN), "cut_stream", True),
    (b"", "cut_stream", True),
    (b'{"hello": 1}', "bad_response", False),
    (b'{"output": "text"}', "bad_response", False),
    (b'{"output": [1]}', "bad_response", False),
    (events(delta("function_call_arguments", 0, "a")), "cut_stream", True),
]


def strange(value: Any) -> Sequence[bytes]:
    """Streams with `value` at every place where a value of any shape may stand."""
    strangers: Sequence[Any] = (
        {"type": value, "response": value},
        added(0, value),
        done(value, {"type": "message", "content": value}),
        event("output_text.delta", output_index=value, delta=value),
        event("completed", response=value),
        event("completed", response={"status": "completed", "output": [value]}),
    )
    return [events(BEGUN, one, TALK[-1]) for one in strangers]


MEMBERS = (
    "arguments call_id content delta error function_call id message name output reasoning status "
    "summary text type usage"
)
CODEC = Codec(answer, FAILURES, events(*TALK, end="[DONE]"), MEMBERS, strange)


def test_what_servers_leave_out_is_made_up_for() -> None:
    """The number of an item, one of the two ids of a call, and the beginning of an item."""
    item = {"type": "function_call", "id": "c1", "name": "add"}
    pieces, reply = fed(
        events(
            {"type": "response.output_item.added", "item": item},
            {"type": "response.function_call_arguments.delta", "delta": '{"a"'},
            {"type": "response.function_call_arguments.delta", "output_index": 5, "delta": "lost"},
            {"type": "response.function_call_arguments.delta", "delta": ": 1}"},
            {"type": "response.output_item.done", "item": {**item, "arguments": '{"a": 1}'}},
            {"type": "response.output_text.delta"},
            event("completed", response=response()),
        ),
        answer,
    )
    assert [(call.tool_name, call.id) for call in reply.message.tool_calls] == [("add", "c1")]
    deltas = [delta for piece in pieces for delta in piece.tool_calls]
    assert "".join(delta.arguments for delta in deltas) == '{"a": 1}'
