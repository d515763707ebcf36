"""Policies: when each asks, and what several of them say together."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from fractions import Fraction
from typing import Any

import pytest
from attrs import evolve

from detent import ChatMessage, ConfirmationUIResult, State, Tool, ToolCall
from detent.adapters.confirmation.policies import (
    AllOf,
    AlwaysAskPolicy,
    AnyOf,
    AskAbove,
    AskOncePolicy,
    AskWhen,
    NeverAskPolicy,
    Not,
    WithQuestionOptions,
    policy_from,
)
from detent.adapters.confirmation.tallies import AskAfter, AskOverBudget
from detent.approvals import Allow, Answers, Approvers, Ask, judge, pending
from detent.core.control.decisions import apply_decisions
from detent.core.run.approval import DecisionRecord, Deny, Rejected, Verdict
from detent.core.run.strictness import PolicyFailedError
from detent.core.tools.result import ToolFault
from detent.machine import (
    CallRef,
    FrozenDict,
    Judge,
    Run,
    ToolRaised,
    ToolResult,
    ToolReturned,
    ToolStarted,
    due,
    start,
    step,
)
from tests.core.asking import PAY, called, judged, spec_of, waiting

YES, NO = AlwaysAskPolicy(), NeverAskPolicy()
CALL = ToolCall("pay", {"to": "Ann", "amount": 5}, "c1")
SENT = ToolCall("send", {"amount": 100}, "c2")
SEND = Tool("send", "", {"type": "object"}, print)


def run_with(*messages: ChatMessage) -> Run[State]:
    """A run in whose turns before this is what was said."""
    return start(spec_of(), [ChatMessage.from_user("pay"), *messages], run_id="r")


ASKED = (CALL, PAY, run_with())


def never(call: ToolCall, tool: Tool, run: object) -> Verdict:
    """A policy that denies."""
    return Deny("closed")


@pytest.mark.parametrize(
    "policy",
    [AnyOf([NO, never]), AnyOf([YES, never]), AllOf([NO, never]), AllOf([YES, never]), Not(never)],
)
def test_what_one_policy_denies_none_lets_pass(policy: Any) -> None:
    """The opposite of a no is not a yes, and nobody is asked about it."""
    assert policy(*ASKED) == Deny("closed")


class Seed:
    """A policy of a user's own."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def should_ask(self, tool_name: str, tool_description: str, tool_params: Any) -> Any:
        """Say it."""
        return self.answer


async def later(params: dict[str, Any]) -> bool:
    """Ask about more than five, after a while."""
    await asyncio.sleep(0)
    return bool(params["amount"] > 5)


def verdict(policy: Any, amount: object = 5) -> Verdict:
    """What the driver hears."""
    spec = spec_of(policy_from(policy))
    run = waiting(spec)
    run = step(spec, run, called(spec, {"to": "Ann", "amount": amount}))
    (effect,) = due(spec, run)
    assert isinstance(effect, Judge)
    said = judge(effect)
    return (asyncio.run(said) if isinstance(said, Coroutine) else said).verdict


CASES: list[tuple[Any, bool]] = [
        (YES, True), (NO, False), (Seed(answer=True), True), (Seed(answer=False), False),
        (Seed(None), True), (AskAbove("amount", 5), False), (AskAbove("amount", 4), True),
        (AskAbove("gone", 4), True), (AskWhen(lambda params: params["to"] == "Ann"), True),
        (AskWhen(later), False), (AskOncePolicy(), True), (YES | NO, True), (NO | NO, False),
        (YES & NO, False), (YES & YES, True), (~YES, False), (~NO, True), (Not(Seed(None)), True),
        (NO | AskWhen(later), False), (YES | AskWhen(later), True), (NO | Seed(answer=True), True),
        (AskOverBudget("amount", 4), True), (AskOverBudget("gone", 4), True),
        (AskOverBudget("amount", 5), False),
        (AskAfter(0), True), (AskAfter(1), False),
        (WithQuestionOptions(NO), False), (WithQuestionOptions(YES), True),
    ]  # fmt: skip


@pytest.mark.parametrize(("policy", "asks"), CASES, ids=[f"{n}" for n in range(len(CASES))])
def test_a_policy_asks_or_does_not(policy: Any, asks: bool) -> None:  # noqa: FBT001 - parametrised
    """One that says neither lets nothing pass, not even negated."""
    assert isinstance(verdict(policy), Ask) == asks


def test_budgets_and_counts_see_the_calls_before() -> None:
    """In the model's order, also those of the same turn."""
    for policy, asked in ((AskOverBudget("amount", 10), [2]), (AskAfter(1), [1, 2])):
        run = waiting(spec_of(policy), *({"to": "A", "amount": n} for n in (4, 6, 1)))
        places = [slot.ref.place for slot in run.slots if "Awaiting" in repr(slot.status)]
        assert places == asked


def test_what_is_paid_back_makes_no_room_in_a_budget() -> None:
    """Not even where a human has confirmed it: else one yes would be one for all that follows."""
    spec = spec_of(AskOverBudget("amount", 10))
    run = waiting(spec, *({"to": "A", "amount": n} for n in (-100, 6)))
    (back,) = pending(spec, run)
    run, _ = apply_decisions(spec, run, [back.confirm()], 1.0)
    for place in range(2):
        run = step(spec, run, ToolStarted(CallRef(1, place), 1))
        run = step(spec, run, ToolReturned(CallRef(1, place), 1, ToolResult("done")))
    (policy,) = set(spec.policies.values())
    call = ToolCall("pay", {"to": "A", "amount": 5})

    assert isinstance(policy(call, spec.tools["pay"], run), Ask)


def test_a_budget_counts_what_may_have_been_spent() -> None:
    """A call that has failed may have paid; one that a human has stopped has not, nor a misfit."""
    spec = spec_of(AskOverBudget("amount", 10))
    run = waiting(spec, *({"to": "A", "amount": n} for n in (4, 7, 8, "much")))
    seven, eight = pending(spec, run)
    run, _ = apply_decisions(spec, run, [seven.reject()], 1.0)
    run = step(spec, run, ToolRaised(CallRef(1, 0), 1, ToolFault("raised", "broke off")))
    run, _ = apply_decisions(spec, run, [eight.respond("by hand")], 1.0)

    later = called(spec, *({"to": "B", "amount": n} for n in (6, 1)), turn=2)
    again = judged(spec, step(spec, run, later))

    assert [call.arguments["amount"] for call in pending(spec, again)] == [1]


def test_combining_no_policies_is_a_mistake() -> None:
    """Not a policy that lets everything pass."""
    for combine in (AnyOf, AllOf):
        with pytest.raises(ValueError, match="policies"):
            combine(())


def test_a_question_may_be_put_in_another_way() -> None:
    """With an end, and with what comes from the state."""
    said = verdict(WithQuestionOptions(YES, expires_s=60, reveals=("user",)))

    assert said == Ask(expires_s=60, reveals=("user",))


def test_what_asks_together_counts_only_for_what_each_counts_for() -> None:
    """Equal calls are asked about again where one policy wants it."""
    assert verdict(AskOncePolicy() | NO) == Ask(remember="arguments")
    assert verdict(AskOncePolicy() | YES) == Ask()


def test_a_policy_can_be_asked_by_hand() -> None:
    """As in a strategy of one's own."""
    once, given = AskOncePolicy(), ("pay", "", {"n": 1})

    assert (YES.should_ask(*given), NO.should_ask(*given)) == (True, False)
    assert once.should_ask(*given)
    once.update_after_confirmation(*given, ConfirmationUIResult("reject"))
    assert once.should_ask(*given)
    once.update_after_confirmation(*given, ConfirmationUIResult("confirm"))
    assert not once.should_ask(*given)


def test_what_is_no_policy_is_refused() -> None:
    """With what one has."""
    with pytest.raises(TypeError, match="should_ask"):
        policy_from(3)
    assert verdict(lambda call, tool, run: Allow()) == Allow()


@pytest.mark.parametrize("said", [True, None, "ask"])
def test_a_policy_that_gives_no_verdict_is_refused(said: object) -> None:
    """Together with others, too, where nobody else would look at what it says."""
    with pytest.raises(PolicyFailedError, match=f"a policy said {said!r}, which is no verdict"):
        (NO | (lambda call, tool, run: said))(*ASKED)


def test_what_was_paid_in_turns_before_counts() -> None:
    """Only by the same tool."""
    run = run_with(ChatMessage.from_tool("paid", CALL), ChatMessage.from_tool("sent", SENT))

    assert isinstance(AskAfter(1)(CALL, PAY, run), Ask)
    assert AskAfter(2)(CALL, PAY, run) == Allow(FrozenDict({"calls of pay": 1.0}))


def test_a_call_that_a_human_has_stopped_now_is_not_one_that_has_run_before() -> None:
    """Though it is the same in all that can be seen."""
    run = run_with(ChatMessage.from_tool("paid", CALL))
    stopped = DecisionRecord(CallRef(run.turn, 0), CALL, Rejected())

    assert isinstance(AskAfter(1)(CALL, PAY, evolve(run, decisions=(stopped,))), Ask)
    assert isinstance(AskAfter(1)(CALL, PAY, evolve(run, turn=2, decisions=(stopped,))), Allow)


def test_policies_together_are_asked_about_the_tool_and_the_run() -> None:
    """As each would be alone."""
    run = run_with(ChatMessage.from_tool("paid", CALL))

    for policy in (
        AskAfter(1) | NO,
        AskAfter(1) & YES,
        WithQuestionOptions(AskAfter(1)),
        ~~AskAfter(1),
    ):
        assert isinstance(policy(CALL, PAY, run), Ask)
        assert isinstance(policy(SENT, SEND, run), Allow)


def test_a_question_says_what_it_is_about() -> None:
    """So that a human can tell why it is put."""
    run = run_with(ChatMessage.from_tool("paid", CALL))

    assert AskAbove("amount", 4)(CALL, PAY, run) == Ask(
        "amount is 5; up to 4 needs no confirmation"
    )
    takes = FrozenDict({"calls of pay": 1.0})
    asked = Ask("pay was called 1 times in this run", spends=takes)
    assert AskAfter(1)(CALL, PAY, run) == asked
    spent, takes = evolve(run, spent=FrozenDict(amount=Fraction(5))), FrozenDict(amount=5.0)
    asked = Ask("amount 5 on top of 5 is over 9", spends=takes)
    assert over(9)(CALL, PAY, spent) == asked
    assert over(10)(CALL, PAY, spent) == Allow(takes)
    assert AskWhen(lambda params: params["amount"] == 5, "five")(CALL, PAY, run) == Ask("five")


@pytest.mark.parametrize(
    ("amount", "takes"),
    [("90", 90.0), ("9e1", 90.0), ("-5", 0.0), ("1e999", 1e300), ("nan", 1e300), ("all", 1e300)],
)
def test_a_budget_counts_what_is_no_number_of_json(amount: str, takes: float) -> None:
    """A decimal is a text there. It is asked about, and the next call knows what it took."""
    asked = over(100)(evolve(CALL, arguments={"amount": amount}), PAY, run_with())

    spends = FrozenDict(amount=takes) if takes else FrozenDict[str, float]()
    assert asked == Ask(f"amount {amount!r} is no number", spends=spends)


def test_a_question_says_no_number_about_a_secret() -> None:
    """Nor what was spent before, which is made of the same."""
    amount = {"type": "integer", "writeOnly": True}
    tool = Tool("pay", "", {"type": "object", "properties": {"amount": amount}}, print)
    run = evolve(run_with(), spent=FrozenDict(amount=Fraction(7)))

    for policy in (AskAbove("amount", 4), over(9)):
        question = policy(CALL, tool, run)
        assert isinstance(question, Ask)
        assert "amount is secret" in question.reason
        assert not any(sign.isdigit() for sign in question.reason)


def test_an_amount_may_be_nothing_and_not_less() -> None:
    """One below nothing would make room for others."""
    for amount, asks in ((0, False), (-1, True), ("1", True)):
        said = over(0)(ToolCall("pay", {"to": "Ann", "amount": amount}, "c"), PAY, run_with())
        assert isinstance(said, Ask) == asks


def over(budget: float) -> AskOverBudget:
    """Ask above that amount."""
    return AskOverBudget("amount", budget)


LAX = WithQuestionOptions(YES, reveals=("user",))
STRICT = WithQuestionOptions(
    YES,
    expires_s=60,
    reveals=("account",),
    answers=Answers(confirm=False, modify=("to", "amount"), respond=False, remember="call"),
    attempts=1,
)
LESS = WithQuestionOptions(
    YES, expires_s=90, answers=Answers(modify=("amount", "pin"), remember_s=5), attempts=2
)


@pytest.mark.parametrize(
    "policy",
    [
        *(AnyOf([LAX, STRICT, LESS]), AnyOf([LESS, STRICT, LAX]), AllOf([LAX, LESS, STRICT])),
        WithQuestionOptions(
            AnyOf([STRICT, LAX]),
            *(90, (), Answers(modify=("amount",), remember_s=5), 3),
        ),
    ],
)
def test_of_several_questions_what_is_stricter_counts(policy: Any) -> None:
    """Wherever it stands: no other policy may widen what one of them lets a human say."""
    said = verdict(policy)

    assert isinstance(said, Ask)
    assert (said.expires_s, said.attempts, set(said.reveals)) == (60, 1, {"user", "account"})
    assert said.answers == Answers(
        confirm=False, modify=("amount",), respond=False, remember="call", remember_s=5
    )


def test_an_amount_that_the_model_leaves_out_is_what_the_tool_takes() -> None:
    """The default is what will be paid."""
    tool = Tool(
        "pay",
        "",
        {"type": "object", "properties": {"amount": {"type": "number", "default": 7}}},
        print,
    )
    left_out = ToolCall("pay", {})

    assert AskAbove("amount", 8)(left_out, tool, run_with()) == Allow()
    assert isinstance(AskAbove("amount", 6)(left_out, tool, run_with()), Ask)


@pytest.mark.parametrize("limit", [float("nan"), "5", True])
def test_a_limit_is_a_number(limit: Any) -> None:
    """Nothing is above what is no number."""
    for make in (AskAbove, AskOverBudget):
        with pytest.raises((TypeError, ValueError), match="a number"):
            make("amount", limit)


@pytest.mark.parametrize("amount", [float("nan"), float("-inf"), True])
def test_an_amount_that_is_no_number_is_asked_about(amount: Any) -> None:
    """It is neither above nor below."""
    for policy in (AskAbove("amount", 5), AskOverBudget("amount", 5)):
        assert isinstance(policy(ToolCall("send", {"amount": amount}), SEND, run_with()), Ask)


def test_who_may_answer_stays_however_else_a_question_is_put() -> None:
    """Both of two policies say who, and none of them less than it did alone."""

    def wanting(approvers: Approvers) -> Any:
        return lambda call, tool, run: Ask(approvers=approvers)

    policies = [wanting(Approvers(2)), wanting(Approvers(roles=("cfo",), apart=True)), YES]
    said = verdict(WithQuestionOptions(AnyOf(policies), expires_s=60))

    assert isinstance(said, Ask)
    assert said.approvers == Approvers(2, ("cfo",), apart=True)
