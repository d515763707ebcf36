"""Outcomes: every way to end says why."""

from __future__ import annotations

from typing import get_args

import pytest

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
