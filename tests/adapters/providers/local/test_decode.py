"""How replies of the local model are read, wherever they are cut."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Result

from detent.adapters.providers.local.decode import (
    LOOKS,
    Received,
    ReplyReader,
    Seen,
    pieces,
    receive,
    see,
    whole_reply,
)
from detent.adapters.providers.local.encode import Form, Request
from detent.core.chat.messages import ToolCall
from detent.core.chat.replies import ChatReply, ModelFailure, Usage
from detent.ports.chat import StreamingChunk, ToolCallDelta

PLAIN = Form()
TOOLS = Form("final_answer")
STRUCTURED = Form("final_answer", structured=True)


def escaped(value: object) -> str:
    """JSON in ASCII: all else is escaped."""
    return json.dumps(value)


def unescaped(value: object) -> str:
    """JSON as people write it."""
    return json.dumps(value, ensure_ascii=False)


def call(name: str, arguments: object, dumps: Callable[[object], str] = unescaped) -> str:
    return dumps({"name": name, "arguments": arguments})


def seen(text: str, form: Form = TOOLS) -> Seen:
    return see(Received(text), form)


def result(text: str, form: Form, finish: str, written: int) -> Result[ChatReply, ModelFailure]:
    received = Received(text, finish_reason=finish, usage=Usage(5, written))
    return whole_reply(received, Request({}, form, max_tokens=10), "tiny")


def reply(text: str, form: Form = TOOLS, finish: str = "stop", written: int = 10) -> ChatReply:
    return result(text, form, finish, written).unwrap()


def failure(text: str, form: Form = TOOLS, finish: str = "stop", written: int = 10) -> ModelFailure:
    return result(text, form, finish, written).failure()


def taken(received: Received, event: Mapping[str, Any]) -> Received:
    """`received` with an event that is no error."""
    more = receive(received, event)
    assert isinstance(more, Received)
    return more


def streamed(parts: Iterable[str], form: Form) -> list[StreamingChunk]:
    """What is shown when the text comes in `parts`."""
    chunks: list[StreamingChunk] = []
    reader = ReplyReader(form)
    for part in parts:
        read = reader.read({"choices": [{"delta": {"content": part}}]})
        assert not isinstance(read, ModelFailure)
        chunks += read
    end = reader.read({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    assert not isinstance(end, ModelFailure)
    return [*chunks, *end]


def joined(chunks: Iterable[StreamingChunk]) -> Seen:
    """What has been shown, put together again."""
    content, calls = "", dict[int, tuple[str, str]]()
    for chunk in chunks:
        assert chunk.start == (bool(chunk.content) and not content)
        content += chunk.content
        for delta in chunk.tool_calls:
            name, arguments = calls.get(delta.index, (delta.tool_name or "", ""))
            calls[delta.index] = (name, arguments + delta.arguments)
    return Seen(content=content, calls=tuple(calls[index] for index in sorted(calls)))


def test_plain_text_is_the_answer() -> None:
    """Also where it looks like a call."""
    text = call("find", {})
    assert seen(text, PLAIN) == Seen(content=text, whole=True)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ('{"name": "final_answer", "argum', ""),
        ('{"name": "final_answer", "arguments": {"te', ""),
        ('{"name": "final_answer", "arguments": {"text": "Hel', "Hel"),
        ('{"name": "final_answer", "arguments": {"text": "a\\', "a"),
        ('{"name": "final_answer", "arguments": {"text": "a\\n', "a\n"),
        ('{"name": "final_answer", "arguments": {"text": "a\\u00e', "a"),
        ('{"name": "final_answer", "arguments": {"text": "a\\u00e9', "aé"),
        ('{"name": "final_answer", "arguments": {"text": "\\ud83d', ""),
        ('{"name": "final_answer", "arguments": {"text": "\\ud83d\\', ""),
        ('{"name": "final_answer", "arguments": {"text": "\\ud83d\\ude0', ""),
        ('{"name": "final_answer", "arguments": {"text": "\\ud83d\\ude00', "😀"),
        ('{"name": "final_answer", "arguments": {"text": "\\ud83dx', "\ufffdx"),
        ('{"name": "final_answer", "arguments": {"text": "\\ud83d\\n', "\ufffd\n"),
        ('{"name": "final_answer", "arguments": {"text": "\\ud83d\\u00e9', "\ufffdé"),
        ('{"name": "final_answer", "arguments": {"text": "\\ude00', "\ufffd"),
        ('{"name": "final_answer", "arguments": {"text": "a\\\\', "a\\"),
        ('{"name": "final_answer", "arguments": {"text": "a\\"', 'a"'),
        ('{"name": "final_answer", "arguments": {"text": "a"', "a"),
        ('{"name": "final_answer", "arguments": {"text": "a"}}', "a"),
    ],
)
def test_the_text_of_an_answer_is_shown_as_far_as_it_is_sure(text: str, content: str) -> None:
    """No escape is shown in halves."""
    assert seen(text).content == content


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('{"name": "fi', ()),
        ('{"name": "find", "arguments": ', (("find", ""),)),
        ('{"name": "find", "arguments": {"a": "}', (("find", '{"a": "}'),)),
        ('{"name": "find", "arguments": {"a": 1}', (("find", '{"a": 1}'),)),
        ('{"name": "find", "arguments": {"a": 1}}', (("find", '{"a": 1}'),)),
        ('{"name": "a", "arguments": {}}\n{"name": "b', (("a", "{}"),)),
        (
            '{"name": "a", "arguments": {}}\n{"name": "b", "arguments": {"x": [',
            (("a", "{}"), ("b", '{"x": [')),
        ),
    ],
)
def test_calls_are_shown_as_far_as_they_are_there(
    text: str, calls: tuple[tuple[str, str], ...]
) -> None:
    """The name first, then the arguments as they are written."""
    assert seen(text).calls == calls


def test_pieces_of_a_call_begin_with_its_name() -> None:
    """Later ones are arguments only."""
    parts = ['{"name": "find", "arguments": ', '{"a"', ": 1}", "}"]
    assert [chunk.tool_calls for chunk in streamed(parts, TOOLS)] == [
        (ToolCallDelta(0, "find"),),
        (ToolCallDelta(0, arguments='{"a"'),),
        (ToolCallDelta(0, arguments=": 1}"),),
    ]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(), values, max_size=3)
names = st.text(min_size=1).filter(lambda name: name != "final_answer")
ways_to_write = st.sampled_from([escaped, unescaped])
calls_made = st.lists(st.tuples(names, objects), min_size=1, max_size=3)


def cut(text: str, at: list[int]) -> list[str]:
    places = sorted({0, len(text), *(place % (len(text) + 1) for place in at)})
    return [text[start:end] for start, end in pairwise(places)]


@given(st.text(), st.lists(st.integers(min_value=0)), ways_to_write)
def test_an_answer_cut_anywhere_is_the_same_answer(
    text: str, at: list[int], dumps: Callable[[object], str]
) -> None:
    """Escaped or not."""
    written = call("final_answer", {"text": text}, dumps)
    assert joined(streamed(cut(written, at), TOOLS)).content == text
    assert reply(written).message.text == text


@given(calls_made, st.lists(st.integers(min_value=0)), ways_to_write)
def test_calls_cut_anywhere_are_the_same_calls(
    made: list[tuple[str, dict[str, Any]]], at: list[int], dumps: Callable[[object], str]
) -> None:
    """However many there are."""
    written = "\n".join(call(*one, dumps) for one in made)
    shown = joined(streamed(cut(written, at), TOOLS))
    assert [(name, json.loads(arguments)) for name, arguments in shown.calls] == made
    assert reply(written).message.tool_calls == tuple(ToolCall(*one) for one in made)
    assert reply(written).finish_reason == "tool_calls"


@given(objects, st.lists(st.integers(min_value=0)))
def test_a_structured_answer_cut_anywhere_is_the_same_answer(
    value: dict[str, Any], at: list[int]
) -> None:
    """It is given as JSON."""
    shown = joined(streamed(cut(call("final_answer", value), at), STRUCTURED))
    assert json.loads(shown.content) == value
    assert json.loads(reply(call("final_answer", value), STRUCTURED).message.text or "") == value


@given(
    st.text() | st.text(alphabet='{}[]",:\\u d8nametxfil_rgus'), st.lists(st.integers(min_value=0))
)
def test_whatever_comes_is_never_taken_back(text: str, at: list[int]) -> None:
    """What is shown of text that is no reply at all only grows, too."""
    for begin in ("", '{"name": "', call("f", {})[:-3], call("final_answer", {"text": ""})[:-3]):
        shown = joined(streamed(cut(begin + text, at), TOOLS))
        whole = seen(begin + text)
        assert (shown.content, shown.calls) == (whole.content, whole.calls)


def test_events_add_up() -> None:
    """Text, thought, the reason for the end and what it cost."""
    events: list[dict[str, Any]] = [
        {"choices": [{"delta": {"role": "assistant", "content": None}}], "prompt_progress": {}},
        {"choices": [{"delta": {"reasoning_content": "Hm."}}]},
        {"choices": [{"delta": {"content": "Yes"}}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
        {
            "choices": [],
            "usage": {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 4},
            },
        },
    ]
    received = reduce(taken, events, Received())
    assert received == Received("Yes", "Hm.", "stop", Usage(9, 2, 4))
    made = whole_reply(received, Request({}, PLAIN, max_tokens=10), "tiny").unwrap()
    assert made.message.reasoning is not None
    assert (made.message.text, made.message.reasoning.reasoning_text) == ("Yes", "Hm.")
    thought = next(pieces(Seen(), see(received, PLAIN)))
    assert thought == StreamingChunk(reasoning="Hm.", start=True)


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("exceed_context_size_error", "context_length"),
        ("invalid_request_error", "bad_request"),
        ("server_error", "server"),
    ],
)
def test_an_error_says_whose_fault_it_is(kind: str, cause: str) -> None:
    """With the numbers, where there are too many tokens."""
    error = {"type": kind, "message": "nope", "n_prompt_tokens": 99, "n_ctx": 42}
    failure = receive(Received(), {"error": error})
    assert isinstance(failure, ModelFailure)
    assert failure.cause == cause
    assert re.search(r"nope|99.*42", failure.message)


def test_an_answer_that_is_cut_off_ends_early() -> None:
    """The reason says so."""
    made = reply('{"name": "final_answer", "arguments": {"text": "Hel', finish="length")
    assert (made.message.text, made.finish_reason) == ("Hel", "length")


def test_a_call_that_is_cut_off_is_unreadable() -> None:
    """The calls before it are not."""
    text = '{"name": "a", "arguments": {}}\n{"name": "b", "arguments": {"x": "y'
    made = reply(text, finish="length")
    assert made.message.tool_calls == (ToolCall("a"), ToolCall("b", unreadable='{"x": "y'))
    assert made.finish_reason == "length"


def test_a_call_that_fills_the_context_fails() -> None:
    """Another try would only make it longer."""
    text = '{"name": "b", "arguments": {"x": "y'
    assert failure(text, finish="length", written=9).cause == "context_length"


@pytest.mark.parametrize(
    ("text", "form", "finish", "why"),
    [
        ("Hello", TOOLS, "stop", "makes no grammar"),
        ('{"name": "fi', TOOLS, "length", "max_tokens is too small"),
        ('{"name": "a", "arguments": {}} and more', TOOLS, "stop", "not of the form"),
        ("Hello", Form(structured=True), "stop", "makes no grammar"),
        ("", TOOLS, "stop", "not of the form"),
    ],
)
def test_a_reply_of_another_form_fails(text: str, form: Form, finish: str, why: str) -> None:
    """It says how the reply begins."""
    failed = failure(text, form, finish)
    assert failed.cause == "bad_response"
    assert why in failed.message
    assert repr(text[:20])[:-1] in failed.message


def test_a_reply_that_was_broken_off_fails() -> None:
    """It has no reason for its end."""
    assert failure("Hel", PLAIN, finish="").cause == "cut_stream"


def test_arguments_that_are_no_object_are_unreadable() -> None:
    """A tool is called with names and values."""
    assert reply(call("a", [1])).message.tool_calls == (ToolCall("a", unreadable="[1]"),)


def test_arguments_with_a_number_that_json_has_not_are_unreadable() -> None:
    """They could never be sent again."""
    made = reply('{"name": "a", "arguments": {"x": 1e999}}')
    assert made.message.tool_calls == (ToolCall("a", unreadable='{"x": 1e999}'),)


def test_arguments_can_be_encoded() -> None:
    """Half of a pair of surrogates in them is replaced."""
    (made,) = reply(call("a", {"x": ["\ud83d", "😀"]}, escaped)).message.tool_calls
    assert made.arguments == {"x": ["\ufffd", "😀"]}


def test_arguments_nested_beyond_measure_are_unreadable() -> None:
    """A small model may open brackets until it is stopped."""
    made = reply('{"name": "a", "arguments": ' + "[" * 100_000, finish="length")
    assert made.message.tool_calls[0].unreadable == "[" * 100_000


def test_a_long_answer_is_shown_in_few_looks() -> None:
    """Each shows what is new; the last one all that there is, before the reply is whole."""
    text = "word " * 4_000
    written = call("final_answer", {"text": text})
    chunks = streamed(written, TOOLS)

    assert joined(chunks).content == text
    assert max(len(chunk.content) for chunk in chunks) <= len(text) // LOOKS + 1
    assert len(chunks) < LOOKS * 8
