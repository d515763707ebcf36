"""What stays in memory: nothing of a run that nobody holds, without the help of the collector."""

from __future__ import annotations

import asyncio
import gc
import threading
import tracemalloc
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

import pytest

from detent import (
    Agent,
    AgentResult,
    AgentTool,
    AlwaysAskPolicy,
    ChatGeneratorError,
    ChatMessage,
    HITLBreakpointException,
    MemoryJournal,
    SQLiteJournal,
    State,
    StreamingCallbackError,
    StreamingChunk,
    Tool,
    ToolCall,
    ToolInvocationError,
    before_tool,
    tool,
)
from detent.adapters.system import threads_and_loops
from detent.journals import Checkpoint, Entry, Journal
from detent.machine import Run
from detent.models import ChatReply, ModelFailure

Seen: TypeAlias = dict[str, Any]
"""An option, which hears of each run."""

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
    gc.freeze()  # what is there stays: to look for garbage among all modules takes most of a test
    gc.disable()
    try:
        yield
    finally:
        gc.enable()  # and all stays frozen: else this test and each later one look among all again


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


class Failing:
    """A model that raises."""

    def __init__(self, kind: Callable[[], Exception]) -> None:
        self.kind = kind

    def run(self, messages: Sequence[ChatMessage], **options: Any) -> ChatReply:
        """Nothing."""
        raise self.kind()

    async def run_async(self, messages: Sequence[ChatMessage], **options: Any) -> ChatReply:
        """As `run`."""
        raise self.kind()


class Full(MemoryJournal):
    """A journal that keeps how a run begins, and no more."""

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """Of later entries none."""
        if entries[0].position:
            raise OSError(run_id)
        super().append(run_id, entries, checkpoint)


def break_off(piece: StreamingChunk) -> None:
    """Hear nothing."""
    raise ValueError(piece)


REFUSED = ModelFailure("authentication", "no")
ENDS_WITH_TOOL = {"raise_on_tool_invocation_failure": True}
ERRORS: dict[str, tuple[type[Exception], Callable[[Seen], Agent[State, None]]]] = {
    "a tool": (ToolInvocationError, lambda seen: with_tool(fail, **ENDS_WITH_TOOL, **seen)),
    "a tool that waits": (
        ToolInvocationError,
        lambda seen: with_tool(fail_later, **ENDS_WITH_TOOL, **seen),
    ),
    "a model": (
        ChatGeneratorError,
        lambda seen: Agent(
            chat_generator=Failing(
                lambda: ChatGeneratorError(ModelFailure("authentication", "no"))
            ),
            **seen,
        ),
    ),
    "a model's bug": (
        ChatGeneratorError,
        lambda seen: Agent(chat_generator=Failing(RuntimeError), **seen),
    ),
    "a journal": (OSError, lambda seen: with_tool(add, journal=Full(), **seen)),
    "a callback": (
        StreamingCallbackError,
        lambda seen: with_tool(add, streaming_callback=break_off, **seen),
    ),
    "a human who is not there": (
        HITLBreakpointException,
        lambda seen: with_tool(add, confirmation_strategies={"*": AlwaysAskPolicy()}, **seen),
    ),
}


def run_in_a_loop(agent: Agent[State, None], error: type[Exception]) -> None:
    """It is caught there: what leaves an event loop is held by frames of asyncio."""

    async def go() -> None:
        with pytest.raises(error):
            await agent.run_async("go")

    asyncio.run(go())


def stream_in_a_loop(agent: Agent[State, None], error: type[Exception]) -> None:
    """As `run_in_a_loop`."""

    async def go() -> None:
        with pytest.raises(error):
            [one async for one in agent.stream_async("go")]

    asyncio.run(go())


def run_here(agent: Agent[State, None], error: type[Exception]) -> None:
    """Blocking."""
    with pytest.raises(error):
        agent.run("go")


def stream_here(agent: Agent[State, None], error: type[Exception]) -> None:
    """Blocking, and watched."""
    with pytest.raises(error):
        list(agent.stream("go"))


def wait_for_threads() -> None:
    """A thread that has given its result holds it for a moment more."""
    patience = monotonic() + 10
    while monotonic() < patience:
        threads = [thread for thread in threading.enumerate() if thread.name == "detent"]
        if len(threads_and_loops._idle) >= len(threads):
            return


@pytest.mark.parametrize(("error", "made"), ERRORS.values(), ids=ERRORS)
@pytest.mark.parametrize("go", [run_here, run_in_a_loop, stream_here, stream_in_a_loop])
def test_a_run_that_has_raised_is_freed_at_once(
    go: Callable[[Agent[State, None], type[Exception]], None],
    error: type[Exception],
    made: Callable[[Seen], Agent[State, None]],
) -> None:
    """With the error that came of it: no frame in its traceback leads back to it."""
    runs: list[weakref.ref[Run[State]]] = []
    agent = made({"observers": [lambda before, event, after: runs.append(weakref.ref(after))]})
    if error is StreamingCallbackError and "stream" in go.__name__:
        return  # a stream takes the place of the callback
    go(agent, error)
    runs.clear()
    with without_collector():
        go(agent, error)
        wait_for_threads()
        assert [one() for one in runs] == [None] * len(runs)
        assert not left()


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
