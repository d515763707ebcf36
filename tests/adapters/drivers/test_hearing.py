"""A driver hears what others write while it works, sooner than its own next entry.

This module is another process as well: `python -m tests.adapters.drivers.test_hearing FOLDER
STORE` decides about the call that waits in the run, and cancels the run after that.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from detent import Agent, AlwaysAskPolicy, ChatMessage, MemoryJournal, ToolCall, tool
from detent.adapters.hosts.people import People
from detent.adapters.system import hearing
from detent.journals import Journal
from detent.machine import CancelRequested
from detent.models import ChatReply
from tests.adapters.journals.test_watching import journal_in

RUN = "heard"
CALLS = [ToolCall("pay", id="p"), ToolCall("count", id="c")]


class Hanging:
    """A model that calls two tools, and then says nothing any more."""

    def __init__(self, calls: Sequence[ToolCall] = CALLS) -> None:
        self.calls = list(calls)
        self.asked = Event()

    async def run_async(self, messages: Sequence[ChatMessage], **_: Any) -> ChatReply:
        """Call them; the second time, until somebody cancels it."""
        if self.calls and not any(message.tool_calls for message in messages):
            return ChatReply(ChatMessage.from_assistant(tool_calls=self.calls))
        self.asked.set()
        await asyncio.sleep(600)
        raise AssertionError("nobody has cancelled it")


def agent_on(journal: Journal, paid: Event, counted: Callable[[], object], **options: Any) -> Any:
    """An agent with a tool that somebody must confirm, and one that takes its time."""

    @tool
    def pay() -> str:
        """Pay it."""
        paid.set()
        return "paid"

    @tool
    def count() -> str:
        """Count the money."""
        counted()
        return "counted"

    options.setdefault("chat_generator", Hanging())
    return Agent(
        tools=[pay, count],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
        journal=journal,
        **options,
    )


def drive(agent: Any, *, is_async: bool) -> Any:
    """Drive the run to its end."""
    if is_async:
        return asyncio.run(agent.run_async("Pay.", run_id=RUN))
    return agent.run("Pay.", run_id=RUN)


def decide(agent: Any) -> None:
    """Say yes once the call waits, and cancel the run once all is paid and counted."""
    say_yes(agent)
    journal = agent.assembly.journal
    while [one.kind for one in journal.read(RUN)].count("ToolReturned") < 2:
        os.sched_yield()
    People(agent.assembly).say(RUN, CancelRequested("enough"))


def say_yes(agent: Any) -> None:
    """Decide about the call, as soon as it waits."""
    while not (list(agent.assembly.journal.read(RUN)) and agent.pending(RUN)):
        os.sched_yield()
    (call,) = agent.pending(RUN)
    agent.decide(RUN, call.confirm(by="Ada"))


@pytest.mark.parametrize(
    ("kind", "is_async"),
    [("directory", True), ("sqlite", False), ("sqlite", True), ("postgres", False)],
)
def test_what_another_process_says_is_heard_by_a_driver_at_work(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, *, is_async: bool
) -> None:
    """A yes has its call run beside the tool that is at work; a cancellation stops the model.

    Else neither ever ended: the tool waits for the call, and the model for good.
    """
    store = str(request.getfixturevalue("postgres_url")) if kind == "postgres" else kind
    paid = Event()
    journal = journal_in(tmp_path, store)
    journal.delete(RUN)
    agent = agent_on(journal, paid, lambda: paid.wait(60) or pytest.fail("nobody has paid"))
    command = [sys.executable, "-m", __name__, str(tmp_path), store]

    with subprocess.Popen(command) as other:
        try:
            result = drive(agent, is_async=is_async)
            assert other.wait(30) == 0
        finally:
            other.kill()

    assert "enough" in str(result.run.outcome)
    kinds = [one.kind for one in journal.read(RUN)]
    assert kinds.count("ToolStarted") == kinds.count("ToolReturned") == 2


@pytest.mark.parametrize("is_async", [False, True])
def test_what_is_said_in_the_process_is_heard_at_once(*, is_async: bool) -> None:
    """By the tool that is at work itself, say: it has nobody wait for the store to tell."""
    paid, journal = Event(), MemoryJournal()

    def decide_inside() -> None:
        say_yes(agent)
        assert paid.wait(30)
        People(agent.assembly).say(RUN, CancelRequested("enough"))

    agent = agent_on(journal, paid, decide_inside)
    result = drive(agent, is_async=is_async)

    assert "enough" in str(result.run.outcome)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_tool_is_stopped_by_a_cancellation(*, is_async: bool) -> None:
    """One that awaits: its coroutine is cancelled. The run has ended, and the driver is done."""
    journal = MemoryJournal()
    stopped = Event()

    @tool
    async def wait() -> str:
        """Wait for good."""
        try:
            await asyncio.to_thread(People(agent.assembly).say, RUN, CancelRequested("enough"))
            await asyncio.sleep(600)
        finally:
            stopped.set()
        return "never"

    model = Hanging([ToolCall("wait", id="w")])
    agent: Any = Agent(chat_generator=model, tools=[wait], journal=journal)
    result = drive(agent, is_async=is_async)

    assert "enough" in str(result.run.outcome)
    assert stopped.wait(30)
    assert not hearing._EARS


def test_who_is_cancelled_in_the_meantime_is_cancelled() -> None:
    """A driver that another task tends hears that all the same, and the run can go on."""
    paid, journal = Event(), MemoryJournal()

    async def main() -> None:
        task = asyncio.create_task(agent.run_async("Pay.", run_id=RUN))
        await asyncio.to_thread(model.asked.wait, 30)
        await asyncio.to_thread(say_yes, agent)
        assert await asyncio.to_thread(paid.wait, 30)
        task.cancel()
        await task

    model = Hanging()

    @tool
    def pay() -> str:
        """Pay it."""
        paid.set()
        return "paid"

    @tool
    async def count() -> str:
        """Count for good."""
        model.asked.set()
        await asyncio.sleep(600)
        return "counted"

    agent: Any = Agent(
        chat_generator=model,
        tools=[pay, count],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
        journal=journal,
    )
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())

    kinds = [one.kind for one in journal.read(RUN)]
    assert kinds.count("ToolReturned") == 1  # what has ended is known


class Broken(MemoryJournal):
    """Cannot be read for a while."""

    is_broken = False

    def read(self, run_id: str, start: int = 0) -> Any:
        """Or raises."""
        if self.is_broken and start:
            self.is_broken = False
            raise ConnectionError("no journal today")
        return super().read(run_id, start)


@pytest.mark.parametrize("is_async", [False, True])
def test_what_fails_beside_a_tool_is_raised_when_it_has_ended(*, is_async: bool) -> None:
    """And what the tool gave is recorded."""
    journal, told = Broken(), Event()

    def fail() -> None:
        journal.is_broken = True
        hearing.announce(RUN)
        while journal.is_broken:
            os.sched_yield()

    agent = agent_on(journal, told, fail, chat_generator=Hanging([ToolCall("count", id="c")]))
    with pytest.raises(ConnectionError, match="no journal today"):
        drive(agent, is_async=is_async)

    assert "ToolReturned" in [one.kind for one in journal.read(RUN)]


if __name__ == "__main__":
    folder, kind = Path(sys.argv[1]), sys.argv[2]
    decide(agent_on(journal_in(folder, kind), Event(), lambda: None))
