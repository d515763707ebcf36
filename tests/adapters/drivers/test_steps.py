"""Steps: what is to be recorded is waited for, by threads and event loops; it holds up no other."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from functools import wraps
from itertools import pairwise
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from detent import Agent, ChatMessage, ScriptedChatGenerator, State, ToolCall, tool
from detent.adapters.drivers.steps import Steps, Wait, answer, at_once, begun, in_event_loop
from detent.adapters.system.wakes import AT_ONCE, own_turn, woken_by
from detent.journals import (
    Entry,
    JournalConflictError,
    JournalError,
    JournalUnavailableError,
    MemoryJournal,
    SQLiteJournal,
)
from detent.ports.journal import OUTAGE_S, Checkpoint
from detent.ports.laws.breaking import PATIENCE_S
from detent.testing import JumpingClock


def in_event_loop_of_its_own(
    test: Callable[[], Coroutine[Any, Any, None]],
) -> Callable[[], None]:
    """A test that is a coroutine."""

    @wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


class SlowJournal(MemoryJournal):
    """Writes what is submitted when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[tuple[tuple[str, Sequence[Entry], Checkpoint | None], Future[None]]] = []
        self.is_open = False

    def submit(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> Future[None]:
        """Keeps it until `write`."""
        future = Future[None]()
        self.waiting.append(((run_id, entries, checkpoint), future))
        if self.is_open:
            self.write()
        return future

    def write(self) -> list[str]:
        """Write what waits; gives the kinds of entries."""
        waiting, self.waiting = self.waiting, []
        for append, future in waiting:
            self.append(*append)
            future.set_result(None)
        return [entry.kind for (_, entries, _), _ in waiting for entry in entries]


class FlakyJournal(MemoryJournal):
    """Cannot be reached a few times; perhaps it has written by then."""

    outage_s = OUTAGE_S

    def __init__(self, failures: int, *, writes: bool) -> None:
        super().__init__()
        self.failures, self.writes = failures, writes

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the other, where it is reached."""
        is_failure = self.failures > 0 and entries[0].kind != "Started"
        if not is_failure or self.writes:
            super().append(run_id, entries, checkpoint)
        if is_failure:
            self.failures -= 1
            raise JournalUnavailableError("the server restarts")


class FlakySubmittingJournal(FlakyJournal):
    """The same for event loops."""

    def submit(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> Future[None]:
        """Done at once."""
        future = Future[None]()
        try:
            self.append(run_id, entries, checkpoint)
        except JournalError as error:
            future.set_exception(error)
        else:
            future.set_result(None)
        return future


class TwiceLostJournal(FlakyJournal):
    """The answer to what was written is lost, and so is the first look for it."""

    looks_to_lose = 0

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the other."""
        try:
            super().append(run_id, entries, checkpoint)
        except JournalConflictError:
            self.looks_to_lose += not self.failures
            raise

    def read(self, run_id: str, start: int = 0) -> Sequence[Entry]:
        """The entries, where it is reached."""
        if self.looks_to_lose:
            self.looks_to_lose, self.failures = 0, -1
            raise JournalUnavailableError("the server restarts once more")
        return super().read(run_id, start)


def agent_with(
    journal: MemoryJournal, calls: list[int], clock: JumpingClock | None = None
) -> Agent[State, None]:
    @tool
    async def pay(amount: int) -> str:
        """Pay."""
        calls.append(amount)
        await asyncio.sleep(0)
        return "paid"

    call = ChatMessage.from_assistant(tool_calls=[ToolCall("pay", {"amount": 5})])
    chat = ScriptedChatGenerator(call, "Done.")
    return Agent(chat_generator=chat, tools=[pay], journal=journal, clock=clock or JumpingClock())


FROZEN_S = 2.0
"""An event loop that waited for the lock would be late by much more: as long as it is held."""


async def until(holds: Callable[[], object]) -> None:
    """Give others their turns until it holds; some of them are in threads."""
    end = monotonic() + PATIENCE_S
    while not holds():
        assert monotonic() < end, "it never came to that"
        await asyncio.sleep(0)


@in_event_loop_of_its_own
async def test_an_event_loop_goes_on_while_a_store_writes() -> None:
    """And no tool begins before it is safe that it will."""
    journal, calls = SlowJournal(), list[int]()
    run = asyncio.create_task(agent_with(journal, calls).run_async("Pay Ann."))
    await until(lambda: journal.waiting)
    assert journal.write() == ["Started"]
    await until(lambda: journal.waiting)
    assert not calls
    assert journal.write() == ["ModelReplied", "ToolStarted"]
    await until(lambda: calls)
    await until(lambda: journal.waiting)
    assert journal.write() == ["ToolReturned"]
    await until(lambda: journal.waiting)
    journal.is_open = True
    journal.write()
    assert (await run).text == "Done."


@in_event_loop_of_its_own
async def test_who_is_cancelled_knows_first_what_was_written() -> None:
    """What a tool has given is recorded, and then the run is cancelled."""
    journal, calls = SlowJournal(), list[int]()
    agent = agent_with(journal, calls)
    run = asyncio.create_task(agent.run_async("Pay Ann.", run_id="r"))
    for _ in range(2):
        await until(lambda: journal.waiting)
        journal.write()
    await until(lambda: journal.waiting)
    run.cancel("enough")
    for _ in range(20):
        await asyncio.sleep(0)
    assert not run.done()
    assert journal.write() == ["ToolReturned"]
    with pytest.raises(asyncio.CancelledError):
        await run
    assert [entry.kind for entry in journal.read("r")][-1] == "ToolReturned"
    journal.is_open = True
    assert (await agent.resume_async("r")).text == "Done."
    assert calls == [5]


@in_event_loop_of_its_own
async def test_a_time_limit_around_a_run_is_told_of() -> None:
    """A cancellation that comes late counts once."""
    journal = SlowJournal()
    agent = agent_with(journal, [])

    async def write_late() -> None:
        await asyncio.sleep(0.05)
        journal.is_open = True
        journal.write()

    writing = asyncio.create_task(write_late())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await agent.run_async("Pay Ann.")
    await writing
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("failures", [1, 3])
def test_an_append_that_fails_in_passing_is_tried_again(failures: int, *, writes: bool) -> None:
    """It counts once, whether it was written or not, and the tool runs once."""
    for kind in (FlakyJournal, FlakySubmittingJournal):
        journal, calls = kind(failures, writes=writes), list[int]()
        assert agent_with(journal, calls).run("Pay Ann.", run_id="r").text == "Done."
        assert calls == [5]
        assert [entry.position for entry in journal.read("r")] == list(range(5))

        journal, calls = kind(failures, writes=writes), []
        agent = agent_with(journal, calls)
        assert asyncio.run(agent.run_async("Pay Ann.", run_id="r")).text == "Done."
        assert calls == [5]
        assert [entry.position for entry in journal.read("r")] == list(range(5))


def test_a_look_whether_an_append_was_written_is_tried_again_as_well() -> None:
    """The store goes away once more, right then."""
    for drive in (Agent.run, lambda *told, **more: asyncio.run(Agent.run_async(*told, **more))):
        journal, calls = TwiceLostJournal(1, writes=True), list[int]()
        result = drive(agent_with(journal, calls), "Pay Ann.", run_id="r")
        assert (result.text, calls, journal.failures) == ("Done.", [5], -1)
        assert [entry.position for entry in journal.read("r")] == list(range(5))


@pytest.mark.parametrize("outage_s", [0.0, OUTAGE_S, 60.0])
def test_it_is_not_tried_for_ever(outage_s: float) -> None:
    """After ten seconds, which this clock skips, or as many as the store says, the run ends.

    What is stored stands.
    """
    journal, clock = FlakyJournal(10_000, writes=False), JumpingClock()
    journal.outage_s = outage_s
    begun = clock.now()
    with pytest.raises(JournalUnavailableError, match="the server restarts"):
        agent_with(journal, [], clock).run("Pay Ann.", run_id="r")
    assert clock.now() - begun == pytest.approx(outage_s, abs=0.5)
    assert journal.failures > 9_980 - outage_s
    assert [entry.kind for entry in journal.read("r")] == ["Started"]


def test_what_a_wait_raises_is_raised_in_the_steps() -> None:
    """In both kinds of loops, and they may go on."""

    def failing() -> object:
        raise ValueError("no")

    def steps() -> Steps[str]:
        try:
            yield Wait(failing)
        except ValueError as error:
            return f"heard {error}"
        return "nothing"

    assert at_once(steps()) == "heard no"
    assert asyncio.run(in_event_loop(steps())) == "heard no"


@in_event_loop_of_its_own
async def test_few_are_woken_in_one_round() -> None:
    """Whoever else is due has a turn between them."""
    order: list[str] = []
    done = Future[None]()

    async def wait() -> None:
        await woken_by(done)
        order.append("woken")

    async def other() -> None:
        while order.count("woken") < 3 * AT_ONCE:
            order.append("other")
            await asyncio.sleep(0)

    waits = [asyncio.create_task(wait()) for _ in range(3 * AT_ONCE)]
    await asyncio.sleep(0)
    done.set_result(None)
    await asyncio.gather(other(), *waits)
    runs = "".join("w" if item == "woken" else " " for item in order).split()
    assert max(map(len, runs)) == AT_ONCE


@in_event_loop_of_its_own
async def test_few_take_their_turn_in_one_round() -> None:
    """The first ones at once."""
    order: list[str] = []

    async def turn() -> None:
        await own_turn()
        order.append("turn")

    async def other() -> None:
        while order.count("turn") < 3 * AT_ONCE:
            order.append("other")
            await asyncio.sleep(0)

    turns = [asyncio.create_task(turn()) for _ in range(3 * AT_ONCE)]
    await asyncio.gather(other(), *turns)
    runs = "".join("t" if item == "turn" else " " for item in order).split()
    assert max(map(len, runs)) <= AT_ONCE
    assert len(runs[0]) == AT_ONCE


@in_event_loop_of_its_own
async def test_what_has_come_is_written_down_whoever_is_cancelled() -> None:
    """Also of those who wait for their turn to say what has come."""
    journal, done = SlowJournal(), asyncio.Event()
    journal.is_open = True

    @tool
    async def pay(amount: int) -> str:
        """Pay."""
        await done.wait()
        return "paid"

    def run(name: str) -> asyncio.Task[object]:
        call = ChatMessage.from_assistant(tool_calls=[ToolCall("pay", {"amount": 5})])
        agent = Agent(
            chat_generator=ScriptedChatGenerator(call, "Done."), tools=[pay], journal=journal
        )
        return asyncio.create_task(agent.run_async("Pay.", run_id=name))

    runs = [run(f"run {n}") for n in range(3 * AT_ONCE)]
    kinds = [f"run {n}" for n in range(3 * AT_ONCE)]
    await until(lambda: all(len(list(journal.read(one))) == 3 for one in kinds))
    done.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for task in runs:
        task.cancel()
    await asyncio.gather(*runs, return_exceptions=True)

    last = [[entry.kind for entry in journal.read(one)][-1] for one in kinds]
    assert "ToolStarted" not in last


@in_event_loop_of_its_own
async def test_what_is_cancelled_before_it_begins_never_ran() -> None:
    """It is known, so that nobody needs to be asked about it."""
    journal, calls = SlowJournal(), list[int]()
    agent = agent_with(journal, calls)
    run = asyncio.create_task(agent.run_async("Pay Ann.", run_id="r"))
    await until(lambda: journal.waiting)
    journal.write()
    await until(lambda: journal.waiting)
    run.cancel()
    await asyncio.sleep(0)
    journal.is_open = True
    journal.write()
    with pytest.raises(asyncio.CancelledError):
        await run
    await asyncio.sleep(0)  # nothing strikes who has heard of it
    assert [entry.kind for entry in journal.read("r")][-1] == "ToolNeverRan"
    assert not calls
    assert (await agent.resume_async("r")).text == "Done."
    assert calls == [5]


@in_event_loop_of_its_own
async def test_who_is_cancelled_twice_writes_down_what_has_ended() -> None:
    """And waits no longer for what has not."""
    journal, is_slow = SlowJournal(), asyncio.Event()
    journal.is_open = True

    @tool
    async def patient() -> str:
        """Gives what it has when it is cancelled."""
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(10)
        return "what it has"

    @tool
    async def slow() -> str:
        """Takes its time to end."""
        try:
            await asyncio.sleep(10)
        finally:
            is_slow.set()
            await asyncio.sleep(10)
        return "slow"

    both = ChatMessage.from_assistant(tool_calls=[ToolCall("patient", {}), ToolCall("slow", {})])
    chat = ScriptedChatGenerator(both)
    agent = Agent(chat_generator=chat, tools=[patient, slow], journal=journal)
    run = asyncio.create_task(agent.run_async("Both.", run_id="r"))
    await until(lambda: len(list(journal.read("r"))) == 4)
    await asyncio.sleep(0)
    run.cancel()
    await is_slow.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert "ToolReturned" in [entry.kind for entry in journal.read("r")]


def test_what_is_begun_goes_on_where_it_waits() -> None:
    """The part before the first wait is done at once; what the wait raises is raised there."""
    seen: list[object] = []

    def steps() -> Steps[str]:
        seen.append("begun")
        try:
            seen.append((yield Wait(lambda: 1)))
            yield Wait(lambda: 1 // 0)
        except ZeroDivisionError:
            seen.append("raised")
        return "done"

    waiting = begun(steps())
    assert seen == ["begun"]
    assert at_once(waiting) == "done"
    assert seen == ["begun", 1, "raised"]


def test_what_is_begun_may_have_ended_or_is_closed() -> None:
    """What waits for nothing has come to its end; whoever is left hears of it."""
    seen: list[str] = []

    def steps() -> Steps[None]:
        try:
            yield Wait(lambda: None)
        finally:
            seen.append("closed")

    assert at_once(begun(answer(None, lambda: 5))) == 5
    waiting = begun(steps())
    next(waiting)
    waiting.close()
    assert seen == ["closed"]


def test_an_event_loop_goes_on_while_others_hold_a_file(tmp_path: Path) -> None:
    """Whoever has SQLite's lock in another process holds up the run alone."""
    asyncio.run(assert_the_loop_goes_on(tmp_path / "runs.db"))


async def assert_the_loop_goes_on(path: Path) -> None:
    journal = SQLiteJournal(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        held, beats = asyncio.Event(), list[float]()

        @tool
        async def hold() -> str:
            """Take the lock."""
            await asyncio.sleep(0)
            other.execute("BEGIN IMMEDIATE")
            beats.append(monotonic())
            held.set()
            return "held"

        call = ChatMessage.from_assistant(tool_calls=[ToolCall("hold", {})])
        chat = ScriptedChatGenerator(call, "Done.")
        agent: Agent[Any] = Agent(chat_generator=chat, tools=[hold], journal=journal)
        run = asyncio.create_task(agent.run_async("Hold it.", run_id="r"))
        await held.wait()
        for _ in range(400):
            await asyncio.sleep(0.001)
            beats.append(monotonic())
        is_held = not run.done()
        other.execute("COMMIT")

    assert (await run).text == "Done."
    assert is_held
    assert max(later - sooner for sooner, later in pairwise(beats)) < FROZEN_S
