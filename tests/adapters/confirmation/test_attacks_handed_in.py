"""Attacks on what a question in a snapshot takes: by whom it is handed in, it may be edited.

Each test is called by the promise that it attacks.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from detent import (
    Agent,
    AgentSnapshot,
    AlwaysAskPolicy,
    HITLBreakpointException,
    NeverAskPolicy,
    ScriptedChatGenerator,
    ToolCall,
    tool,
)
from detent.approvals import (
    Answers,
    ApproverKey,
    ApproverKeys,
    Approvers,
    AskOverBudget,
    DecisionRefusedError,
    PendingCall,
    Principal,
    Signer,
    ToolExecutionDecision,
    WithApprovers,
    WithQuestionOptions,
)
from detent.core.codec.json_text import TAG
from detent.core.errors import StoredDataError
from detent.machine import ManualClock

LATER = 4e9
SIGNERS = {name: Signer.new(name) for name in ("Ada", "Bob")}
KEYS = ApproverKeys({name: ApproverKey(one.public_key) for name, one in SIGNERS.items()})
ADA = SIGNERS["Ada"]
NO_ANSWER = WithQuestionOptions(AlwaysAskPolicy(), answers=Answers(respond=False))
Written = dict[str, Any]


def by_session(decision: ToolExecutionDecision, question: PendingCall) -> Principal | None:
    """Somebody who is known by what a browser sends."""
    return Principal("Ada") if decision.credential == "session of Ada" else None


class Desk:
    """An agent that pays once it may."""

    def __init__(self, approvers: Any, policy: Any) -> None:
        self.paid: list[int] = []
        self.options: dict[str, Any] = {"approvers": approvers}
        self.policy = policy

    def agent(self, *script: Any) -> Agent[Any]:
        """For one process."""

        @tool
        def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return "paid"

        rules = {} if self.policy is None else {"pay": self.policy}
        options: dict[str, Any] = {"confirmation_strategies": rules, **self.options}
        return Agent(chat_generator=ScriptedChatGenerator(*script), tools=[pay], **options)

    def stopped(self, *script: Any, **begin: Any) -> tuple[PendingCall, AgentSnapshot]:
        """What waits when a run stops, and the run."""
        with pytest.raises(HITLBreakpointException) as raised:
            self.agent(*script).run(**begin)
        return raised.value.pending[0], raised.value.snapshot

    def begun(self) -> tuple[PendingCall, AgentSnapshot]:
        """A run that wants to pay 900."""
        return self.stopped(ToolCall("pay", {"amount": 900}), messages="go", run_id="r")


def rewritten(snapshot: AgentSnapshot, change: Callable[[Written], None]) -> AgentSnapshot:
    """The snapshot as somebody has changed it, who is given the status of its call."""
    data = json.loads(json.dumps(snapshot.to_dict()))
    change(data["run"]["phase"]["slots"][0]["status"])
    return AgentSnapshot.from_dict(data)


def answerable(status: Written) -> None:
    status["ask"]["answers"]["respond"] = True


def signed(decision: ToolExecutionDecision) -> ToolExecutionDecision:
    return ADA.sign(decision, expires_at=LATER)


def told(decision: ToolExecutionDecision) -> ToolExecutionDecision:
    return ToolExecutionDecision.from_dict(
        decision.to_dict() | {"credential": "session of Ada", "by": "Ada"}
    )


WAYS = [(KEYS, signed), (by_session, told)]


@pytest.mark.parametrize(("approvers", "prove"), WAYS, ids=["keys", "sessions"])
def test_nobody_answers_in_the_tools_place_because_a_snapshot_lets_them(
    approvers: Any, prove: Any
) -> None:
    """The rules of today are asked, and put the question as they put it."""
    desk = Desk(approvers, NO_ANSWER)
    call, snapshot = desk.begun()
    forged = rewritten(snapshot, answerable)

    said = prove(call.respond("It is paid."))
    waiting, stopped = desk.stopped("done", snapshot=forged.with_decisions([said]))

    assert waiting.answers == Answers(respond=False)
    assert "other answers are taken" in waiting.changed
    assert "It is paid." not in str(stopped.to_dict()["run"]["state"])
    with pytest.raises(DecisionRefusedError, match="nobody may answer in the tool's place"):
        desk.agent("done").run(snapshot=stopped.with_decisions([prove(waiting.respond("paid"))]))
    waiting, _ = desk.stopped("done", snapshot=stopped)  # what did not count does not do so later
    assert (waiting.tool_name, desk.paid) == ("pay", [])


@pytest.mark.parametrize(("approvers", "prove"), WAYS, ids=["keys", "sessions"])
@pytest.mark.parametrize("today", [AlwaysAskPolicy(), NeverAskPolicy(), None])
def test_who_may_answer_in_the_tools_place_does(approvers: Any, prove: Any, today: Any) -> None:
    """By the rules of today, also where they would not ask at all."""
    desk = Desk(approvers, AlwaysAskPolicy())
    call, snapshot = desk.begun()
    desk.policy = today

    result = desk.agent("done").run(
        snapshot=snapshot.with_decisions([prove(call.respond("It is paid."))])
    )

    (told,) = result.messages[2].tool_call_results
    assert (told.result, desk.paid) == ("It is paid.", [])


@pytest.mark.parametrize("until", [None, LATER])
def test_a_yes_counts_no_longer_because_a_snapshot_says_so(until: float | None) -> None:
    """What was signed says until when the question counts that it is about."""
    clock = ManualClock(1_000.0)
    keys = ApproverKeys({"Ada": ApproverKey(ADA.public_key)}, clock)
    desk = Desk(keys, WithQuestionOptions(AlwaysAskPolicy(), expires_s=60))
    desk.options["clock"] = clock
    call, snapshot = desk.begun()
    yes, no = signed(call.confirm()), signed(call.reject("Too much."))

    def longer(status: Written) -> None:
        status["expires_at"] = until

    forged = rewritten(snapshot, longer)
    clock.advance(61)
    with pytest.raises(DecisionRefusedError, match="what Ada has signed counted until 1060"):
        desk.agent("done").run(snapshot=forged.with_decisions([yes]))
    assert desk.paid == []
    desk.agent("done").run(snapshot=forged.with_decisions([no]))  # which is never too late
    clock.advance(-61)
    desk.agent("done").run(snapshot=snapshot.with_decisions([yes]))
    assert desk.paid == [900]


def test_a_vote_counts_no_longer_because_a_snapshot_says_so() -> None:
    """One who has said yes in time, and one who says it after the end, are not two."""
    clock = ManualClock(1_000.0)
    keys = ApproverKeys({k: ApproverKey(one.public_key) for k, one in SIGNERS.items()}, clock)
    policy = WithApprovers(AlwaysAskPolicy(), Approvers(2))
    desk = Desk(keys, WithQuestionOptions(policy, expires_s=60))
    desk.options["clock"] = clock
    call, snapshot = desk.begun()
    call, snapshot = desk.stopped(
        "done", snapshot=snapshot.with_decisions([signed(call.confirm())])
    )
    assert call.votes == ("Ada",)

    def longer(status: Written) -> None:
        status["expires_at"] = None

    clock.advance(61)
    waiting, _ = desk.stopped("done", snapshot=rewritten(snapshot, longer))
    assert (waiting.votes, desk.paid) == ((), [])


def less(run: Written, name: str) -> None:
    """What the name of a number in a run stands for is less than nothing."""
    (slot,) = run["phase"]["slots"]
    match name:
        case "spent":
            run[name] = {"amount": -1e9}
        case "tool_call_counts" | "calls_inside":
            run[name] = {"pay": -9}
        case "usage":
            run["usage"] = {"output_tokens": -9}
        case "spends":
            slot["spends"] = {"amount": float("nan")}
        case "attempt":
            slot["status"] = {TAG: "Ready", "attempt": -9}
        case _:
            run[name] = -9


COUNTED = ("spent", "tool_call_counts", "usage", "spends", "attempt", "calls_inside", "cost")


@pytest.mark.parametrize("name", [*COUNTED, "turn", "given_up", "invalid_answers"])
def test_no_snapshot_has_spent_less_than_nothing(name: str) -> None:
    """Limits and budgets would have more left than they give, and nobody would be asked."""
    desk = Desk(by_session, AskOverBudget("amount", 100))
    _, snapshot = desk.begun()
    data = snapshot.to_dict()
    less(data["run"], name)

    with pytest.raises(StoredDataError):
        desk.agent("done").run(snapshot=AgentSnapshot.from_dict(data))
    assert desk.paid == []
