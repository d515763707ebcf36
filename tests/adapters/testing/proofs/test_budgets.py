"""Proofs about what calls add up to: by one budget they hold, by what each run sees they do not."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from detent import (
    NEVER_RAN,
    Agent,
    AgentTool,
    Limits,
    Tool,
    ToolCall,
    create_tool_from_function,
    tool,
)
from detent.approvals import Allow, Ask, AskOverBudget, NeverAskPolicy, Verdict
from detent.machine import Run
from detent.testing import (
    Proof,
    Refuted,
    ScriptedChatGenerator,
    budget_never_exceeded,
    check,
)


@tool(on_unknown="rerun")
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


@tool(on_unknown="rerun")
def wire(amount: int) -> str:
    """Wire money."""
    return f"wired {amount}"


ONCE = evolve(pay, on_unknown="ask", max_calls=1)
"""Of which there are fewer runs: it is called once at most, and not begun again by itself."""


def in_its_own_run(call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
    """What a policy sees that looks at the calls of one tool in one run."""
    past = [one.origin for message in run.messages for one in message.tool_call_results]
    past += [slot.call for slot in run.slots if type(slot.status).__name__ != "AwaitingPolicy"]
    amounts: list[Any] = [one.arguments["amount"] for one in past if one.tool_name == tool.name]
    amounts.append(call.arguments["amount"])
    return Allow() if sum(amounts) <= 100 else Ask()


def proved(policy: Any, *tools: Any, turns: int = 1, paying: Tool = pay, **more: Any) -> Proof:
    """Whether an agent stays within its budget, whose tools stand under one policy."""
    names = ["pay", *(one.name for one in tools if one.name == "wire")]
    claim = budget_never_exceeded(amount=100, tools=names)
    agent = Agent(
        chat_generator=ScriptedChatGenerator(),
        tools=[paying, *tools],
        confirmation_strategies={tuple(names): policy},
    )
    given = {name: [{"amount": 60 if name == "pay" else 50}] for name in names}
    return check(agent, claim, turns=turns, arguments=given, **more)


def payer(policy: Any, paying: Tool = pay) -> AgentTool:
    inner = Agent(
        chat_generator=ScriptedChatGenerator(),
        tools=[paying],
        limits=Limits(max_agent_steps=1, max_calls_per_reply=1),
        confirmation_strategies={"pay": policy},
    )
    return AgentTool(inner, name="worker", description="Pays.")


def test_one_budget_is_never_exceeded_over_two_tools() -> None:
    """Nor in the next turn, though a proof does not tell conversations apart."""
    budget, wire_or_ask = AskOverBudget("amount", 100), evolve(wire, on_unknown="ask")

    assert proved(budget, wire_or_ask, paying=ONCE).states > 20
    assert proved(budget, wire_or_ask, paying=ONCE, turns=2, calls=1).states > 100


def test_what_counts_for_each_tool_is_refuted() -> None:
    """By the two of them in one reply."""
    with pytest.raises(Refuted, match="makes 110 in all, and nobody has approved that"):
        proved(in_its_own_run, wire, exact=True)
    with pytest.raises(Refuted, match="makes 120 in all"):
        proved(NeverAskPolicy())


def test_what_counts_for_each_run_is_refuted() -> None:
    """By an agent inside that pays what the one around it has paid already."""
    with pytest.raises(Refuted, match="makes 120 in all"):
        proved(in_its_own_run, payer(in_its_own_run), exact=True)


def test_one_budget_is_never_exceeded_by_agents_inside() -> None:
    """Of their own, and at once with the one around them."""
    budget = AskOverBudget("amount", 100)

    assert proved(budget, payer(budget, ONCE), paying=ONCE).states > 1000


def test_a_payment_that_is_run_again_after_a_crash_is_followed_to_an_end() -> None:
    """Each attempt takes of the budget, so that one more death never leads to a run seen before."""
    assert pay.on_unknown == "rerun"
    proof = proved(AskOverBudget("amount", 100), calls=1)

    assert 20 < proof.states < 200
    assert "the process dies once in a call that takes of a budget" in str(proof)


@pytest.mark.parametrize("again", [{"retries": 1}, {"on_unknown": "rerun"}])
def test_what_is_tried_again_may_have_spent_it_each_time(again: Any) -> None:
    """One call at most, and yet twice the amount: by a lost reply, or a process that died."""

    @tool(max_calls=1, **again)
    def pay_once(amount: int) -> str:
        """Pay somebody."""
        return f"paid {amount}"

    def proof(policy: Any, tried: Tool) -> Proof:
        agent = Agent(
            chat_generator=ScriptedChatGenerator(),
            tools=[tried],
            confirmation_strategies={tried.name: policy},
        )
        claim = budget_never_exceeded(amount=100, tools=[tried.name])
        return check(agent, claim, turns=1, calls=1, arguments={tried.name: [{"amount": 60}]})

    with pytest.raises(Refuted, match="makes 120 in all"):
        proof(NeverAskPolicy(), pay_once)
    assert proof(AskOverBudget("amount", 100), pay_once).states


def test_a_payment_that_was_never_made_is_not_counted() -> None:
    """Where somebody can tell, it is begun again within the budget."""

    def look_up(arguments: dict[str, Any], key: str) -> object:
        return NEVER_RAN

    asked = create_tool_from_function(pay.function, name="asked", on_unknown=look_up)
    agent = Agent(
        chat_generator=ScriptedChatGenerator(),
        tools=[asked],
        confirmation_strategies={"asked": AskOverBudget("amount", 100)},
    )
    claim = budget_never_exceeded(amount=100, tools=["asked"])

    assert check(agent, claim, turns=1, calls=1, arguments={"asked": [{"amount": 60}]}).states


def test_a_higher_budget_than_is_claimed_is_refuted() -> None:
    """It is the claim that says how much."""
    with pytest.raises(Refuted, match="makes 110 in all"):
        proved(AskOverBudget("amount", 115), wire)


def test_a_default_that_nobody_sees_is_refuted() -> None:
    """The claim looks at arguments: what is not there adds up to nothing that it knows."""

    @tool
    def gift(amount: int = 1000) -> str:
        """Give money."""
        return "given"

    agent = Agent(chat_generator=ScriptedChatGenerator(), tools=[gift])
    claim = budget_never_exceeded(amount=100, tools=["gift"])
    with pytest.raises(Refuted, match=r"gift runs for call .* with amount None"):
        check(agent, claim, turns=1, arguments={"gift": [{}]})
    with pytest.raises(Refuted, match="makes 101 in all"):
        check(agent, claim, turns=1, calls=1, arguments={"gift": [{"amount": 101}]})
    assert check(agent, claim, turns=1, calls=1, arguments={"gift": [{"amount": -5}]}).states


def test_a_claim_about_an_amount_names_tools() -> None:
    """Else it would speak of nothing; and a name is not a list of letters."""
    mistakes: list[dict[str, Any]] = [
        *({"amount": 5}, {"tools": ["pay"], "cost": 1}, {"amount": 5, "tools": "pay"})
    ]
    for mistake in mistakes:
        with pytest.raises(ValueError, match=r"is of the calls of tools=\[…\]"):
            budget_never_exceeded(**mistake)
    of_nothing = budget_never_exceeded(amount=5, tools=["gone"])
    with pytest.raises(ValueError, match="gone"):
        check(Agent(chat_generator=ScriptedChatGenerator(), tools=[pay]), of_nothing)
