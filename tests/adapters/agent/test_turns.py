"""Turns to write to a run: nobody waits for one that never ends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any

import pytest

from detent import Agent, AlwaysAskPolicy, MemoryJournal, ScriptedChatGenerator, ToolCall, tool
from detent.adapters.agent.decisions import pause
from detent.adapters.drivers.company.turns import Turns, having_turn
from detent.adapters.drivers.loading import loaded
from detent.adapters.drivers.steps import Steps, Wait, in_event_loop
from detent.core.run.events import MessageReceived
from detent.journals import Checkpoint, Entry, JournalConflictError, RunNotFoundError

RUNS = ("a", "b")


@tool
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


class Answering(MemoryJournal):
    """Has something else done behind each message that it takes."""

    def __init__(self) -> None:
        super().__init__()
        self.behind: list[Callable[[], object]] = []

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        super().append(run_id, entries, checkpoint)
        if entries[0].kind == MessageReceived.__name__ and self.behind:
            self.behind.pop()()


def waiting(journal: MemoryJournal) -> Agent[Any]:
    """An agent whose runs wait for a human."""
    agent = Agent(
        chat_generator=ScriptedChatGenerator(*[ToolCall("pay", {"amount": 1})] * len(RUNS)),
        tools=[pay],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
        journal=journal,
    )
    for run_id in RUNS:
        agent.run("Pay.", run_id=run_id, raise_at_break_point=False)
    return agent


def in_time(call: Callable[[], object]) -> bool:
    """Whether a call ends, in a thread that keeps nobody."""
    thread = Thread(target=call, daemon=True)
    thread.start()
    thread.join(5)
    return not thread.is_alive()


def said_to(agent: Agent[Any], run_id: str) -> list[str]:
    """What waits to be read by the model."""
    run = loaded(agent.assembly.required_journal, agent.assembly.spec, run_id).run
    return [message.text or "" for message in run.unread]


@pytest.mark.parametrize("then", RUNS)
def test_a_journal_may_speak_to_runs_itself(then: str) -> None:
    """To the run of which it just takes something, and to another one: its turn is the same."""
    journal = Answering()
    agent = waiting(journal)
    journal.behind = [lambda: agent.send(then, "noted")]

    assert in_time(lambda: agent.send("a", "hello"))
    assert said_to(agent, "a") == ["hello", "noted"][: 2 if then == "a" else 1]
    assert said_to(agent, then)[-1] == "noted"


def test_what_is_said_after_a_turn_waits_for_its_own() -> None:
    """Only who has a turn waits for no other one."""
    turns = Turns()
    taken = [having_turn(turns.wait("a").call), turns.wait("a").call()]

    assert [getattr(release, "__self__", None) is not None for release in taken] == [False, True]


def test_in_an_event_loop_the_pause_before_the_next_try_is_awaited() -> None:
    """A thread that slept would be one less for all stores."""
    begin = pause(0.0).begin

    assert begin is not None
    assert asyncio.run(in_event_loop(iter_of(pause(0.0)))) is None


def iter_of(wait: Wait) -> Steps[object]:
    """One step."""
    return (yield wait)


def test_a_run_that_was_begun_anew_between_two_tries_hears_nothing() -> None:
    """It was said to the one that has been deleted meanwhile."""
    journal = Deleting()
    agent = waiting(journal)
    journal.then = lambda: waiting(journal)

    with pytest.raises(RunNotFoundError, match="nor has any other run"):
        agent.send("a", "hello")
    assert said_to(agent, "a") == []


class Deleting(MemoryJournal):
    """Is told to delete the runs right when one is to hear something, and has others then."""

    then: Callable[[], object] | None = None

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        if entries[0].kind == MessageReceived.__name__ and self.then is not None:
            then, self.then = self.then, None
            for run in RUNS:
                self.delete(run)
            then()
            raise JournalConflictError(run_id, entries[0].position, entries[0].position + 1)
        super().append(run_id, entries, checkpoint)


def test_two_that_speak_to_each_others_run_do_not_wait_for_one_another() -> None:
    """Whoever has a turn waits for no other one."""
    journal = Answering()
    agent = waiting(journal)
    release = turn_of(agent, "b")
    journal.behind = [lambda: agent.send("b", "noted")]

    assert in_time(lambda: agent.send("a", "hello"))
    release()
    assert said_to(agent, "b") == ["noted"]


def test_a_fork_does_not_wait_for_threads_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not there to end the turn that they have, nor to let go of what they hold."""
    agent = waiting(MemoryJournal())
    agent.send("a", "before")
    release = turn_of(agent, "a")
    agent.assembly.known_runs.here.lock.acquire()
    monkeypatch.setattr(os, "getpid", lambda: 7)

    assert in_time(lambda: agent.send("a", "hello"))
    assert said_to(agent, "a") == ["before", "hello"]
    release()


def turn_of(agent: Agent[Any], run_id: str) -> Callable[[], object]:
    """The turn of a run, and what ends it."""
    release = agent.assembly.known_runs.turns.wait(run_id).call()
    assert callable(release)
    return release
