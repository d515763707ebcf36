"""What the rules of another process say of a call that waits, or was let run."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from detent import ChatMessage, State, ToolCall
from detent.approvals import Allow, Answers, Approvers, Ask, Deny
from detent.core.machine.beginning import Begun, begun_by, may_begin
from detent.core.machine.recovery import rebind, without_approvals, without_clearances
from detent.core.machine.rejudging import (
    Judgement,
    is_guarded,
    is_open,
    judge_anew,
    judgement_on,
    without_attempt,
)
from detent.core.run.approval import Confirmed, Verdict
from detent.core.run.effects import WaitUntil
from detent.core.run.run import AwaitingDecision, Ready, Run
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentRef,
    AgentSpec,
    AskHuman,
    AskModel,
    CallRef,
    CancelRequested,
    FrozenDict,
    HumanDecided,
    Judged,
    ModelFailed,
    ModelReplied,
    Resumed,
    RunTool,
    ToolNeverRan,
    ToolStarted,
    due,
    start,
    step,
    wrap_event,
)
from detent.models import ChatReply, ModelFailure
from tests.core.asking import agent_tool, called, judged, spec_of, waiting

FIRST = CallRef(1, 0)
HELPER = AgentRef(1, 0, "helper")
FIVE = {"to": "Ann", "amount": 5}
ASKED = Ask("sure?")
TWO = Ask("sure?", approvers=Approvers(2))


def saying(verdict: Verdict) -> AgentSpec[State]:
    """An agent whose policy says so of each payment."""
    return spec_of(lambda call, tool, run: verdict)


def confirmed(spec: AgentSpec[State], run: Run[State]) -> Run[State]:
    """A human says yes to what is asked."""
    (question,) = (one for one in due(spec, run) if isinstance(one, AskHuman))
    return step(spec, run, HumanDecided(question.ref, question.digest, Confirmed(), at=5.0))


def heard(spec: AgentSpec[State], run: Run[State], verdict: Verdict) -> Run[State]:
    """The run when a process with these rules has judged the call anew."""
    effect = judge_anew(saying(verdict), run, (), FIRST)
    assert effect is not None
    said = Judged(FIRST, effect.policy(effect.call, effect.tool, effect.run), 6.0, effect.binding)  # type: ignore[arg-type]  # a policy that says it at once
    assert step(spec, run, said) is run  # the verdict was not owed
    return step(spec, run, evolve(said, is_anew=True))


@pytest.mark.parametrize("is_confirmed", [False, True])
def test_what_is_denied_today_is_refused(*, is_confirmed: bool) -> None:
    """A question as well as a call that a human has let run."""
    spec = saying(ASKED)
    run = waiting(spec, FIVE)
    run = heard(spec, confirmed(spec, run) if is_confirmed else run, Deny("frozen"))

    assert run.turn == 2
    assert [one.by for one in run.decisions][-1] == "policy"


@pytest.mark.parametrize("verdict", [ASKED, Allow(), Ask("another reason")])
def test_what_was_said_stays_where_no_more_is_wanted(verdict: Verdict) -> None:
    """Neither a question nor a yes is changed by it."""
    spec = saying(ASKED)
    asked = waiting(spec, FIVE)
    ready = confirmed(spec, asked)

    assert heard(spec, asked, verdict) == asked
    assert heard(spec, ready, verdict) == ready


def test_where_more_is_wanted_it_is_asked_anew() -> None:
    """With a digest of its own: the yes was to another question."""
    spec = saying(ASKED)
    asked = waiting(spec, FIVE)
    allowed = waiting(saying(Allow()), FIVE)
    for run in (asked, confirmed(spec, asked), allowed):
        slot = heard(spec, run, TWO).slots[0]
        assert isinstance(slot.status, AwaitingDecision)
        assert slot.status.ask.approvers == Approvers(2)
        assert slot.status.digest != getattr(asked.slots[0].status, "digest", "")


def test_what_has_begun_or_is_over_is_judged_no_more() -> None:
    """Its policy comes too late."""
    spec = saying(ASKED)
    run = confirmed(spec, waiting(spec, FIVE))
    late = Judged(FIRST, Deny("frozen"), binding=run.slots[0].clearance.binding, is_anew=True)  # type: ignore[union-attr]  # it has one
    begun = step(spec, run, ToolStarted(FIRST, 1))
    over = step(spec, run, CancelRequested("enough"))

    assert step(spec, begun, late) is begun
    assert step(spec, over, late) is over
    assert without_attempt(begun, Begun(FIRST, 1, ())) == run


def test_a_call_is_open_as_long_as_its_turn_and_the_agents_around_it() -> None:
    """What is said of another one is about nothing."""
    spec = saying(ASKED)
    run = waiting(spec, FIVE)
    inside = (AgentRef(1, 0, "helper"),)
    assert is_open(run, (), FIRST)
    assert not is_open(run, inside, FIRST)
    assert not is_open(step(spec, run, CancelRequested("enough")), (), FIRST)
    assert not is_open(run, (), CallRef(1, 7))


def test_a_call_that_nobody_has_judged_has_no_judgement() -> None:
    """Its policy has not been asked."""
    run = start(saying(ASKED), [ChatMessage.from_user("pay")], run_id="r")

    assert judgement_on(step(saying(ASKED), run, called(saying(ASKED), FIVE)), (), FIRST) is None


def test_two_processes_have_said_the_same_where_the_same_stands() -> None:
    """What is asked, and what an answer to it is bound to."""
    spec = saying(ASKED)
    run = waiting(spec, FIVE)
    asked = judgement_on(run, (), FIRST)

    assert isinstance(asked, Judgement)
    assert asked.ask == ASKED
    assert judgement_on(confirmed(spec, run), (), FIRST) == asked
    assert judgement_on(waiting(saying(Allow()), FIVE), (), FIRST) == evolve(asked, ask=None)
    assert is_guarded(spec, run, (), FIRST)
    assert not is_guarded(evolve(spec, policies=FrozenDict()), run, (), FIRST)


def test_a_policy_says_one_thing_after_the_other() -> None:
    """What it owes of another call comes first."""
    spec = saying(ASKED)
    run = start(spec, [ChatMessage.from_user("pay")], run_id="r")
    run = step(spec, run, called(spec, FIVE, FIVE))

    assert judge_anew(spec, run, (), FIRST) is not None
    assert judge_anew(spec, run, (), CallRef(1, 1)) is None


def delegating(policy: Any) -> AgentSpec[State]:
    """An agent that asks another one, whose call is guarded."""
    helper = agent_tool(saying(ASKED), "helper")
    policies = FrozenDict({"helper": policy})
    return AgentSpec(State({}, {}), by_name([helper]), policies=policies)


def at_work(spec: AgentSpec[State]) -> Run[State]:
    """A human has let the agent begin, and it has been given the call."""
    run = start(spec, [ChatMessage.from_user("go")], run_id="r")
    reply = ChatMessage.from_assistant(tool_calls=[ToolCall("helper", {"task": "pay"}, "h")])
    run = confirmed(spec, judged(spec, step(spec, run, ModelReplied(1, 1, ChatReply(reply)))))
    return step(spec, run, ToolStarted(FIRST, 1, 1.0))


def test_an_agent_begins_in_earnest_when_its_model_is_asked_first() -> None:
    """Until then it may be taken back, and what has let it run is held against its rules."""
    spec = delegating(lambda call, tool, run: ASKED)
    run = at_work(spec)
    (asks,) = (one for one in due(spec, run) if isinstance(one, AskModel))
    begun = begun_by(run, asks)
    assert begun is not None
    assert begun == Begun(FIRST, 1, ())
    assert may_begin(spec, run, begun, 1.0)

    again = step(spec, run, ToolNeverRan(FIRST, 1, 2.0))
    assert again.slots[0].status == Ready(2)
    (effect,) = (one for one in due(spec, again) if isinstance(one, RunTool))
    assert begun_by(again, effect) == Begun(FIRST, 2, ())
    assert may_begin(spec, again, effect, 2.0)
    once_more = step(spec, again, ToolStarted(FIRST, 2, 3.0))
    assert step(spec, once_more, ToolNeverRan(FIRST, 1, 4.0)) is once_more  # heard already


def test_an_agent_that_has_begun_is_not_taken_back() -> None:
    """Its model has been asked, and whoever goes on with it goes by their own rules."""
    spec = delegating(lambda call, tool, run: ASKED)
    failed = ModelFailed(1, 1, ModelFailure("overloaded", "away", retryable=True))
    run = step(spec, at_work(spec), wrap_event((HELPER,), failed))
    asks = AskModel(1, 2, (), (), FrozenDict(), path=(HELPER,))

    assert begun_by(run, asks) is None
    assert step(spec, run, ToolNeverRan(FIRST, 1, 2.0)) is run


def test_an_agent_that_nobody_guards_begins_by_nobodys_word() -> None:
    """Nor does the model of the run itself."""
    spec = evolve(delegating(lambda call, tool, run: ASKED), policies=FrozenDict())
    run = start(spec, [ChatMessage.from_user("go")], run_id="r")
    (asks,) = due(spec, run)
    assert begun_by(run, asks) is None
    reply = ChatMessage.from_assistant(tool_calls=[ToolCall("helper", {"task": "pay"}, "h")])
    run = step(spec, step(spec, run, ModelReplied(1, 1, ChatReply(reply))), ToolStarted(FIRST, 1))
    (inner,) = due(spec, run)
    assert begun_by(run, inner) is None
    assert step(spec, run, ToolNeverRan(FIRST, 1)) is run


def test_a_call_inside_an_agent_is_judged_anew_as_well() -> None:
    """By the policy of that agent."""
    spec = delegating(lambda call, tool, run: ASKED)
    run = at_work(spec)
    reply = ChatMessage.from_assistant(tool_calls=[ToolCall("pay", FIVE, "p")])
    run = step(spec, run, wrap_event((HELPER,), ModelReplied(1, 1, ChatReply(reply))))
    while asked := [one for one in due(spec, run) if one.key.kind == "judge"]:
        said = Judged(asked[0].ref, ASKED, binding=asked[0].binding)  # type: ignore[union-attr]  # a `Judge`
        run = step(spec, run, wrap_event((HELPER,), said))

    effect = judge_anew(spec, run, (HELPER,), FIRST)
    assert effect is not None
    assert is_guarded(spec, run, (HELPER,), FIRST)
    denied = Judged(FIRST, Deny("frozen"), binding=effect.binding, is_anew=True)
    after = step(spec, run, wrap_event((HELPER,), denied))
    assert after.decisions[-1].by == "policy"


@pytest.mark.parametrize("verdict", [ASKED, TWO], ids=["as before", "of two people"])
@pytest.mark.parametrize("is_changed", [False, True])
def test_a_question_that_is_put_anew_ends_when_it_was_to_end(
    verdict: Ask, *, is_changed: bool
) -> None:
    """Else each restart, and each release, would put off when silence is a no."""
    verdict = evolve(verdict, expires_s=100)
    spec = saying(evolve(ASKED, expires_s=100))
    run = waiting(spec, FIVE, at=0.0)
    later = saying(verdict)
    if is_changed:
        (tool,) = spec.tools.values()
        later = evolve(later, tools=by_name([evolve(tool, description="of a new release")]))
    run = step(later, run, Resumed("p2", 60.0))
    run = judged(later, run, 60.0)

    status = run.slots[0].status
    assert isinstance(status, AwaitingDecision)
    assert status.ask.approvers == verdict.approvers
    assert status.expires_at == 100.0


def test_what_no_rules_have_asked_about_in_a_copy_is_not_put_anew() -> None:
    """A call that was under way in the original: the rules want no more than they did there."""
    spec = saying(evolve(ASKED, answers=Answers(respond=False)))
    run = confirmed(spec, waiting(spec, FIVE))
    run = step(spec, judged(spec, run), ToolStarted(FIRST, 1))
    copy = step(spec, without_approvals(spec, rebind(run, "fork", "n")), Resumed("p2", 6.0))
    copy = judged(spec, copy)

    status = copy.slots[0].status
    assert isinstance(status, AwaitingDecision)
    assert (status.ask.answers.respond, status.change) == (False, None)


@pytest.mark.parametrize("taken_over", [without_clearances, without_approvals])
def test_a_question_of_a_copy_has_a_time_of_its_own(taken_over: Any) -> None:
    """Else one of a run that nobody has answered in time would be answered with no at once."""
    spec = saying(evolve(ASKED, expires_s=100))
    run = waiting(spec, FIVE, at=0.0)
    copy = taken_over(spec, rebind(run, "fork", "n"))
    copy = judged(spec, step(spec, copy, Resumed("p2", 500.0)), 500.0)

    status = copy.slots[0].status
    assert isinstance(status, AwaitingDecision)
    assert (status.expires_at, status.is_stale, status.change) == (600.0, False, None)


def test_so_has_one_that_no_policy_guards_any_more() -> None:
    """It begins as somebody goes on with the copy, and ends with no: nobody says how long anew."""
    spec = saying(evolve(ASKED, expires_s=100))
    run = rebind(waiting(spec, FIVE, at=0.0), "fork", "n")
    later = evolve(spec, policies=FrozenDict())
    copy = step(later, without_clearances(later, run), Resumed("p2", 500.0))

    assert getattr(copy.slots[0].status, "expires_at", None) == 600.0
    assert isinstance(due(later, copy)[-1], WaitUntil)
    assert step(later, copy, Resumed("p3", 550.0)).slots == copy.slots
