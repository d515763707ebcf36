"""Streams: a run as an iterator, which may be closed before its end."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Sequence
from contextlib import aclosing, closing
from pathlib import Path
from queue import SimpleQueue
from threading import get_ident
from typing import Any, TypeAlias

import pytest
from typing_extensions import override

from detent import (
    Agent,
    AgentResult,
    AlwaysAskPolicy,
    AsyncInbox,
    BlockingConfirmationStrategy,
    Breakpoint,
    BreakpointException,
    ChatGeneratorError,
    ChatMessage,
    ConfirmationUIResult,
    Inbox,
    MemoryJournal,
    Retries,
    ScriptedChatGenerator,
    StateError,
    StreamingChunk,
    Tool,
    ToolCall,
    tool,
)
from detent.adapters.drivers.shared_run import Halt
from detent.journals import (
    Checkpoint,
    Entry,
    Journal,
    JournalError,
    RunNotFoundError,
    SQLiteJournal,
)
from detent.machine import (
    CancelRequested,
    Effect,
    Event,
    Judged,
    ModelReplied,
    RunTool,
    ToolRaised,
    ToolReturned,
    ToolStarted,
)
from detent.models import ModelFailure
from detent.ports.claims import Owner
from detent.testing import ScriptedHuman

Seen: TypeAlias = list[Any]
Reader: TypeAlias = Callable[..., Seen]
"""Reads a stream: ``read(agent, message, **options)``, up to the first item that `until` fits."""


class Mail(SimpleQueue[Any]):
    """An inbox that says when the reader has left, by which time the run has been told."""

    def __init__(self, left: threading.Event) -> None:
        super().__init__()
        self._left = left

    @override
    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """As in any queue."""
        super().put(item)
        if isinstance(item, Halt):
            self._left.set()


class AsyncMail(asyncio.Queue[Any]):
    """The same, for a run in an event loop."""

    def __init__(self, left: threading.Event) -> None:
        super().__init__()
        self._left = left

    @override
    def put_nowait(self, item: Any) -> None:
        """As in any queue."""
        super().put_nowait(item)
        if isinstance(item, Halt):
            self._left.set()


def blocking(
    agent: Agent[Any],
    *args: Any,
    until: Callable[[Any], bool] | None = None,
    left: threading.Event | None = None,
    way: str = "stream",
    **options: Any,
) -> Seen:
    seen: Seen = []
    inbox = Mail(left or threading.Event())
    with closing(getattr(agent, way)(*args, inbox=inbox, **options)) as stream:
        for item in stream:
            seen.append(item)
            if until is not None and until(item):
                break
    return seen


def async_(
    agent: Agent[Any],
    *args: Any,
    until: Callable[[Any], bool] | None = None,
    left: threading.Event | None = None,
    way: str = "stream",
    **options: Any,
) -> Seen:
    async def read() -> Seen:
        seen: Seen = []
        inbox = AsyncMail(left or threading.Event())
        async with aclosing(getattr(agent, f"{way}_async")(*args, inbox=inbox, **options)) as items:
            async for item in items:
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


def test_closing_a_stream_cancels_a_run_that_nobody_could_go_on_with(read: Reader) -> None:
    """Without a journal; a tool that hangs is not waited for."""
    told = []
    release = threading.Event()

    @tool
    def hang() -> None:
        """Hang."""
        assert release.wait(10)

    def watch(before: object, event: Event, after: object) -> None:
        told.append(event)

    chat = ScriptedChatGenerator(ToolCall("hang", {}))
    agent = Agent(chat_generator=chat, tools=[hang], observers=[watch])

    read(agent, "go", until=is_start)
    release.set()

    assert [type(event) for event in told] == [ModelReplied, ToolStarted, CancelRequested]


def kinds_in(journal: Journal) -> list[str]:
    (run,) = journal.runs()
    return [entry.kind for entry in journal.read(run.run_id)]


BEGUN = ["Started", "ModelReplied", "ToolStarted"]


def is_start(item: object) -> bool:
    return isinstance(item, ToolStarted)


def slow_until(left: threading.Event) -> Tool:
    """A tool that works until nobody watches."""

    @tool
    def slow() -> None:
        """Work."""
        assert left.wait(10)

    return slow


SLOW = ToolCall("slow", {}, "s1")


def test_leaving_a_stream_leaves_a_run_that_is_kept(read: Reader) -> None:
    """What is at work is heard out and recorded, and nothing more is begun, here a second tool."""
    journal, left = MemoryJournal(), threading.Event()
    chat = ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=[SLOW, CALL]), "done")
    tools = [slow_until(left), pay]
    agent: Agent[Any] = Agent(
        chat_generator=chat, tools=tools, journal=journal, parallel_tool_calls=1
    )

    read(agent, "go", run_id="r", until=is_start, left=left)

    assert kinds_in(journal) == [*BEGUN, "ToolReturned"]
    assert [run.status for run in journal.runs()] == ["running"]
    assert agent.resume("r").text == "done"
    assert kinds_in(journal).count("ToolStarted") == 2


def test_an_answer_that_is_on_its_way_is_kept(read: Reader) -> None:
    """It has been paid for. The tool that it calls does not run."""
    journal, left = MemoryJournal(), threading.Event()

    chat = ScriptedChatGenerator(CALL, CALL)

    class Late:
        def run(self, *args: Any, **options: Any) -> Any:
            assert not chat.calls or left.wait(10)
            return chat.run(*args, **options)

    agent: Agent[Any] = Agent(chat_generator=Late(), tools=[pay], journal=journal)

    read(agent, "go", until=lambda item: isinstance(item, ToolReturned), left=left)

    assert kinds_in(journal) == [*BEGUN, "ToolReturned", "ModelReplied"]


def test_who_leaves_waits_for_no_human_and_no_time(read: Reader) -> None:
    """A pause of a day before another attempt, and a human who never comes: they stay owed."""
    journal, never = MemoryJournal(), threading.Event()

    class Absent:
        def get_user_confirmation(self, *asked: object, **named: object) -> ConfirmationUIResult:
            never.wait(10)
            return ConfirmationUIResult("confirm")

    @tool(retries=Retries(3, backoff_s=86_400, backoff_max_s=86_400))
    def fail() -> None:
        """Fail."""
        raise OSError

    calls = [ToolCall("fail", {}, "c0"), CALL]
    chat = ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=calls))
    rule = BlockingConfirmationStrategy(AlwaysAskPolicy(), Absent())
    agent: Agent[Any] = Agent(
        chat_generator=chat,
        tools=[fail, pay],
        journal=journal,
        confirmation_strategies={"pay": rule},
    )

    read(agent, "go", until=lambda item: isinstance(item, ToolRaised))
    assert not never.is_set()
    never.set()

    assert sorted(kinds_in(journal)) == sorted([*BEGUN, "Judged", "ToolRaised"])


def test_no_breakpoint_counts_as_passed_that_nobody_has_seen(read: Reader) -> None:
    """Neither one that has held a tool beside the one at work, nor one that was to come."""
    calls = ChatMessage.from_assistant(tool_calls=[SLOW, CALL])

    def before_pay(run: object, effect: Effect) -> bool:
        return isinstance(effect, RunTool) and effect.tool.name == "pay"

    for holds in (before_pay, Breakpoint("chat_generator", visit_count=1)):
        journal, left = MemoryJournal(), threading.Event()
        agent: Agent[Any] = Agent(
            chat_generator=ScriptedChatGenerator(calls),
            tools=[slow_until(left), pay],
            journal=journal,
        )

        read(agent, "go", run_id="r", break_point=holds, until=is_start, left=left)

        assert "Stopped" not in kinds_in(journal)
        with pytest.raises(BreakpointException):
            agent.resume("r", break_point=holds)


def test_who_leaves_is_not_told_where_the_run_has_stopped(read: Reader) -> None:
    """A call that waits for a human is no error of theirs."""
    journal, left = MemoryJournal(), threading.Event()
    calls = ChatMessage.from_assistant(tool_calls=[SLOW, CALL])
    agent: Agent[Any] = Agent(
        chat_generator=ScriptedChatGenerator(calls),
        tools=[slow_until(left), pay],
        journal=journal,
        confirmation_strategies={"pay": AlwaysAskPolicy()},
    )

    read(agent, "go", until=lambda item: isinstance(item, Judged), left=left)

    assert [run.status for run in journal.runs()] == ["waiting"]


def test_who_leaves_is_told_what_could_not_be_recorded(read: Reader) -> None:
    """The run is not what they think that it is."""
    left = threading.Event()

    class Full(MemoryJournal):
        def append(
            self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
        ) -> None:
            if entries[0].kind == "ToolReturned":
                raise JournalError("full")
            super().append(run_id, entries, checkpoint)

    agent: Agent[Any] = Agent(
        chat_generator=ScriptedChatGenerator(SLOW), tools=[slow_until(left)], journal=Full()
    )

    with pytest.raises(JournalError, match="full"):
        read(agent, "go", until=is_start, left=left)


def test_an_inbox_ends_a_run_that_is_watched() -> None:
    """As one that nobody watches."""

    @tool
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    def agent() -> Agent[Any]:
        chat = ScriptedChatGenerator(ToolCall("hang"))
        return Agent(chat_generator=chat, tools=[hang], journal=MemoryJournal())

    async def read() -> Seen:
        inbox = AsyncInbox()
        inbox.put_nowait(CancelRequested("enough"))
        return [item async for item in agent().stream_async("go", inbox=inbox)]

    inbox = Inbox()
    inbox.put(CancelRequested("enough"))
    for seen in (list(agent().stream("go", inbox=inbox)), asyncio.run(read())):
        assert [type(item) for item in seen] == [CancelRequested, AgentResult]
    with pytest.raises(TypeError, match="inbox must be"):
        agent().stream("go", inbox=AsyncInbox())  # type: ignore[arg-type] # the mistake


def test_a_run_of_the_journal_is_streamed_from_where_it_is(read: Reader) -> None:
    """What has happened before is not told again; one that has ended gives its result."""
    journal, left = MemoryJournal(), threading.Event()
    chat = ScriptedChatGenerator(SLOW, CALL, "done")
    agent: Agent[Any] = Agent(chat_generator=chat, tools=[slow_until(left), pay], journal=journal)
    read(agent, "go", run_id="r", until=is_start, left=left)

    seen = read(agent, "r", way="resume_stream")

    kinds = [type(item) for item in seen if not isinstance(item, StreamingChunk)]
    assert kinds == [ModelReplied, ToolStarted, ToolReturned, ModelReplied, AgentResult]
    assert isinstance(seen[0], StreamingChunk)
    assert seen[-1].text == "done"
    assert [type(item) for item in read(agent, "r", way="resume_stream")] == [AgentResult]
    with pytest.raises(RunNotFoundError):
        read(agent, "nobody", way="resume_stream")


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
    with pytest.raises(RuntimeError, match=r"no running event loop: .* agent\.stream\(…\)"):
        agent_of("hi").stream_async("go")


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


def test_a_task_that_is_cancelled_leaves_the_run() -> None:
    """Once: it waits for what is at work. Once more: it goes at once, and nothing is lost."""

    async def main(*, cancels: int) -> list[str]:
        journal, begun, end = MemoryJournal(), asyncio.Event(), asyncio.Event()
        ended = asyncio.Event()

        @tool
        async def slow() -> str:
            """Work on."""
            begun.set()
            await end.wait()
            return "done"

        def observe(before: object, event: Event, after: object) -> None:
            if isinstance(event, ToolReturned):
                ended.set()

        async def read() -> None:
            async with aclosing(agent.stream_async("go")) as stream:
                async for _ in stream:
                    pass

        chat = ScriptedChatGenerator(ToolCall("slow"))
        agent: Agent[Any] = Agent(
            chat_generator=chat, tools=[slow], journal=journal, observers=[observe]
        )
        reader = asyncio.create_task(read())
        await begun.wait()
        for _ in range(cancels):
            reader.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert reader.done() is (cancels == 2)
        gc.collect()
        end.set()
        await asyncio.wait([reader])
        assert reader.cancelled()
        await ended.wait()
        return kinds_in(journal)

    for cancels in (1, 2):
        assert asyncio.run(main(cancels=cancels)) == [*BEGUN, "ToolReturned"]


class InThread(SQLiteJournal):
    """Notes the threads that write to it or read of it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.threads = set[int]()

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        self.threads.add(get_ident())
        super().append(run_id, entries, checkpoint)

    def read(self, run_id: str, start: int = 0) -> Iterator[Entry]:
        """As the port says."""
        self.threads.add(get_ident())
        return super().read(run_id, start)


def test_no_store_is_waited_for_in_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither when a stream begins nor when it goes on with a run; nor for claims."""
    journal = InThread(tmp_path / "runs.db")
    kept = journal.claims.keep
    agent: Agent[Any] = Agent(
        chat_generator=ScriptedChatGenerator("hi"), journal=journal, claim_s=60.0
    )

    def keep(owner: Owner) -> None:
        journal.threads.add(get_ident())
        kept(owner)

    monkeypatch.setattr(journal.claims, "keep", keep)

    async def read() -> int:
        async for _ in agent.stream_async("go", run_id="r"):
            pass
        async for _ in agent.resume_stream_async("r"):
            pass
        return get_ident()

    loop = asyncio.run(read())

    assert journal.threads
    assert loop not in journal.threads
