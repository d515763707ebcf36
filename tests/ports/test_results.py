"""The result: a dict to those who want one, typed attributes to the others."""

from __future__ import annotations

from typing import Any, cast

import pytest
from attrs import evolve

from detent import AgentResult, ChatMessage, State
from detent.approvals import PendingCall
from detent.machine import (
    AskModel,
    Cancelled,
    Done,
    Finished,
    FrozenDict,
    Pausing,
    Run,
    Thinking,
    Write,
)
from detent.models import Usage

SAID = [ChatMessage.from_user("hello"), ChatMessage.from_assistant("hi")]
STATE = State({"notes": {"type": list[int]}, "user": {"type": str}}).update(
    [Write("messages", SAID), Write("notes", [1, 2])]
)
RUN = Run(
    "run-1", STATE, Done(Finished("text")), 3, Usage(10, 2), FrozenDict({"note": 2}), cost=0.5
)
RESULT = AgentResult(RUN)


def test_it_reads_like_a_dict() -> None:
    """Every key of the schema is there, unwritten ones as None, and the last message."""
    assert dict(RESULT) == {
        "messages": SAID,
        "notes": [1, 2],
        "user": None,
        "last_message": SAID[-1],
    }
    assert len(RESULT) == 4
    assert "nots" not in RESULT
    with pytest.raises(KeyError, match="nots"):
        RESULT["nots"]


def test_it_has_typed_attributes() -> None:
    """The same, and what the run has spent."""
    assert (RESULT.messages, RESULT.last_message, RESULT.text) == (SAID, SAID[-1], "hi")
    assert RESULT.state.get("notes") == [1, 2]
    assert (RESULT.exit_reason, RESULT.run_id, RESULT.step_count) == ("text", "run-1", 3)
    assert (RESULT.token_usage, RESULT.tool_call_counts) == (Usage(10, 2), {"note": 2})
    assert RESULT.cost == 0.5


def test_a_paused_run_has_no_exit_reason() -> None:
    """Its current turn does not count as a step before the model has answered."""
    for phase in (Thinking(), Pausing(2, 100)):
        paused = AgentResult(Run("r", STATE, phase, turn=3))

        assert (paused.exit_reason, paused.step_count) == (None, 2)


def test_a_turn_that_was_cut_short_counts() -> None:
    """The model was asked, whether or not it came to an answer."""
    assert AgentResult(evolve(RUN, phase=Done(Cancelled("enough")))).step_count == 3


def test_an_empty_conversation_has_no_last_message() -> None:
    """As a key that a dict does not have; it has no text either."""
    empty = AgentResult(Run("r", State({})))

    assert empty.text is None
    assert "last_message" not in empty
    assert list(empty) == ["messages"]
    with pytest.raises(KeyError):
        _ = empty.last_message


def test_what_the_user_said_is_no_answer() -> None:
    """A run that has not been answered has no text, and its result says so."""
    result = AgentResult(Run("r", State({}).set("messages", [ChatMessage.from_user("hello")])))

    assert result.text is None
    assert repr(result).startswith("<AgentResult: run 'r' has stopped; go on by ")


def test_what_it_was_given_is_read_when_it_is_asked_for() -> None:
    """The output and the snapshot; by default there is no output, and none after the end."""
    snapshot = object()
    result: AgentResult[State, Any] = AgentResult(RUN, (), lambda: cast(Any, snapshot), lambda: 7)

    assert (result.output, result.snapshot) == (7, snapshot)
    assert RESULT.output is None
    with pytest.raises(ValueError, match="the run has ended"):
        _ = RESULT.snapshot


def test_a_run_that_waits_says_so_and_what_to_do() -> None:
    """Whoever prints the result of a run that has not ended sees why, and how it goes on."""
    call = PendingCall("run-1", 1, 0, "c", "pay", "Pay.", {}, "too much", "digest", {})
    held = AskModel(1, 1, (), (), FrozenDict())
    paused = evolve(RUN, phase=Thinking())

    assert RESULT.what_waits() == ""
    assert repr(RESULT) == "AgentResult(exit_reason='text', text='hi')"
    assert AgentResult(paused).what_waits() == (
        "run 'run-1' has stopped; go on by agent.resume('run-1') or its snapshot"
    )
    assert "has stopped before: " in repr(AgentResult(paused, (held,)))
    calls = (evolve(call, reason=""), call)
    assert "human: pay, pay ('too much'). " in repr(AgentResult(paused, pending=calls))
    waiting = repr(AgentResult(paused, pending=(call,)))
    assert waiting.startswith(
        "<AgentResult: run 'run-1' waits for a human: pay ('too much'). Decide about the calls in "
        "`pending`, as by agent.decide('run-1', call.confirm()), and go on by agent.resume('run-1')"
    )
