"""What keeps runs from going on: how long it is said."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from detent.adapters.hosts import faults as faults_module
from detent.adapters.hosts.faults import (
    AGAIN_S,
    FIRST_PAUSE_S,
    KEPT,
    MOST,
    NOTED_S,
    PART,
    PART_S,
    PAUSE_MAX_S,
    STRANGE_S,
    Faults,
    Strangers,
    Sweep,
    UnreadableRuns,
)
from detent.core.errors import AgentChangedError
from detent.journals import JournalUnavailableError
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


def test_what_could_not_be_read_is_tried_again_a_part_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So long as it waits, and from the front after a while."""
    clock, unreadable = ManualClock(1_000.0), UnreadableRuns()
    watch = ManualClock(0.0)
    monkeypatch.setattr(faults_module, "monotonic", watch.now)
    runs = {run.run_id: run for run in map(waiting, range(2 * PART))}
    read = list[str]()

    def fail(run: StoredRun) -> None:
        watch.advance(1.0)
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


def test_a_run_that_never_goes_on_rests_as_long_each_time() -> None:
    """For weeks: no pause is longer than any, and none is too long for a number."""
    clock = ManualClock(10_000.0)
    faults = Faults(clock)
    pauses = [faults.add("r", "OSError") - clock.now() for _ in range(2_000)]
    assert pauses[-1] == PAUSE_MAX_S
    assert faults.resting() == {"r"}


def test_a_clock_that_is_set_back_lets_no_run_rest_for_longer() -> None:
    """By as much as it was set, it would be."""
    clock = ManualClock(10_000.0)
    faults = Faults(clock)
    faults.add("r", "OSError")
    assert faults.resting() == {"r"}
    clock.advance(-FIRST_PAUSE_S / 2)
    assert faults.resting() == set()
    faults.add("r", "OSError")
    assert faults.resting() == {"r"}
    clock.advance(2 * FIRST_PAUSE_S)
    assert faults.resting() == set()


def test_a_clock_that_is_set_back_keeps_no_stranger_here() -> None:
    """For longer than any counts."""
    clock = ManualClock(10_000.0)
    strangers = Strangers(clock)
    strangers.note("r")
    strangers.note("r")
    seen = [strangers.are_here]
    clock.advance(-STRANGE_S)
    seen.append(strangers.are_here)
    strangers.note("r")
    seen.append(strangers.are_here)
    clock.advance(STRANGE_S)
    seen.append(strangers.are_here)
    assert seen == [True, False, True, False]


def test_a_run_that_gets_on_and_fails_again_is_tried_ever_more_rarely() -> None:
    """Though nothing keeps it in between."""
    clock = ManualClock(10_000.0)
    faults = Faults(clock)
    for times in range(3):
        faults.add("r", "OSError")
        assert faults.texts() == {"r": "OSError"}
        clock.advance(FIRST_PAUSE_S * 2**times - 0.5)
        assert faults.resting() == {"r"}
        clock.advance(0.5)
        assert faults.resting() == set()
        faults.get_on("r")
        assert faults.texts() == {}
    faults.get_on("of another")
    faults.note("r", "OSError")
    assert faults.texts() == {"r": "OSError"}


class Shelf:
    """Runs that wait, of which reading one takes so long; `is_away` says that none can be read."""

    def __init__(self, count: int, each_s: float, clock: ManualClock) -> None:
        self.count, self.each_s, self.clock = count, each_s, clock
        self.read_ids, self.is_away = list[str](), False
        self.sweep = Sweep(
            self.waiting, lambda run_id: None, self.read, UnreadableRuns(), ManualClock(1e9)
        )

    def waiting(self) -> Iterator[StoredRun]:
        """All of them."""
        return (StoredRun(str(n), 1, "waiting", 0.0, "it", "") for n in range(self.count))

    def read(self, run: StoredRun) -> None:
        """It is made again of its entries."""
        if self.is_away:
            raise JournalUnavailableError("gone")
        self.clock.advance(self.each_s)
        self.read_ids.append(run.run_id)

    def counts(self, looks: int) -> list[int]:
        """How many have been read by each look."""
        counts = list[int]()
        for _ in range(looks):
            before = len(self.read_ids)
            self.sweep.look()
            counts.append(len(self.read_ids) - before)
        return counts


@pytest.fixture
def shelf_of(monkeypatch: pytest.MonkeyPatch) -> partial[Shelf]:
    """Makes one."""
    clock = ManualClock(50.0)
    monkeypatch.setattr(faults_module, "monotonic", clock.now)
    return partial(Shelf, clock=clock)


def test_a_look_reads_as_many_as_it_has_time_for(shelf_of: partial[Shelf]) -> None:
    """Of short runs many, and of long ones as many as it must, so that it ends at all."""
    assert shelf_of(500, PART_S / 200 * 1.001).counts(4) == [200, 200, 100, 0]
    assert shelf_of(2 * PART, 1.0).counts(3) == [PART, PART, 0]


def test_a_store_that_goes_away_meanwhile_leaves_no_run_unread(shelf_of: partial[Shelf]) -> None:
    """Those of the same look, behind the one that it was gone at, were never read."""
    shelf = shelf_of(2 * PART + 1, 1.0)
    shelf.counts(1)
    shelf.is_away = True
    with pytest.raises(JournalUnavailableError):
        shelf.sweep.look()
    shelf.is_away = False
    assert shelf.counts(3) == [PART, PART, 1]
    assert {*shelf.read_ids} == {str(n) for n in range(2 * PART + 1)}
