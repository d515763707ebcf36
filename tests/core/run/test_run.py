"""The run: a value that says how far it has come."""

from __future__ import annotations

import pytest
from attrs import evolve
from attrs.exceptions import FrozenInstanceError

from detent import ChatMessage, State, ToolCall
from detent.core.run.run import Ready
from detent.machine import Acting, CallRef, Done, Finished, Run, RunOptions, Slot, Thinking
from detent.models import ChatReply, Usage

STATE = State({"notes": {"type": list[int]}})
CALL = ToolCall("note", {}, "c1")
SLOT = Slot(CallRef(1, 0), CALL, Ready())
ACTING = Acting(ChatReply(ChatMessage.from_assistant(tool_calls=[CALL])), (SLOT,))


def test_a_new_run_is_about_to_ask_the_model() -> None:
    """The first turn, nothing spent, nothing called."""
    run = Run("r", STATE)

    assert (run.phase, run.turn, run.usage) == (Thinking(), 1, Usage())
    assert (run.outcome, run.slots, list(run.messages)) == (None, (), [])


def test_the_open_calls_are_there_while_they_are_answered() -> None:
    """And only then."""
    run = Run("r", STATE, ACTING)

    assert run.slots == (SLOT,)
    assert evolve(run, phase=Thinking()).slots == ()
    assert evolve(run, phase=Done(Finished("text"))).slots == ()


def test_a_run_that_is_done_has_an_outcome() -> None:
    """How it ended is part of the run."""
    assert Run("r", STATE, Done(Finished("text"))).outcome == Finished("text")


def test_runs_that_know_the_same_are_equal() -> None:
    """Whatever one knows more makes it another run."""
    run = Run("r", STATE, ACTING)

    assert run == Run("r", State({"notes": {"type": list[int]}}), ACTING)
    assert run != evolve(run, state=STATE.set("notes", [1]))
    assert run != evolve(run, options=RunOptions(tools=("note",)))


def test_a_run_cannot_be_changed() -> None:
    """The only way on is another run."""
    run = Run("r", STATE)

    with pytest.raises(FrozenInstanceError):
        run.turn = 2  # type: ignore[misc]  # the mistake that is tested
