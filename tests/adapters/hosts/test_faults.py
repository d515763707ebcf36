"""What keeps runs from going on: how long it is said."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from detent.adapters.hosts import faults as faults_module
from detent.adapters.hosts.faults import (
    FIRST_PAUSE_S,
    NOTED_S,
    PART,
    PART_S,
    STRANGE_S,
    Faults,
    Strangers,
    Sweep,
    UnreadableRuns,
)
from detent.journals import JournalUnavailableError
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
