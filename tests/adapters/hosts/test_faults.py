"""What keeps runs from going on: how long it is said."""

from __future__ import annotations

from detent.adapters.hosts.faults import FIRST_PAUSE_S, NOTED_S, STRANGE_S, Faults, Strangers
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
    assert strangers.are_here
    clock.advance(-STRANGE_S)
    assert not strangers.are_here
    strangers.note("r")
    assert strangers.are_here
    clock.advance(STRANGE_S)
    assert not strangers.are_here


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
