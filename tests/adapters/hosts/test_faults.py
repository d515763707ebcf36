"""What keeps runs from going on: how long it is said."""

from __future__ import annotations

import pytest

from detent.adapters.hosts.faults import (
    AGAIN_S,
    KEPT,
    MOST,
    NOTED_S,
    PART,
    Faults,
    Sweep,
    UnreadableRuns,
)
from detent.core.errors import AgentChangedError
from detent.ports.journal import JournalDamagedError
from detent.ports.listing import StoredRun
from detent.testing import ManualClock


def test_what_is_noted_once_is_said_for_a_while() -> None:
    """A late job of a run that was deleted says nothing of another one that has its id by now."""
    clock = ManualClock(1000.0)
    faults = Faults(clock)
    faults.note("used again", "OtherJournalError")
    faults.note("still so", "OtherJournalError")
    faults.add("tried here", "OSError")
    clock.advance(NOTED_S)
    faults.note("still so", "AgentChangedError")
    assert {*faults.texts()} == {"used again", "still so", "tried here"}
    clock.advance(1)
    assert faults.texts() == {"still so": "AgentChangedError", "tried here": "OSError"}


def test_a_clock_that_is_set_back_keeps_no_fault_for_ever() -> None:
    """One that was noted in what is the future by now."""
    clock = ManualClock(10_000.0)
    faults = Faults(clock)
    faults.note("r", "OtherJournalError")
    clock.advance(-2 * NOTED_S)
    assert faults.texts() == {}


def waiting(number: int, length: int = 3) -> StoredRun:
    """A run that waits."""
    return StoredRun(f"r{number}", length, "waiting", 1_000.0, "it", "")


def test_more_runs_than_are_named_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    """A release that changes an agent may stop thousands; the log names no more of them either."""
    unreadable = UnreadableRuns()
    for number in range(MOST + 1):
        unreadable.note(waiting(number), AgentChangedError("changed"))
    unreadable.note(waiting(0, 4), JournalDamagedError("torn", "r0", 2))

    assert len(unreadable.texts()) == KEPT
    assert unreadable.texts()["r0"] == "JournalDamagedError"
    assert unreadable.more() == {"AgentChangedError": MOST - KEPT}
    assert caplog.text.count("waits and cannot be followed") == KEPT
    assert unreadable.has(waiting(1))
    assert not unreadable.has(waiting(1, 4))
    assert not unreadable.has(waiting(MOST))
    unreadable.drop("r1")
    assert unreadable.more() == {"AgentChangedError": MOST - KEPT - 1}


def test_what_could_not_be_read_is_tried_again_a_part_at_a_time() -> None:
    """So long as it waits, and from the front after a while."""
    clock, unreadable = ManualClock(1_000.0), UnreadableRuns()
    runs = {run.run_id: run for run in map(waiting, range(2 * PART))}
    read = list[str]()

    def fail(run: StoredRun) -> None:
        read.append(run.run_id)
        error = AgentChangedError("changed")
        unreadable.note(run, error)
        raise error

    sweep = Sweep(lambda: iter(runs.values()), runs.get, fail, unreadable, clock)
    for _ in range(4):
        sweep.look()
    assert read == [*runs]
    clock.advance(AGAIN_S)
    del runs["r1"]
    sweep.look()
    assert read[2 * PART :] == ["r0", *(f"r{number}" for number in range(2, PART))]
    for _ in range(4):
        sweep.look()
    assert read[2 * PART :] == [*runs]
    assert len(unreadable.texts()) == 2 * PART - 1
