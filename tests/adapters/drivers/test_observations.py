"""Streams: a run as an iterator, which may be closed before its end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, closing
from typing import Any, TypeAlias

import pytest

from detent import (
    Agent,
    AgentResult,
    AlwaysAskPolicy,
    BlockingConfirmationStrategy,
    Breakpoint,
    BreakpointException,
    ChatGeneratorError,
    ConfirmationUIResult,
    MemoryJournal,
    ScriptedChatGenerator,
    StateError,
    StreamingChunk,
    ToolCall,
    tool,
)
from detent.machine import CancelRequested, Event, ModelReplied, ToolReturned, ToolStarted
from detent.models import ModelFailure
from detent.testing import ScriptedHuman

Seen: TypeAlias = list[Any]
Reader: TypeAlias = Callable[..., Seen]
"""Reads a stream: ``read(agent, message, **options)``, up to the first item that `until` fits."""


def blocking(
    agent: Agent[Any], *args: Any, until: Callable[[Any], bool] | None = None, **options: Any
) -> Seen:
    seen: Seen = []
    with closing(agent.stream(*args, **options)) as stream:
        for item in stream:
            seen.append(item)
            if until is not None and until(item):
                break
    return seen


def async_(
    agent: Agent[Any], *args: Any, until: Callable[[Any], bool] | None = None, **options: Any
) -> Seen:
    async def read() -> Seen:
        seen: Seen = []
        async with aclosing(agent.stream_async(*args, **options)) as stream:
            async for item in stream:
                seen.append(item)
                if until is not None and until(item):
                    break
        return seen

    return asyncio.run(read())


@pytest.fixture(params=[blocking, async_])
def read(request: pytest.FixtureRequest) -> Reader:
    """Every behaviour below holds for both."""
    reader: Reader = request.param
    return reader


@tool
def pay(n: int) -> str:
    """Pay."""
    return f"paid {n}"


CALL = ToolCall("pay", {"n": 1}, "c1")


def agent_of(*script: Any, **options: Any) -> Agent[Any]:
    return Agent(chat_generator=ScriptedChatGenerator(*script), tools=[pay], **options)


def test_a_stream_shows_pieces_events_and_the_result(read: Reader) -> None:
    """In the order in which they happen."""
    seen = read(agent_of(CALL, "done"), "go")

    kinds = [type(item) for item in seen]
    replies = [StreamingChunk] * 3 + [ModelReplied], [StreamingChunk] * 2 + [ModelReplied]
    tools = [ToolStarted, ToolReturned, *[StreamingChunk] * 2]
    assert kinds == [*replies[0], *tools, *replies[1], AgentResult]
    assert seen[-1].text == "done"


def test_closing_a_stream_cancels_the_run(read: Reader) -> None:
    """It is recorded as cancelled, and a tool that hangs is not waited for."""
    journal, told = MemoryJournal(), []
    release = threading.Event()

    @tool
    def hang() -> None:
        """Hang."""
        assert release.wait(10)

    def watch(before: object, event: Event, after: object) -> None:
        told.append(event)

    chat = ScriptedChatGenerator(ToolCall("hang", {}))
    agent = Agent(chat_generator=chat, tools=[hang], journal=journal, observers=[watch])

    seen = read(agent, "go", until=lambda item: isinstance(item, ToolStarted))
    release.set()

    assert isinstance(seen[-1], ToolStarted)
    (run,) = journal.runs()
    assert run.status == "done"
    assert [type(event) for event in told] == [ModelReplied, ToolStarted, CancelRequested]


def test_a_stream_that_nobody_reads_begins_nothing(read: Reader) -> None:
    """Neither does one that is closed at once."""
    chat = ScriptedChatGenerator()
    agent: Agent[Any] = Agent(chat_generator=chat)

    async def close() -> None:
        await agent.stream_async("go").aclose()

    agent.stream("go").close()
    asyncio.run(close())

    assert chat.calls == []


def test_what_the_run_raises_is_raised_at_the_end(read: Reader) -> None:
    """After everything that had happened by then."""
    seen: Seen = []

    def keep(item: object) -> bool:
        seen.append(item)
        return False

    error = ChatGeneratorError(ModelFailure("authentication", "no such key"))

    with pytest.raises(ChatGeneratorError) as caught:
        read(agent_of(CALL, error), "go", until=keep)
    with pytest.raises(BreakpointException):
        read(agent_of("hi"), "go", break_point=Breakpoint("chat_generator"))

    assert caught.value is error
    assert any(isinstance(item, ToolReturned) for item in seen)


def test_a_mistake_of_the_caller_is_raised_at_once() -> None:
    """Not when the first piece is asked for."""

    async def mistaken() -> AsyncGenerator[Any]:
        return agent_of("hi").stream_async("go", nobody=1)

    with pytest.raises(StateError):
        agent_of("hi").stream("go", nobody=1)
    with pytest.raises(StateError):
        asyncio.run(mistaken())


def test_a_human_can_be_asked_meanwhile(read: Reader) -> None:
    """And a call that nobody decides about is left as it is."""
    for answer, text in (("confirm", "done"), ("shrug", None)):
        ui = ScriptedHuman(ConfirmationUIResult(answer))
        rule = BlockingConfirmationStrategy(AlwaysAskPolicy(), ui)
        agent = agent_of(CALL, "done", confirmation_strategies={"pay": rule})
        assert read(agent, "go")[-1].text == text


def test_a_reader_that_fails_closes_the_stream() -> None:
    """His error goes on its way once the run has ended."""
    stream: Generator[Any] = agent_of(CALL, "done").stream("go")
    assert isinstance(next(stream), StreamingChunk)

    with pytest.raises(ZeroDivisionError):
        stream.throw(ZeroDivisionError())
    assert list(stream) == []
