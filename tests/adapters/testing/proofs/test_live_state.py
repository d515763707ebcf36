"""A tool that takes the state itself may write anything: where something goes by it, no proof."""

from __future__ import annotations

from typing import Any

import pytest

from detent import Agent, ScriptedChatGenerator, State, tool
from detent.approvals import Allow, AlwaysAskPolicy, Ask, CallRule, RuleList
from detent.machine import Run
from detent.testing import Proof, always, check, never_runs_unapproved


@tool
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


@tool
def unlock(state: State) -> str:
    """Unlock."""
    state.set("mode", "open")
    return "unlocked"


def by_state(call: Any, tool: Any, run: Run[Any]) -> Allow | Ask:
    return Allow() if run.state.read("mode") == "open" else Ask()


class ByRules:
    """A policy of somebody's own that hands on to a list."""

    def __init__(self) -> None:
        self.rules = BY_RULE

    def __call__(self, call: Any, tool: Any, run: Run[Any]) -> Any:
        """What the list says."""
        return self.rules(call, tool, run)


BY_RULE: Any = RuleList([CallRule("allow", state={"mode": "open"}, tools=["pay"])], otherwise="ask")
BY_AMOUNT: Any = RuleList([CallRule("deny", arguments={"amount": 5})], otherwise="ask")


def proof(policy: Any, *claims: Any) -> Proof:
    agent = Agent(
        chat_generator=ScriptedChatGenerator(),
        tools=[pay, unlock],
        confirmation_strategies={"pay": policy},
        state_schema={"mode": {"type": str}},
    )
    claims = claims or (never_runs_unapproved("pay"),)
    return check(agent, *claims, turns=1, calls=1, arguments={"pay": [{"amount": 1}]})


@pytest.mark.parametrize("policy", [by_state, BY_RULE, ByRules()], ids=["code", "rule", "behind"])
def test_what_is_written_is_known_to_nobody_where_a_policy_goes_by_it(policy: Any) -> None:
    """The real tool lets the payment run unasked; and it says what to write instead."""
    with pytest.raises(ValueError, match=r"looks at the state, which \['unlock'\] may change"):
        proof(policy)


def test_a_claim_about_the_state_is_refused_as_well() -> None:
    """It would hold of what no tool has written."""

    def is_closed(run: Run[Any]) -> bool:
        return bool(run.state.read("mode") != "open")

    with pytest.raises(ValueError, match="may change to anything"):
        proof(AlwaysAskPolicy(), always(is_closed))


@pytest.mark.parametrize("policy", [AlwaysAskPolicy(), BY_AMOUNT], ids=["always", "amount"])
def test_where_nothing_goes_by_the_state_it_is_proved(policy: Any) -> None:
    """What the tool writes makes no difference."""
    assert proof(policy).states > 20
