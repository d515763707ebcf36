"""The scripted chat generator: it says its lines, and tells when the script was not kept to."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent import ChatMessage, StreamingChunk, ToolCall
from detent.adapters.testing.doubles.scripted import Condition
from detent.machine import ManualClock
from detent.models import ChatReply, ToolSpec, Usage
from detent.testing import After, Pieces, ScriptedChatGenerator, When

Ask: TypeAlias = Callable[..., ChatReply]

HELLO = ChatMessage.from_user("hello")
CALL = ChatMessage.from_assistant(tool_calls=[ToolCall("note", {}, "a")])


@pytest.fixture(params=["run", "run_async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Both ways to ask give the same."""

    def blocking(chat: ScriptedChatGenerator, *said: ChatMessage, **options: Any) -> ChatReply:
        return chat.run(said, **options)

    def coroutine(chat: ScriptedChatGenerator, *said: ChatMessage, **options: Any) -> ChatReply:
        return asyncio.run(chat.run_async(said, **options))

    return blocking if request.param == "run" else coroutine


def test_lines_are_said_in_order(ask: Ask) -> None:
    """Texts, messages and whole replies; the finish reason fits what is said."""
    whole = ChatReply(ChatMessage.from_assistant("cut"), "length", Usage(1, 2))
    chat = ScriptedChatGenerator("hi", CALL, whole)

    replies = [ask(chat, HELLO) for _ in range(3)]

    assert replies[0].message == ChatMessage.from_assistant("hi")
    assert [reply.finish_reason for reply in replies] == ["stop", "tool_calls", "length"]
    assert replies[1].message == CALL
    assert replies[2] == whole
    chat.assert_complete()


def test_a_line_may_be_made_of_the_conversation(ask: Ask) -> None:
    """A function is given the messages, and may give any line."""

    def echo(messages: Sequence[ChatMessage]) -> str:
        return f"you said {messages[-1].text}"

    assert ask(ScriptedChatGenerator(echo), HELLO).message.text == "you said hello"
    assert ask(ScriptedChatGenerator(lambda messages: echo), HELLO).message.text == "you said hello"


def test_an_exception_is_raised(ask: Ask) -> None:
    """The very one that stands in the script."""
    error = ZeroDivisionError("oops")

    with pytest.raises(ZeroDivisionError) as caught:
        ask(ScriptedChatGenerator(error), HELLO)
    assert caught.value is error


def test_what_was_asked_can_be_looked_up(ask: Ask) -> None:
    """Messages, tools and options of each call."""
    chat = ScriptedChatGenerator("hi", "ho")
    spec = ToolSpec("note", "", {"type": "object"})

    ask(chat, HELLO, tools=[spec], generation_kwargs={"seed": 1})
    ask(chat, HELLO, CALL)

    first, second = chat.calls
    assert (first.messages, first.tools, first.generation_kwargs) == (
        (HELLO,),
        (spec,),
        {"seed": 1},
    )
    assert (second.messages, second.tools, second.generation_kwargs) == ((HELLO, CALL), (), {})


def test_a_script_that_is_not_kept_to_is_an_error(ask: Ask) -> None:
    """Asked too often, or not often enough: the message says what was said, or what was not."""
    chat = ScriptedChatGenerator("hi")

    with pytest.raises(AssertionError, match=r"1 line of the script was never asked for:\n  'hi'"):
        chat.assert_complete()
    ask(chat, HELLO)
    chat.assert_complete()
    with pytest.raises(AssertionError, match=r"has 1 line, and was asked for more:\nuser +hello"):
        ask(chat, HELLO)
    with pytest.raises(AssertionError, match="2 lines of the script were never"):
        ScriptedChatGenerator("hi", "ho").assert_complete()
    with pytest.raises(AssertionError, match="the script has 0 lines"):
        ask(ScriptedChatGenerator(), HELLO)


def test_a_call_alone_is_a_line(ask: Ask) -> None:
    """Without a message around it."""
    reply = ask(ScriptedChatGenerator(ToolCall("note", {"n": 1})), HELLO)

    assert reply.message.tool_calls == (ToolCall("note", {"n": 1}),)
    assert reply.finish_reason == "tool_calls"


@pytest.mark.parametrize(
    "condition",
    ["Oslo", re.compile("^.o .slo"), lambda messages: len(messages) == 1],
    ids=["text", "pattern", "function"],
)
def test_a_line_may_wait_for_what_it_answers(ask: Ask, condition: Condition) -> None:
    """It is said each time the conversation fits, and the script goes on where it does not."""
    chat = ScriptedChatGenerator("first", When(condition, "rain"), "second")
    oslo = ChatMessage.from_user("to Oslo")

    said = [ask(chat, *asked).message.text for asked in ((HELLO, CALL), (oslo,), (oslo,))]
    with pytest.raises(AssertionError, match="'second'"):
        chat.assert_complete()

    assert said == ["first", "rain", "rain"]
    assert ask(chat, HELLO, CALL).message.text == "second"
    chat.assert_complete()


def test_a_line_that_nothing_fitted_was_never_said(ask: Ask) -> None:
    """The result of a tool is looked at as well; a conversation without messages fits nothing."""
    chat = ScriptedChatGenerator(When("rain", "take an umbrella"), When("sun", "go"), "?", "?")
    told = ChatMessage.from_tool("rain", CALL.tool_calls[0])

    assert ask(chat, HELLO, CALL, told).message.text == "take an umbrella"
    assert [ask(chat, HELLO).message.text, ask(chat).message.text] == ["?", "?"]
    with pytest.raises(AssertionError, match=r"1 line of the script was never .*\n.*'sun'"):
        chat.assert_complete()


def test_a_stream_may_break_off(ask: Ask) -> None:
    """Some pieces are told, then an exception comes."""
    told: list[StreamingChunk] = []
    chat = ScriptedChatGenerator(Pieces("It ra", ConnectionError("gone")), Pieces("It ", "rains"))

    with pytest.raises(ConnectionError, match="gone"):
        ask(chat, HELLO, streaming_callback=told.append)
    reply = ask(chat, HELLO, streaming_callback=told.append)

    assert reply.message.text == "It rains"
    assert [chunk.content for chunk in told] == ["It ra", "It ", "rains", ""]
    assert [chunk.start for chunk in told] == [True, True, False, False]
    assert [asked.streamed for asked in chat.calls] == [True, True]


def test_a_line_may_come_late(ask: Ask) -> None:
    """By the clock that the generator was given; without one at once."""
    clock = ManualClock(100)
    chat = ScriptedChatGenerator(After(2, After(3, "late")), clock=clock)
    thread = Thread(target=ask, args=(chat, HELLO))
    thread.start()
    while not clock._waiting:
        time.sleep(0)

    clock.advance(4.9)
    assert clock._waiting
    clock.advance(0.1)
    thread.join()

    assert ask(ScriptedChatGenerator(After(1e9, "hi")), HELLO).message.text == "hi"


def test_reasoning_and_calls_are_streamed_as_well() -> None:
    """As a provider would: a call's name, then its arguments, or what the model wrote for them."""
    told: list[StreamingChunk] = []
    calls = [ToolCall("note", {"n": 1}, "a"), ToolCall("note", {}, "b", unreadable="{")]
    said = ChatMessage.from_assistant("so", tool_calls=calls, reasoning="hm")

    ScriptedChatGenerator(said).run([HELLO], streaming_callback=told.append)

    deltas = [delta for chunk in told for delta in chunk.tool_calls]
    assert told[0] == StreamingChunk(reasoning="hm", start=True)
    assert [(one.index, one.tool_name, one.id, one.arguments) for one in deltas] == [
        (0, "note", "a", ""),
        (0, None, None, '{"n": 1}'),
        (1, "note", "b", ""),
        (1, None, None, "{"),
    ]
    assert told[-1].finish_reason == "tool_calls"


@given(st.text())
def test_the_pieces_of_a_text_make_up_the_text(text: str) -> None:
    """Nothing is lost between them; the first says that it is the first, the last why it is."""
    told: list[StreamingChunk] = []

    ScriptedChatGenerator(text).run([HELLO], streaming_callback=told.append)

    *pieces, last = told
    assert "".join(piece.content for piece in pieces) == text
    assert [piece.start for piece in pieces] == [True, *[False] * (len(pieces) - 1)][: len(pieces)]
    assert last == StreamingChunk(finish_reason="stop")


@pytest.mark.parametrize("line", [5, {"tool": "pay"}, [ToolCall("pay")], None])
def test_what_is_no_line_is_refused_where_it_is_written(line: Any) -> None:
    """And where a function makes it."""
    with pytest.raises(TypeError, match=r"a line of a script is one of str, ToolCall, .*; this"):
        ScriptedChatGenerator("hello", line)
    with pytest.raises(TypeError, match="a line of a script is one of str, ToolCall"):
        ScriptedChatGenerator(lambda messages: line).run([])
