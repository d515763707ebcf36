"""Policies and strategies: who is asked, and that users may bring their own."""

from __future__ import annotations

from typing import Any

import pytest

from detent import (
    AlwaysAskPolicy,
    BlockingConfirmationStrategy,
    ConfirmationPolicy,
    NeverAskPolicy,
    SimpleConsoleUI,
)
from detent.approvals import ConfirmationUIResult


class Above:
    """A policy of a user's own: it inherits from nothing."""

    def should_ask(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> bool:
        """Ask about large amounts."""
        return bool(tool_params["amount"] > 100)


def asks(policy: ConfirmationPolicy, amount: int) -> bool:
    return policy.should_ask("pay", "Pays money.", {"amount": amount}) is True


def test_policies_say_whether_to_ask() -> None:
    """Always, never, or by the arguments."""
    assert [asks(AlwaysAskPolicy(), n) for n in (5, 500)] == [True, True]
    assert [asks(NeverAskPolicy(), n) for n in (5, 500)] == [False, False]
    assert [asks(Above(), n) for n in (5, 500)] == [False, True]


def test_a_strategy_is_a_policy_and_a_ui() -> None:
    """A value: equal when both are."""
    ui = SimpleConsoleUI()
    strategy = BlockingConfirmationStrategy(AlwaysAskPolicy(), ui)

    assert strategy == BlockingConfirmationStrategy(
        confirmation_policy=AlwaysAskPolicy(), confirmation_ui=ui
    )
    assert strategy != BlockingConfirmationStrategy(NeverAskPolicy(), ui)


@pytest.mark.parametrize(
    "said",
    [
        ConfirmationUIResult("confirm", remember="call", by="Ada", credential="c"),
        ConfirmationUIResult("modify", "why", {"amount": 1}, by="Ada", credential="c"),
        ConfirmationUIResult("reject", "why", by="Ada", credential="c"),
    ],
)
def test_a_decision_by_hand_has_all_that_a_human_has_said(said: ConfirmationUIResult) -> None:
    """How far a yes counts, too: whoever hands it on to an agent must not widen it."""

    class Desk:
        def get_user_confirmation(
            self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
        ) -> ConfirmationUIResult:
            """The answer."""
            return said

    decision = BlockingConfirmationStrategy(AlwaysAskPolicy(), Desk()).run("pay", "", {"amount": 5})

    assert (decision.remember, decision.by, decision.credential) == (said.remember, "Ada", "c")
    assert decision.feedback == said.feedback
