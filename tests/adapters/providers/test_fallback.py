"""Falling back: the next generator is asked, and nobody is told half an answer as a whole one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from detent import Agent, ChatGeneratorError, ChatMessage, ScriptedChatGenerator, StreamingChunk
from detent.models import ChatReply, FallbackChatGenerator, ModelFailure
from detent.testing import JumpingClock, Pieces, check_chat_generator

Ask: TypeAlias = Callable[..., ChatReply]
HELLO = [ChatMessage.from_user("hello")]


class OnlyBlocking:
    """A generator without coroutines."""

    def run(self, messages: object, *, tools: object = (), **options: Any) -> ChatReply:
        """Say so."""
        return ChatReply(ChatMessage.from_assistant("blocking"))


class OnlyAsync:
    """A generator that has nothing else."""

    async def run_async(self, messages: object, *, tools: object = (), **options: Any) -> ChatReply:
        """Say so."""
        return ChatReply(ChatMessage.from_assistant("async"))


def blocking(generator: FallbackChatGenerator, **options: Any) -> ChatReply:
    return generator.run(HELLO, **options)


def async_(generator: FallbackChatGenerator, **options: Any) -> ChatReply:
    return asyncio.run(generator.run_async(HELLO, **options))


@pytest.fixture(params=[blocking, async_])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Both ways to ask."""
    way: Ask = request.param
    return way


def saying(*script: Any) -> ScriptedChatGenerator:
    return ScriptedChatGenerator(*script)


def failure(cause: Any = "server", **more: Any) -> ChatGeneratorError:
    return ChatGeneratorError(ModelFailure(cause, f"{cause}!", **more))


def test_it_keeps_what_chat_generators_promise() -> None:
    """The laws of the port."""
    check_chat_generator(lambda: FallbackChatGenerator(saying(failure()), saying("hi", "hi")))


def test_the_first_who_answers_counts(ask: Ask) -> None:
    """The reply says who it was; when it was the first, there is nothing to say."""
    reply = ask(FallbackChatGenerator(saying(failure()), saying(failure("timeout")), saying("hi")))

    assert reply.message.text == "hi"
    assert reply.extra == {"fallback": {"generator": 2, "failures": ["server!", "timeout!"]}}
    assert ask(FallbackChatGenerator(saying("hi"), saying("ho"))).extra == {}


@pytest.mark.parametrize(("other", "text"), [(OnlyBlocking(), "blocking"), (OnlyAsync(), "async")])
def test_generators_of_both_colours_may_be_mixed(ask: Ask, other: Any, text: str) -> None:
    """Whichever they have, they are asked."""
    assert ask(FallbackChatGenerator(saying(failure()), other)).message.text == text


def test_half_an_answer_is_taken_back(ask: Ask) -> None:
    """Before the next generator's pieces come; the last failure is the agent's to take back."""
    heard: list[StreamingChunk] = []
    cut = failure("cut_stream")
    chat = FallbackChatGenerator(saying(Pieces("ha", cut)), saying(cut), saying("ho"))

    ask(chat, streaming_callback=heard.append)

    assert [one.content or one.finish_reason for one in heard] == ["ha", "discarded", "ho", "stop"]

    heard.clear()
    with pytest.raises(ChatGeneratorError):
        ask(FallbackChatGenerator(saying(Pieces("ha", cut))), streaming_callback=heard.append)
    assert [one.content for one in heard] == ["ha"]


def test_what_is_wrong_with_the_request_is_wrong_everywhere(ask: Ask) -> None:
    """Nobody else is asked; whom to ask when is a choice."""
    error = failure("bad_request")
    second = saying("hi")

    with pytest.raises(ChatGeneratorError) as caught:
        ask(FallbackChatGenerator(saying(error), second))
    assert caught.value is error
    assert second.calls == []

    other = FallbackChatGenerator(saying(error), second, not_after=frozenset({"authentication"}))
    assert ask(other).message.text == "hi"


def test_an_exception_of_another_kind_is_a_bug(ask: Ask) -> None:
    """It is not hidden behind another's answer."""
    with pytest.raises(ZeroDivisionError):
        ask(FallbackChatGenerator(saying(ZeroDivisionError()), saying("hi")))


def test_when_all_fail_they_may_be_asked_again(ask: Ask) -> None:
    """If one of the failures may pass; the message has all of them."""
    busy = failure("rate_limit", retryable=True, retry_after_s=7.0)
    broken = failure("authentication")

    with pytest.raises(ChatGeneratorError, match="authentication!; then: rate_limit!") as caught:
        ask(FallbackChatGenerator(saying(broken), saying(busy)))

    assert caught.value.failure.cause == "rate_limit"
    assert caught.value.failure.retry_after_s == 7.0

    chat = FallbackChatGenerator(saying(broken, "back again"), saying(busy))
    assert Agent(chat_generator=chat, clock=JumpingClock()).run("hi").text == "back again"


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [((), ValueError, "at least one"), (("gpt-5",), TypeError, "method run or run_async")],
)
def test_it_needs_generators(wrong: Any, error: type[Exception], text: str) -> None:
    """At least one, and nothing else."""
    with pytest.raises(error, match=text):
        FallbackChatGenerator(*wrong)
