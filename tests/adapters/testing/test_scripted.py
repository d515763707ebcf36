"""The scripted chat generator: it says its lines, and tells when the script was not kept to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent import (
    ChatMessage,
    ChatReply,
    ScriptedChatGenerator,
    StreamingChunk,
    ToolCall,
    ToolSpec,
    Usage,
)

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
    """Asked too often, or not often enough."""
    chat = ScriptedChatGenerator("hi")

    with pytest.raises(AssertionError, match="1 lines of the script were never asked for"):
        chat.assert_complete()
    ask(chat, HELLO)
    with pytest.raises(AssertionError, match="the script has 1 lines, and was asked for more"):
        ask(chat, HELLO)


@given(st.text())
def test_the_pieces_of_a_text_make_up_the_text(text: str) -> None:
    """Nothing is lost between them; the first says that it is the first, the last why it is."""
    told: list[StreamingChunk] = []

    ScriptedChatGenerator(text).run([HELLO], streaming_callback=told.append)

    *pieces, last = told
    assert "".join(piece.content for piece in pieces) == text
    assert [piece.start for piece in pieces] == [True, *[False] * (len(pieces) - 1)][: len(pieces)]
    assert last == StreamingChunk(finish_reason="stop")
