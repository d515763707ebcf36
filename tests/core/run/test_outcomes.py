"""Outcomes: every way to end says why."""

from __future__ import annotations

from typing import get_args

import pytest

from detent.core.run.outcomes import output_in
from detent.machine import Cancelled, Exhausted, Failed, Finished, Outcome, ToolFault
from detent.models import ModelFailure

REASONS: list[tuple[Outcome, str]] = [
    (Finished("text"), "text"),
    (Exhausted("max_agent_steps"), "max_agent_steps"),
    (Failed(ModelFailure("timeout", "too slow")), "model_failure"),
    (Failed(ToolFault("raised", "boom")), "tool_failure"),
    (Cancelled("enough"), "cancelled"),
]


@pytest.mark.parametrize(("outcome", "reason"), REASONS)
def test_an_outcome_says_why(outcome: Outcome, reason: str) -> None:
    """The reason is a word that code can go by."""
    assert outcome.exit_reason == reason


def test_no_outcome_is_left_out() -> None:
    """The table above names every member of the union."""
    assert {type(outcome) for outcome, _ in REASONS} == set(get_args(Outcome))


def test_an_answer_of_the_wanted_type_is_that_of_the_output_alone() -> None:
    """No other end has one."""
    assert output_in(Finished("output", {"n": 1})) == {"n": 1}
    for outcome in (None, Finished("text"), Finished("pay", {"n": 1}), Cancelled("no")):
        assert output_in(outcome) is None
