"""Rejections: nobody is asked about what they have said no to again and again."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from detent import Limits, State, ToolCall
from detent.approvals import Answered, Confirmed, DecisionRecord, Rejected
from detent.core.run.run import AwaitingDecision, Refused, Status
from detent.core.run.run import evolve as evolve_run
from detent.core.tools.wording import Wording
from detent.machine import AgentRef, AgentSpec, CallRef, FrozenDict, start, step
from tests.core.asking import called, judged, spec_of

SPEC = spec_of()
CALL = {"to": "Ann", "amount": 1}


def past(decision: Any, arguments: dict[str, Any] = CALL, **parts: Any) -> DecisionRecord:
    """What was decided of a call of the first turn."""
    record = DecisionRecord(CallRef(1, 0), ToolCall("pay", arguments), decision)
    return evolve(record, **parts)


NO, YES = past(Rejected("No.")), past(Confirmed())
OTHERS = [past(Rejected("No."), {"to": "Ann", "amount": 2 + n}) for n in range(10)]


def asked(spec: AgentSpec[State], *records: DecisionRecord, turn: int = 2) -> Status:
    """What becomes of the call in a later turn."""
    run = evolve_run(start(spec, [], run_id="r"), turn=turn, decisions=records)
    run = judged(spec, step(spec, run, called(spec, CALL, turn=turn)))
    return run.slots[0].status if run.slots else Refused(run.messages[-1].tool_call_results[0].text)


@pytest.mark.parametrize(
    ("records", "is_asked"),
    [
        ([NO] * 3, False),
        ([NO, YES, NO, NO], False),
        ([past(Rejected("No."), {**CALL, "pin": ""})] * 3, False),
        ([NO] * 2, True),
        ([NO, NO, YES], True),
        ([NO, NO, past(Rejected(), {"to": "Ann", "amount": 2})], True),
        ([NO, NO, evolve(NO, call=ToolCall("note", CALL))], True),
        ([NO, NO, evolve(NO, path=(AgentRef(1, 0, "x"),))], True),
        ([NO, NO, evolve(NO, by="policy")], True),
        (OTHERS, False),
        (OTHERS[1:], True),
        ([*OTHERS, past(Answered("paid"))], True),
        ([*OTHERS[1:], evolve(OTHERS[0], by="policy")], True),
    ],
)
def test_who_has_said_no_again_and_again_is_not_asked(
    records: list[DecisionRecord],
    is_asked: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Three times about the same call, or ten times in a row about calls of the same tool."""
    assert isinstance(asked(SPEC, *records), AwaitingDecision if is_asked else Refused)


def test_the_model_hears_that_no() -> None:
    """In the words of the agent, and what was said last."""
    own = evolve(SPEC, wordings=FrozenDict({"*": Wording(reject="{tool_name}: no.")}))

    assert "With user feedback: No." in str(asked(SPEC, NO, NO, NO))
    assert "pay: no. With user feedback: No." in str(asked(own, NO, NO, NO))
    refused = "Tool 'pay' was not run: people have refused the last 10 calls of it."
    assert refused in str(asked(SPEC, *OTHERS))


def test_how_many_times_are_too_many_is_an_option() -> None:
    """Of each of the two."""
    strict = evolve(SPEC, limits=Limits(max_rejections=1, max_tool_rejections=2))

    assert isinstance(asked(strict, NO), Refused)
    assert isinstance(asked(strict, OTHERS[0]), AwaitingDecision)
    assert isinstance(asked(strict, *OTHERS[:2]), Refused)


def test_who_goes_through_a_list_is_asked_about_all_of_it() -> None:
    """What they have said of the calls of one reply refuses no other call of that."""
    assert isinstance(asked(SPEC, *OTHERS, turn=1), AwaitingDecision)
