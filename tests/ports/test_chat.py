"""What an agent asks of a chat generator before it uses one."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pytest

from detent import Agent, ChatGeneratorError, ChatMessage, ScriptedChatGenerator, tool
from detent.models import ChatReply, ModelFailure


@tool
def double(n: int) -> int:
    """Double a number."""
    return 2 * n


class Deaf:
    """Does not want to know of tools."""

    def run(self, messages: Sequence[ChatMessage]) -> ChatReply:
        """Answer."""
        return ChatReply(messages[-1])


class Open:
    """Takes whatever comes."""

    async def run_async(self, messages: Sequence[ChatMessage], **options: object) -> ChatReply:
        """Answer."""
        return ChatReply(ChatMessage.from_assistant("hello"))


@pytest.mark.parametrize(
    "given", ["openai:some-model", None, ScriptedChatGenerator, object()], ids=type
)
def test_what_cannot_answer_is_refused_when_the_agent_is_built(given: Any) -> None:
    """A name, a class, anything without run and run_async: the sentence says what is wanted."""
    with pytest.raises(TypeError, match="a method run or run_async"):
        Agent(chat_generator=given)


def test_a_generator_that_takes_no_tools_is_refused_with_tools() -> None:
    """Without any it would do, but for what an agent passes besides."""
    deaf: Any = Deaf()

    with pytest.raises(TypeError, match="Deaf does not accept tools parameter"):
        Agent(chat_generator=deaf, tools=[double])


def test_a_generator_may_take_its_options_as_they_come() -> None:
    """With one of the two methods it serves both kinds of run."""
    assert Agent(chat_generator=Open(), tools=[double]).run("hi").text == "hello"


def test_a_failure_travels_between_processes() -> None:
    """It pickles, reads as its message and keeps the failure as a value."""
    error = ChatGeneratorError(ModelFailure("rate_limit", "slow down", retryable=True))

    twin = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own

    assert str(twin) == "slow down"
    assert twin.failure == error.failure


class Loose:
    """Answers with whatever it was made with, in the colour that is wanted."""

    def __init__(self, given: object, *, blocking: bool) -> None:
        self._given = given
        if blocking:
            self.run = self._answer
        else:
            self.run_async = self._answer_async

    def _answer(self, messages: Sequence[ChatMessage], **options: object) -> Any:
        return self._given

    async def _answer_async(self, messages: Sequence[ChatMessage], **options: object) -> Any:
        return self._given


@pytest.mark.parametrize("blocking", [True, False], ids=["run", "run_async"])
@pytest.mark.parametrize(
    ("given", "got"),
    [
        ("hello", "str: 'hello'"),
        (None, "NoneType: None"),
        (ChatMessage.from_assistant("hello"), "ChatMessage: ChatMessage"),
        (ChatReply(ChatMessage.from_user("hello")), "a ChatReply with a message of the user"),
    ],
    ids=["text", "nothing", "message", "user"],
)
def test_what_is_no_reply_is_named_with_what_it_should_have_been(
    given: object, got: str, *, blocking: bool
) -> None:
    """The error says which class it was, what it gave, and how a reply is made."""
    loose: Any = Loose(given, blocking=blocking)

    with pytest.raises(ChatGeneratorError, match="Loose must answer with a ChatReply") as caught:
        Agent(chat_generator=loose).run("hi")

    assert "ChatReply(ChatMessage.from_assistant(text))" in str(caught.value)
    assert got in str(caught.value)
    assert caught.value.failure.cause == "bug"
