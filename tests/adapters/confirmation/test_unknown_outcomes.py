"""Who may say what came of a call, where nobody knows: of a payment that may have been made."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve, field, frozen

from detent import (
    Agent,
    AlwaysAskPolicy,
    ChatMessage,
    HITLBreakpointException,
    IdempotencyKey,
    MemoryJournal,
    NeverAskPolicy,
    ScriptedChatGenerator,
    ToolCall,
    create_tool_from_function,
)
from detent.approvals import (
    AllOf,
    AnyOf,
    Approvers,
    AskAbove,
    BlockingConfirmationStrategy,
    ConfirmationUIResult,
    DecisionRefusedError,
    PendingCall,
    Principal,
    ToolExecutionDecision,
    WithApprovers,
    judge,
)
from detent.machine import (
    AskHuman,
    CallRef,
    Judge,
    Judged,
    ModelReplied,
    OutcomeUnknownError,
    Resumed,
    ToolLost,
    ToolStarted,
    due,
    start,
    step,
)
from detent.models import ChatReply

TWO = Approvers(2, roles=("finance",), apart=True)
OF_TWO = WithApprovers(NeverAskPolicy(), TWO)
PEOPLE = {
    "ada": Principal("Ada", ("finance",)),
    "bob": Principal("Bob", ("finance",)),
    "cyd": Principal("Cyd", ()),
    "dee": Principal("Dee", ("finance",)),
}


class PowerCutError(KeyboardInterrupt):
    """What no tool survives."""


def by_name(decision: ToolExecutionDecision, question: PendingCall, /) -> Principal | None:
    return PEOPLE.get(decision.credential or "")


def said(who: str, decision: ToolExecutionDecision) -> ToolExecutionDecision:
    return evolve(decision, credential=who)


@frozen
class Desk:
    """An agent that wires money by a bank which gives no answer at first, begun by Dee."""

    policy: Any
    wired: list[tuple[float, str]] = field(factory=list)
    journal: MemoryJournal = field(factory=MemoryJournal)

    def agent(self, *script: Any, policy: Any = None) -> Agent[Any]:
        """The agent, as each process has it."""

        def wire(euros: float, key: IdempotencyKey) -> str:
            self.wired.append((euros, key))
            if len(self.wired) == 1:
                raise OutcomeUnknownError("the bank does not answer")
            return "wired"

        return Agent(
            chat_generator=ScriptedChatGenerator(*script),
            tools=[create_tool_from_function(wire, description="Wire.")],
            journal=self.journal,
            confirmation_strategies={"wire": policy or self.policy},
            approvers=by_name,
        )

    def stopped(self, euros: float) -> PendingCall:
        """The question that a new run comes to."""
        agent = self.agent(ToolCall("wire", {"euros": euros}, "c"))
        with pytest.raises(HITLBreakpointException) as raised:
            agent.run("go", run_id="r", started_by="Dee")
        return raised.value.pending[0]

    def decide(self, *decisions: ToolExecutionDecision) -> None:
        """Decide, one after the other."""
        for one in decisions:
            self.agent().decide("r", one)

    def goes_on(self, *script: Any, policy: Any = None) -> PendingCall:
        """The question that the run comes to next."""
        with pytest.raises(HITLBreakpointException) as raised:
            self.agent(*script, policy=policy).resume("r")
        return raised.value.pending[0]

    def refused(self, decision: ToolExecutionDecision, policy: Any = None) -> str:
        """Why a decision does not count."""
        with pytest.raises(DecisionRefusedError) as raised:
            self.agent(policy=policy).decide("r", decision)
        return f"{raised.value.refusal.why}: {raised.value.refusal.text}"


def test_of_two_who_must_confirm_one_may_say_what_came_of_it() -> None:
    """It lets nothing begin. To have it done once more takes both, and no change of it counts."""
    desk = Desk(WithApprovers(AlwaysAskPolicy(), TWO))
    call = desk.stopped(500)
    assert (call.answers.respond, call.answers.modify) == (False, ())
    assert "2 people must confirm it as it is: reject it" in desk.refused(
        said("ada", call.respond("wired"))
    )
    desk.decide(said("ada", call.confirm()), said("bob", call.confirm()))

    call = desk.goes_on()
    assert call.trouble
    assert (call.answers.respond, call.answers.modify) == (True, ())
    assert "2 people must confirm it as it is: answer what came of it, or reject it" in (
        desk.refused(said("ada", call.modify({"euros": 5.0})))
    )
    assert desk.refused(said("cyd", call.respond("wired"))).startswith("not_entitled")
    assert "Dee has started this run" in desk.refused(said("dee", call.respond("wired")))

    desk.decide(said("bob", call.respond("500 wired, receipt 9")))
    result = desk.agent("done").resume("r")

    assert result.messages[-2].tool_call_results[0].text == "500 wired, receipt 9"
    assert [euros for euros, _ in desk.wired] == [500.0]


@pytest.mark.parametrize(
    "policy",
    [
        WithApprovers(AskAbove("euros", 50), TWO),
        AnyOf([WithApprovers(AskAbove("euros", 50), TWO), NeverAskPolicy()]),
        AllOf([WithApprovers(AskAbove("euros", 5), TWO), NeverAskPolicy()]),
        WithApprovers(WithApprovers(AskAbove("euros", 50), Approvers(2)), evolve(TWO, count=1)),
    ],
    ids=["alone", "any", "all", "both"],
)
def test_what_a_policy_has_let_run_is_asked_of_those_whom_it_would_ask(policy: Any) -> None:
    """A payment that needed no word may be made twice by one: that takes those people."""
    desk = Desk(policy)
    call = desk.stopped(20)

    assert call.approvers == TWO
    assert desk.refused(said("cyd", call.confirm())).startswith("not_entitled")
    assert desk.refused(said("cyd", call.reject())).startswith("not_entitled")
    desk.decide(said("ada", call.confirm()))
    assert [euros for euros, _ in desk.wired] == [20.0]
    desk.decide(said("bob", call.confirm()))
    desk.agent("done").resume("r")

    assert [euros for euros, _ in desk.wired] == [20.0, 20.0]


def test_rules_of_today_say_who_may_say_what_came_of_it() -> None:
    """A release may ask others: the question is put anew to them, and not to those of before."""
    desk = Desk(NeverAskPolicy())
    call = desk.stopped(20)
    assert call.approvers == Approvers()
    today = WithApprovers(NeverAskPolicy(), TWO)

    anew = desk.goes_on(policy=today)
    assert anew.approvers == TWO
    assert anew.trouble == call.trouble
    assert "others must decide, or more people" in anew.changed
    assert desk.refused(said("cyd", anew.confirm()), today).startswith("not_entitled")

    later = WithApprovers(NeverAskPolicy(), Approvers(roles=("audit",)))
    assert desk.goes_on(policy=later).approvers == Approvers(roles=("audit",))


@pytest.mark.parametrize("inner", [NeverAskPolicy(), AlwaysAskPolicy()], ids=["allows", "asks"])
def test_a_yes_of_yesterday_to_it_does_not_count_where_others_must_say_so(inner: Any) -> None:
    """Nobody has begun it by that word yet, and the release that would asks others."""
    desk = Desk(NeverAskPolicy())
    call = desk.stopped(20)
    desk.decide(said("cyd", call.confirm()))

    anew = desk.goes_on(policy=WithApprovers(inner, TWO))

    assert anew.approvers == TWO
    assert anew.trouble == call.trouble
    assert [euros for euros, _ in desk.wired] == [20.0]


def test_who_would_not_ask_at_first_is_asked_afterwards_where_another_rule_asks() -> None:
    """One yes was enough to begin it: to begin it once more takes those of the other rule, too."""
    desk = Desk(AnyOf([WithApprovers(AskAbove("euros", 50), TWO), AskAbove("euros", 10)]))
    first = desk.stopped(20)
    assert first.approvers == Approvers()
    desk.decide(said("cyd", first.confirm()))

    call = desk.goes_on()
    assert call.approvers == TWO
    assert desk.refused(said("cyd", call.confirm())).startswith("not_entitled")
    assert desk.goes_on().approvers == TWO  # by the rules of another process as well


def test_a_question_names_the_key_by_which_the_world_can_be_asked() -> None:
    """That which the tool was given, and will be given once more."""
    desk = Desk(WithApprovers(AskAbove("euros", 50), Approvers(roles=("finance",))))
    call = desk.stopped(20)
    assert call.idempotency_key == desk.wired[0][1]
    assert f"The tool was given the key {call.idempotency_key}." in call.reason
    assert call.to_dict()["idempotency_key"] == call.idempotency_key
    assert PendingCall.from_dict(call.to_dict()) == call
    desk.decide(said("ada", call.confirm()))
    desk.agent("done").resume("r")
    assert len({key for _, key in desk.wired}) == 1


def test_a_question_names_the_key_that_a_look_up_was_given() -> None:
    """Also where the tool itself takes none."""
    asked = list[str]()

    def look_up(arguments: Any, key: str) -> object:
        asked.append(key)
        raise OSError("the bank is closed")

    def wire(euros: float) -> str:
        raise PowerCutError

    journal, script = MemoryJournal(), [ToolCall("wire", {"euros": 5.0}, "c")]
    tools = [create_tool_from_function(wire, description="Wire.", on_unknown=look_up)]
    agent = Agent(chat_generator=ScriptedChatGenerator(*script), tools=tools, journal=journal)
    with pytest.raises(PowerCutError):
        agent.run("go", run_id="r")
    Agent(chat_generator=ScriptedChatGenerator(), tools=tools, journal=journal).resume(
        "r", raise_at_break_point=False
    )
    (call,) = agent.pending("r")
    assert asked == [call.idempotency_key]


def test_whom_the_rules_of_today_name_is_kept_for_afterwards() -> None:
    """Both let it run without a word; then it has begun, and nobody knows what came of it."""
    yesterday, today = (Desk(one).agent().spec for one in (NeverAskPolicy(), OF_TWO))
    message = ChatMessage.from_assistant(tool_calls=[ToolCall("wire", {"euros": 5.0}, "c")])
    run = start(yesterday, [ChatMessage.from_user("go")], run_id="r", nonce="n")
    run = step(yesterday, run, ModelReplied(1, 1, ChatReply(message)))
    for spec, event in ((yesterday, None), (today, Resumed("p2"))):
        run = run if event is None else step(spec, run, event)
        (effect,) = (one for one in due(spec, run) if isinstance(one, Judge))
        said_of_it = judge(effect)
        assert isinstance(said_of_it, Judged)
        run = step(spec, run, said_of_it)
    ref = CallRef(1, 0)
    run = step(today, step(today, run, ToolStarted(ref, 1)), ToolLost(ref, 1, "the bank is silent"))
    (human,) = due(today, run)
    assert isinstance(human, AskHuman)
    assert human.ask.approvers == TWO


def test_at_a_ui_as_well_one_of_two_may_say_what_came_of_it() -> None:
    """Where the call is first asked about, its answer in the tool's place does not count."""

    class Window:
        def get_user_decision(self, pending: PendingCall) -> ConfirmationUIResult:
            """What Ada answers."""
            return ConfirmationUIResult("respond", "wired, receipt 9", credential="ada")

        def get_user_confirmation(
            self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
        ) -> Any:
            """Never called."""

    desk = Desk(BlockingConfirmationStrategy(WithApprovers(AskAbove("euros", 50), TWO), Window()))
    small = ToolCall("wire", {"euros": 20.0}, "a")
    result = desk.agent(small, "done").run("go", run_id="r", started_by="Dee")
    assert result.messages[-2].tool_call_results[0].text == "wired, receipt 9"

    other, large = Desk(desk.policy), ToolCall("wire", {"euros": 500.0}, "a")
    waits = other.agent(large).run("go", run_id="r", started_by="Dee")
    assert [call.tool_name for call in waits.pending] == ["wire"]
    assert other.wired == []
