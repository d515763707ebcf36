"""A tool that writes the state by itself may write anything: no proof where something reads it."""

from __future__ import annotations

from typing import Any

import pytest

from detent import Agent, Reply, ScriptedChatGenerator, State, tool
from detent.approvals import Allow, AlwaysAskPolicy, Ask, CallRule, RuleList
from detent.machine import Run, Write
from detent.testing import Proof, Refuted, always, check, never_runs_unapproved


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


OPENED = Reply("unlocked", Write("mode", "open"))


@tool
def says_so() -> Reply:
    """Unlock."""
    return OPENED


@tool
def does_not_say_so() -> Any:
    """Unlock."""
    return Reply("unlocked", Write("mode", "open"))


@pytest.mark.parametrize("writer", [says_so, does_not_say_so])
def test_what_a_reply_writes_is_what_somebody_says_that_it_may_be(writer: Any) -> None:
    """No type says what is in one. Where nothing goes by the state, it makes no difference."""
    agent = Agent(
        chat_generator=ScriptedChatGenerator(),
        tools=[pay, writer],
        confirmation_strategies={"pay": by_state},
        state_schema={"mode": {"type": str}},
    )
    claim = never_runs_unapproved("pay")
    with pytest.raises(ValueError, match=rf"looks at the state, which \['{writer.name}'\] may"):
        check(agent, claim, turns=1)
    with pytest.raises(Refuted):
        check(agent, claim, results={writer.name: [OPENED]}, arguments={"pay": [{"amount": 1}]})
    assert check(agent, claim, results={writer.name: ["it is locked"]}, calls=1).states > 20
    always_asking = agent.evolve(confirmation_strategies={"pay": AlwaysAskPolicy()})
    assert check(always_asking, claim, turns=1, calls=1).states > 20
