"""What stays in memory: nothing of a run that nobody holds, without the help of the collector."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from detent import Agent, AgentResult, ChatMessage, ChatReply, State, ToolCall, tool

RUNS = 200
BYTES_A_RUN_MAX = 100.0
"""A run takes some 20,000 while it lasts; the interpreter's own free lists take a few."""


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class OneCall:
    """A model that calls the tool once, and keeps nothing."""

    def run(self, messages: Sequence[ChatMessage], **options: Any) -> ChatReply:
        """Tell by the conversation what is next."""
        if len(messages) > 1:
            return ChatReply(ChatMessage.from_assistant("done"))
        call = ToolCall("add", {"a": 1, "b": 2}, "c")
        return ChatReply(ChatMessage.from_assistant(tool_calls=[call]))

    async def run_async(self, messages: Sequence[ChatMessage], **options: Any) -> ChatReply:
        """As `run`."""
        return self.run(messages)


AGENT = Agent(chat_generator=OneCall(), tools=[add])


def blocking() -> AgentResult[State]:
    return AGENT.run("go")


def in_a_loop() -> AgentResult[State]:
    return asyncio.run(AGENT.run_async("go"))


@contextmanager
def without_collector() -> Generator[None]:
    """What is freed in it is freed because nothing refers to it."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize("go", [blocking, in_a_loop], ids=["blocking", "asyncio"])
def test_a_run_that_nobody_holds_is_freed_at_once(go: Callable[[], AgentResult[State]]) -> None:
    """There is no cycle in a run: the collector has nothing to do."""
    go()
    with without_collector():
        seen = weakref.ref(go().run)
        assert seen() is None


def test_many_short_runs_leave_nothing_behind() -> None:
    """An agent that has served many is as large as one that has served few."""
    with without_collector():
        tracemalloc.start()
        try:
            for _ in range(RUNS):  # so that what the interpreter keeps for later is counted before
                blocking()
            before, _ = tracemalloc.get_traced_memory()
            for _ in range(RUNS):
                blocking()
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (after - before) / RUNS < BYTES_A_RUN_MAX
