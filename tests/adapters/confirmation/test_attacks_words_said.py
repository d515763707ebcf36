"""Attacks on what is recorded: arguments that do not run, and a yes of nobody known."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from detent import (
    Agent,
    AlwaysAskPolicy,
    MemoryJournal,
    ScriptedChatGenerator,
    Tool,
    ToolCall,
    before_tool,
    tool,
)
from detent.approvals import (
    Allow,
    DecisionRefusedError,
    PendingCall,
    Principal,
    ToolExecutionDecision,
    WithQuestionOptions,
)
from detent.machine import Run, RunTool

SCHEMA = {
    "type": "object",
    "required": ["amount"],
    "properties": {"amount": {"type": "integer"}, "account": {"type": "string"}},
}


class Bank:
    """Pays from the account that the state names; its schema takes any argument more."""

    def __init__(self) -> None:
        self.paid: list[tuple[int, str]] = []
        self.journal = MemoryJournal()

    def agent(self, *script: Any, policy: Any = None, **options: Any) -> Agent[Any]:
        """Over one journal."""

        def pay(amount: int, account: str) -> str:
            self.paid.append((amount, account))
            return "paid"

        wired = Tool("pay", "Pay.", SCHEMA, pay, inputs_from_state={"account": "account"})
        shown = WithQuestionOptions(AlwaysAskPolicy(), reveals=("account",))
        return Agent(
            chat_generator=ScriptedChatGenerator(*script),
            tools=[wired],
            journal=self.journal,
            state_schema={"account": {"type": str}},
            confirmation_strategies={"pay": policy or shown},
            **options,
        )


def test_nobody_changes_by_a_decision_what_the_state_fills_in() -> None:
    """It would be recorded as approved, and something else run."""
    bank = Bank()
    begun = bank.agent(ToolCall("pay", {"amount": 5}))
    begun.run("Pay.", run_id="r", account="MALLORY", raise_at_break_point=False)
    (question,) = bank.agent().pending("r")
    with pytest.raises(DecisionRefusedError, match="'account' is filled in from the state"):
        bank.agent().decide("r", question.modify({"amount": 5, "account": "Ann"}, by="Ada"))
    assert bank.agent().pending("r") == (question,)
    assert bank.paid == []


def test_no_hook_says_what_the_state_fills_in() -> None:
    """What it says of that is dropped before a policy looks, and the hook is not asked for ever."""

    @before_tool
    def pin(call: RunTool, run: Run[Any]) -> RunTool:
        arguments = {**call.call.arguments, "account": "Ann"}
        return evolve(call, call=evolve(call.call, arguments=arguments))

    bank = Bank()
    judged: list[ToolCall] = []

    def judge(call: ToolCall, tool: Tool, run: Run[Any]) -> Allow:
        judged.append(call)
        return Allow()

    agent = bank.agent(ToolCall("pay", {"amount": 5}), "Done.", policy=judge, hooks=[pin])
    assert agent.run("Pay.", account="MALLORY").text == "Done."
    assert bank.paid == [(5, "MALLORY")]
    assert {*judged[0].arguments} == {"amount"}
    assert len(judged) == 1


@pytest.mark.parametrize("remember", ["tool", "arguments"])
def test_what_nobody_known_has_confirmed_counts_not_in_a_release_that_knows_people(
    remember: Any,
) -> None:
    """Neither for further calls, nor for the very call that has not begun."""
    paid: list[int] = []
    journal = MemoryJournal()

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    @tool
    def note(text: str) -> str:
        """Note."""
        return "noted"

    def who(decision: ToolExecutionDecision, question: PendingCall) -> Principal | None:
        return Principal("Ada") if decision.credential == "token of Ada" else None

    def agent(*script: Any, **options: Any) -> Agent[Any]:
        return Agent(
            chat_generator=ScriptedChatGenerator(*script),
            tools=[pay, note],
            journal=journal,
            confirmation_strategies={("pay", "note"): AlwaysAskPolicy()},
            **options,
        )

    first = ToolCall("pay", {"amount": 5})
    agent(first).run("x", run_id="r", raise_at_break_point=False)
    (call,) = agent().pending("r")
    agent().decide("r", call.confirm(by="Mallory", remember=remember))
    # so many entries that a checkpoint stands behind that word
    agent(*[first] * 30, ToolCall("note", {"text": "a"})).resume("r", raise_at_break_point=False)
    paid.clear()
    today = agent(first, "Done.", approvers=who)
    (call,) = today.pending("r")
    today.decide("r", evolve(call.confirm(), credential="token of Ada"))
    today.resume("r", raise_at_break_point=False)
    (call,) = today.pending("r")
    assert (call.tool_name, paid) == ("pay", [])
    today.decide("r", evolve(call.confirm(), credential="token of Ada"))
    agent("Done.", approvers=who).resume("r")
    assert paid == [5]


def test_of_several_that_have_seen_the_same_each_counts_for_its_own() -> None:
    """What the state fills in is read once for all of them, and is the same as they saw."""
    bank = Bank()
    calls = [ToolCall("pay", {"amount": amount}) for amount in (1, 2, 2, 3)]
    agent = bank.agent(*calls, "Done.")
    agent.run("Pay.", run_id="r", account="Ann", raise_at_break_point=False)
    for _ in range(2):
        (question,) = agent.pending("r")
        agent.decide("r", question.confirm(by="Ada", remember="arguments"))
        agent.resume("r", raise_at_break_point=False)
    (question,) = agent.pending("r")
    assert dict(question.arguments) == {"amount": 3}
    assert bank.paid == [(1, "Ann"), (2, "Ann"), (2, "Ann")]
