"""What stays in memory: nothing of a run that nobody holds, without the help of the collector."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from detent import (
    Agent,
    AgentResult,
    AgentTool,
    ChatMessage,
    ChatReply,
    Journal,
    MemoryJournal,
    SQLiteJournal,
    State,
    StreamingChunk,
    Tool,
    ToolCall,
    before_tool,
    tool,
)

RUNS = 200
BYTES_A_RUN_MAX = 100.0
"""A run takes some 20,000 while it lasts."""


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(name="add")
async def add_later(a: int, b: int) -> int:
    """Add two numbers."""
    await asyncio.sleep(0)
    return a + b


@tool(name="add")
def fail(a: int, b: int) -> int:
    """Add two numbers."""
    raise ValueError(a)


@tool(name="add")
async def fail_later(a: int, b: int) -> int:
    """Add two numbers."""
    raise ValueError(b)


class OneCall:
    """A model that calls the tool in one turn, answers in pieces if asked to, and keeps nothing."""

    def __init__(self, calls: int = 1, **arguments: object) -> None:
        self.calls = calls
        self.arguments = arguments or {"a": 1, "b": 2}

    def run(
        self,
        messages: Sequence[ChatMessage],
        *,
        streaming_callback: Callable[[StreamingChunk], object] | None = None,
        **options: Any,
    ) -> ChatReply:
        """Tell by the conversation what is next."""
        if len(messages) > 1:
            if streaming_callback is not None:
                streaming_callback(StreamingChunk("done"))
            return ChatReply(ChatMessage.from_assistant("done"))
        calls = [ToolCall("add", self.arguments, f"c{n}") for n in range(self.calls)]
        return ChatReply(ChatMessage.from_assistant(tool_calls=calls))

    async def run_async(self, messages: Sequence[ChatMessage], **options: Any) -> ChatReply:
        """As `run`."""
        return self.run(messages, **options)


AGENT = Agent(chat_generator=OneCall(), tools=[add])
SUBORDINATE = AgentTool(AGENT, name="add", description="Add two numbers.")
HEAD = Agent(chat_generator=OneCall(task="1 + 2"), tools=[SUBORDINATE])


def with_tool(one: Tool, *, calls: int = 1, **options: Any) -> Agent[State, None]:
    """An agent that calls this tool."""
    return Agent(chat_generator=OneCall(calls), tools=[one], **options)


def recorded(journal: Journal) -> Agent[State, None]:
    """An agent that writes down what it does."""
    return Agent(chat_generator=OneCall(), tools=[add], journal=journal)


def streamed(agent: Agent[State, None]) -> AgentResult[State]:
    """The last that a stream gives."""
    *_, last = agent.stream("go")
    assert isinstance(last, AgentResult)
    return last


def streamed_in_a_loop(agent: Agent[State, None]) -> AgentResult[State]:
    """As `streamed`, in an event loop."""

    async def go() -> AgentResult[State]:
        seen = [one async for one in agent.stream_async("go")]
        last = seen.pop()
        assert isinstance(last, AgentResult)
        return last

    return asyncio.run(go())


WAYS: dict[str, Callable[[Agent[State, None]], AgentResult[State]]] = {
    "blocking": lambda agent: agent.run("go"),
    "asyncio": lambda agent: asyncio.run(agent.run_async("go")),
    "blocking, with a callback": lambda agent: agent.run("go", lambda piece: None),
    "asyncio, with a callback": lambda agent: asyncio.run(
        agent.run_async("go", lambda piece: None)
    ),
    "stream": streamed,
    "async stream": streamed_in_a_loop,
}
AGENTS: dict[str, Callable[[Path], Agent[State, None]]] = {
    "alone": lambda folder: AGENT,
    "with a journal in memory": lambda folder: recorded(MemoryJournal()),
    "with a journal in SQLite": lambda folder: recorded(SQLiteJournal(folder / "runs.db")),
    "with an agent as its tool": lambda folder: HEAD,
    "with a tool that waits": lambda folder: with_tool(add_later),
    "with a tool that fails": lambda folder: with_tool(fail),
    "with a tool that waits and fails": lambda folder: with_tool(fail_later),
    "with tools that run at once": lambda folder: with_tool(add, calls=5),
    "with a tool that has hooks": lambda folder: with_tool(
        add, hooks=[before_tool(lambda effect, run: effect)]
    ),
}


@contextmanager
def without_collector() -> Generator[None]:
    """What is freed in it is freed because nothing refers to it."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize("made", AGENTS.values(), ids=AGENTS)
@pytest.mark.parametrize("go", WAYS.values(), ids=WAYS)
def test_a_run_that_nobody_holds_is_freed_at_once(
    go: Callable[[Agent[State, None]], AgentResult[State]],
    made: Callable[[Path], Agent[State, None]],
    tmp_path: Path,
) -> None:
    """There is no cycle in a run: the collector has nothing to do."""
    agent = made(tmp_path)
    go(agent)
    with without_collector():
        result = go(agent)
        assert result.text == "done"
        seen = weakref.ref(result.run)
        del result
        assert seen() is None
        assert not left()


def left() -> list[object]:
    """What is ours of all that nobody can reach, and that waits for the collector."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return [one for one in gc.garbage if type(one).__module__.startswith("detent")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


def test_many_short_runs_leave_nothing_behind() -> None:
    """An agent that has served many is as large as one that has served few."""
    with without_collector():
        serve(5 * RUNS)  # the interpreter keeps memory for later, more over the first thousand runs
        tracemalloc.start()
        try:
            serve(RUNS)
            before, _ = tracemalloc.get_traced_memory()
            serve(RUNS)
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert gc.collect() == 0
    assert (after - before) / RUNS < BYTES_A_RUN_MAX


def serve(runs: int) -> None:
    """Run the agent so many times."""
    for _ in range(runs):
        AGENT.run("go")
