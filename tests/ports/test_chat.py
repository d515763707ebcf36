"""What an agent asks of a chat generator before it uses one."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Sequence
from typing import Any, cast

import pytest
from attrs import evolve

from detent import Agent, ChatGeneratorError, ChatMessage, ScriptedChatGenerator, tool
from detent.models import ChatReply, ModelFailure, Usage


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


def test_a_generator_that_cannot_be_asked_as_agents_ask_is_refused_when_the_agent_is_built() -> (
    None
):
    """It would fail at the first question: it takes no options, or its `run` is a coroutine."""
    deaf: Any = Deaf()
    with pytest.raises(TypeError, match=r"Deaf does not take tools, generation_kwargs, streaming"):
        Agent(chat_generator=deaf)
    later = Loose(REPLY, blocking=False)
    later.run = later.run_async
    with pytest.raises(TypeError, match=r"Loose\.run is a coroutine function: call it run_async"):
        Agent(chat_generator=cast(Any, later))


@pytest.mark.parametrize("blocking", [True, False], ids=["run", "run_async"])
def test_a_coroutine_that_is_none_is_named(*, blocking: bool) -> None:
    """Python would only say that the reply cannot be awaited."""
    early: Any = Loose(REPLY, blocking=True)
    early.run_async = early.__dict__.pop("run")
    agent = Agent(chat_generator=early)

    with pytest.raises(ChatGeneratorError, match=r"Loose\.run_async must be a coroutine function,"):
        agent.run("hi") if blocking else asyncio.run(agent.run_async("hi"))


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


REPLY = ChatReply(ChatMessage.from_assistant("hello"))


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (
            {"finish_reason": "end_turn"},
            "'paused', 'other', got 'end_turn'; a provider's own word is its raw_finish_reason",
        ),
        ({"finish_reason": "tool_call"}, "got 'tool_call'; did you mean 'tool_calls'?"),
        ({"finish_reason": None}, "got None"),
        ({"usage": {"input_tokens": 3}}, "its usage is a Usage with whole numbers of tokens, such"),
        ({"usage": Usage(1, cast(Any, None))}, "what is not known is 0"),
        ({"usage": Usage(-1)}, "got Usage(input_tokens=-1"),
        ({"model": None}, "its model is a text, got None; what is not known is ''"),
        ({"raw_finish_reason": 3}, "its raw_finish_reason is a text, got 3"),
        ({"usage_estimated": 1}, "its usage_estimated is True or False, got 1"),
        ({"logprobs": [0.5]}, "its logprobs are a tuple of TokenLogprob, got [0.5]"),
    ],
    ids=str,
)
def test_a_part_of_a_reply_of_another_type_is_found_as_it_arrives(
    parts: dict[str, Any], text: str
) -> None:
    """Though nothing is stored, and nobody reads it: whose fault it is is known right then."""
    loose: Any = Loose(evolve(REPLY, **parts), blocking=True)

    with pytest.raises(ChatGeneratorError, match="Loose gave a ChatReply that cannot") as caught:
        Agent(chat_generator=loose).run("hi")

    assert text in str(caught.value)
    assert caught.value.failure.cause == "bug"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"cause": "ratelimit"}, "got 'ratelimit'; did you mean 'rate_limit'?"),
        ({"cause": 429}, "'cause' of ModelFailure is one of 'authentication', "),
        ({"message": None}, "'message' of ModelFailure is a text, got None"),
        ({"retryable": "yes"}, "'retryable' of ModelFailure is True or False, got 'yes'"),
        ({"retry_after_s": "3"}, "'retry_after_s' of ModelFailure is a number, 0 or more, or None"),
        ({"status": "503"}, "'status' of ModelFailure is a number or None, got '503'"),
    ],
    ids=str,
)
def test_a_failure_says_itself_what_of_it_is_wrong(parts: dict[str, Any], text: str) -> None:
    """Where it is made, so that the traceback shows the line."""
    whole = {"cause": "server", "message": "down", **parts}
    with pytest.raises((TypeError, ValueError)) as caught:
        ModelFailure(**cast(Any, whole))
    assert text in str(caught.value)


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
