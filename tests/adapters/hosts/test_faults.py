"""What keeps runs from going on: how long it is said."""

from __future__ import annotations

from detent.adapters.hosts.faults import NOTED_S, Faults
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
