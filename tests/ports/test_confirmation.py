"""The confirmation port: what a human's answer means, and that doubt decides nothing."""

from __future__ import annotations

import pytest

from detent import Answered, ConfirmationUIResult, Confirmed, Modified, Rejected
from detent.approvals import Decision
from detent.ports.confirmation import decision_of


@pytest.mark.parametrize(
    ("said", "decision"),
    [
        (ConfirmationUIResult("confirm"), Confirmed()),
        (ConfirmationUIResult("reject"), Rejected()),
        (ConfirmationUIResult("reject", "too much"), Rejected("too much")),
        (ConfirmationUIResult("modify", "less", {"n": 3}), Modified({"n": 3}, "less")),
        (ConfirmationUIResult("respond", "paid by hand"), Answered("paid by hand")),
    ],
)
def test_an_answer_means_a_decision(said: ConfirmationUIResult, decision: Decision) -> None:
    """The four things that a human can do."""
    assert decision_of(said) == decision


@pytest.mark.parametrize(
    "said",
    [
        ConfirmationUIResult(""),
        ConfirmationUIResult("Confirm"),
        ConfirmationUIResult("confirmed"),
        ConfirmationUIResult("ok", "go ahead", {"n": 1}),
        ConfirmationUIResult("modify"),
        ConfirmationUIResult("respond"),
        ConfirmationUIResult("respond", 5),  # type: ignore[arg-type]  # as a UI may have it
        ConfirmationUIResult("confirm", remember="ever"),  # type: ignore[arg-type]  # as above
        ConfirmationUIResult("reject", {"why": "not"}),  # type: ignore[arg-type]  # as above
    ],
)
def test_an_answer_that_is_not_clear_decides_nothing(said: ConfirmationUIResult) -> None:
    """An unknown action, or one that lacks what it needs, never lets a tool run."""
    assert decision_of(said) is None


def test_no_parameters_are_not_the_same_as_the_old_ones() -> None:
    """An empty modification stays one: the tool's schema is asked whether it will do."""
    assert decision_of(ConfirmationUIResult("modify", None, {})) == Modified({})
