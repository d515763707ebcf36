"""Which runs that wait an engine has lost: a part at a time, and no longer than it is so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from detent import (
    Agent,
    AlwaysAskPolicy,
    HITLBreakpointException,
    MemoryJournal,
    ScriptedChatGenerator,
    ToolCall,
    tool,
)
from detent.adapters.hosts.effects.changed import ChangedRuns
from detent.adapters.hosts.effects.lost import HistoryLostError, LostHistories
from detent.adapters.hosts.faults import AGAIN_S, PART
from detent.adapters.hosts.legs import Legs
from detent.adapters.hosts.reading import Reading
from detent.core.errors import AgentChangedError
from detent.journals import Entry, JournalUnavailableError
from detent.machine import ManualClock
from detent.ports.listing import Listing, StoredRun


@tool
def read() -> str:
    """Read."""
    return "it"


class Engine:
    """What it is asked for, and what it says of each run."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.told: list[str] = []
        self.faults: dict[str, Exception] = {}
        self.changed = ChangedRuns(are_held=True)
        self.meanwhile: Callable[[str], object] = self.asked.append

    async def require_followable(self, run_id: str) -> None:
        """Raises what is the matter with a run."""
        self.meanwhile(run_id)
        if (fault := self.faults.get(run_id)) is not None:
            raise fault

    async def go_on(self, run: StoredRun) -> None:
        """Begin it, where it is not there."""
        self.told.append(run.run_id)

    def lose(self, *run_ids: str) -> None:
        """It has them no more."""
        self.faults |= {run_id: HistoryLostError(run_id, "Temporal") for run_id in run_ids}


class Stage:
    """Runs that wait, and somebody who looks for those that are lost."""

    def __init__(self, count: int) -> None:
        self.engine, self.clock, self.journal = Engine(), ManualClock(1_000.0), MemoryJournal()
        script = [ToolCall("read", {}, "c1")] * count + ["Done."] * count
        self.agent: Agent[Any, Any] = Agent(
            chat_generator=ScriptedChatGenerator(*script),
            tools=[read],
            confirmation_strategies={"read": AlwaysAskPolicy()},
            journal=self.journal,
            name="it",
        )
        for number in range(count):
            with pytest.raises(HITLBreakpointException):
                self.agent.run("Go.", run_id=f"r{number}")
        legs = {"it": Legs.of("it", self.agent, self.journal, 15.0)}
        self.reading = Reading(self.journal, legs)
        self.lost = LostHistories(self.reading, self.engine, self.engine.go_on, self.clock)

    def look(self, times: int = 1) -> dict[str, str]:
        """What is known to be lost then."""
        for _ in range(times):
            asyncio.run(self.lost.look())
        return self.lost.texts()


def test_a_look_asks_for_a_part_of_the_runs_that_wait() -> None:
    """All have been asked for after some of them, and are again a while later."""
    stage = Stage(2 * PART + 1)
    for looks, count in enumerate((PART, 2 * PART, 2 * PART + 1, 2 * PART + 1), 1):
        stage.look()
        assert len(stage.engine.asked) == count, looks
    assert len(set(stage.engine.asked)) == 2 * PART + 1
    stage.clock.advance(AGAIN_S)
    stage.look()
    assert len(stage.engine.asked) == 3 * PART + 1


def test_a_run_is_lost_for_as_long_as_its_engine_has_not_got_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Or until it does not wait any more. The log says it once, and what to do."""
    stage = Stage(3)
    stage.engine.lose("r0", "r1")
    lost = dict.fromkeys(["r0", "r1"], "HistoryLostError")
    assert stage.look() == lost
    stage.clock.advance(AGAIN_S)
    assert stage.look() == lost
    assert caplog.text.count("detent runs resume r0 --take-over") == 1
    stage.agent.cancel("r1", "enough")
    stage.engine.faults.clear()
    stage.clock.advance(AGAIN_S)
    assert stage.look() == {}


def test_a_lost_run_that_somebody_has_decided_about_stays_lost() -> None:
    """It waits no more, and nobody goes on with it: until its engine has got it again."""
    stage = Stage(2)
    stage.engine.lose("r0")
    lost = stage.look()
    (question,) = stage.agent.pending("r0")
    stage.agent.decide("r0", question.confirm(by="Ada"))
    stage.clock.advance(AGAIN_S)
    assert stage.look() == lost == {"r0": "HistoryLostError"}
    stage.engine.faults.clear()
    stage.clock.advance(AGAIN_S)
    assert stage.look() == {}


def test_a_run_that_only_another_release_can_follow_is_found_to_be_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is not lost, and known until it has gone on there; the log says it once."""
    stage = Stage(2)
    engine, reading = stage.engine, stage.reading
    engine.lose("r0")
    stage.look()
    engine.faults["r0"] = AgentChangedError("run r0 was begun by other rules")
    for _ in range(2):
        stage.clock.advance(AGAIN_S)
        assert stage.look() == {}
        asyncio.run(engine.changed.look(reading))
        assert engine.changed.texts() == {"r0": "run r0 was begun by other rules"}
    assert caplog.text.count("was begun by other rules") == 1
    (question,) = stage.agent.pending("r0")
    stage.agent.decide("r0", question.confirm(by="Ada"))
    asyncio.run(engine.changed.look(reading))
    assert "r0" not in engine.changed


def test_a_run_that_has_just_ended_is_not_lost() -> None:
    """Its engine has ended it behind the journal, while it was asked for."""
    stage = Stage(1)
    stage.engine.lose("r0")
    stage.engine.meanwhile = lambda run_id: stage.agent.cancel(run_id, "enough")
    assert stage.look() == {}


def test_what_else_goes_wrong_is_another_matter(caplog: pytest.LogCaptureFixture) -> None:
    """It keeps nobody from being asked for, and says nothing of a run that is known to be lost."""
    stage = Stage(3)
    stage.engine.lose("r0", "r2")
    stage.look()
    stage.engine.faults |= {"r0": JournalUnavailableError("away"), "r1": ValueError("odd")}
    stage.clock.advance(AGAIN_S)
    assert stage.look() == dict.fromkeys(["r0", "r2"], "HistoryLostError")
    assert "the engine could not be asked for run r1: ValueError" in caplog.text


def test_a_fork_whose_question_the_engine_has_not_heard_of_is_begun() -> None:
    """Whoever began it has died before it could be told; nothing is owed to the run itself."""
    stage = Stage(1)
    begun = Entry(0, 1_000.0, "Started", "waiting", {}, Listing("it", ""))
    stage.journal.append("f", [begun])
    assert stage.look() == {}
    assert (stage.engine.asked, stage.engine.told) == (["r0"], ["f"])


def test_a_name_that_a_shell_would_read_is_quoted() -> None:
    """Whoever copies the command runs no other one."""
    assert "resume 'r; rm x' --take-over" in str(HistoryLostError("r; rm x", "DBOS"))
