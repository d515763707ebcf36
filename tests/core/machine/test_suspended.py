"""An agent at work on a call that must be judged again: it waits, and nothing is done twice."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from detent import ChatMessage, Confirmed, Limits, Modified, Rejected, State, Tool, ToolCall
from detent.approvals import Allow, Approvers, Ask, Deny, judge
from detent.core.machine.delegation import begins_none, runs_in
from detent.core.machine.recovery import begun_by, rebind, without_clearances
from detent.core.run.approval import Verdict
from detent.core.run.run import AwaitingDecision, Ready, agent_at
from detent.core.storage.journal import progress_mark
from detent.core.storage.snapshot import SnapshotMismatchError, run_of, snapshot_of
from detent.core.tools.result import ToolResult
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentRef,
    AgentSpec,
    AskHuman,
    CallRef,
    CallRewritten,
    CancelRequested,
    Delegated,
    FrozenDict,
    HumanDecided,
    Judge,
    Judged,
    ModelReplied,
    Resumed,
    Run,
    Slot,
    ToolReturned,
    ToolStarted,
    due,
    nested_run,
    start,
    step,
    wrap_event,
)
from detent.models import ChatReply
from tests.core.asking import agent_tool

ASK = Ask("", spends=FrozenDict({"eur": 5.0}))
CALL, AT, SLOT = ToolCall("ask", {"task": "look"}, "c0"), AgentRef(1, 0, "ask"), CallRef(1, 0)


def _ask(call: ToolCall, tool: Tool, run: Any) -> Ask:
    return ASK


def spec_of(
    verdict: Verdict = ASK,
    *,
    prompt: str = "",
    on_unknown: Any = "rerun",
    is_guarded: bool = True,
    **options: Any,
) -> AgentSpec[Any]:
    """An agent whose calls of another one are guarded, as calls of that one's tool are."""
    look = Tool("look", "", {"type": "object"}, print, on_unknown=on_unknown, labels=("seen",))
    guards: FrozenDict[str, Any] = FrozenDict()
    if is_guarded:
        guards = FrozenDict({"look": _ask})
    inner: AgentSpec[State] = AgentSpec(
        State({}), by_name([look]), system_prompt=prompt, policies=guards, **options
    )
    outer: FrozenDict[str, Any] = FrozenDict({"ask": lambda call, tool, run: verdict})
    return AgentSpec(State({}), by_name([agent_tool(inner)]), policies=outer)


SPEC = spec_of()


def replied(*calls: ToolCall, turn: int = 1) -> ModelReplied:
    return ModelReplied(turn, 1, ChatReply(ChatMessage.from_assistant(tool_calls=calls)))


def decided(spec: AgentSpec[Any], run: Run[Any], decision: Any = Confirmed()) -> Run[Any]:  # noqa: B008 - a frozen value
    """The run once somebody has decided about what waits."""
    (human,) = (effect for effect in due(spec, run) if isinstance(effect, AskHuman))
    return step(spec, run, wrap_event(human.path, HumanDecided(human.ref, human.digest, decision)))


def judged(spec: AgentSpec[Any], run: Run[Any]) -> Run[Any]:
    """The run when the policies about its own calls have been asked."""
    for effect in due(spec, run):
        if isinstance(effect, Judge) and not effect.path:
            said = judge(effect)
            assert isinstance(said, Judged)
            run = step(spec, run, said)
    return run


def begun(spec: AgentSpec[Any] = SPEC) -> Run[Any]:
    """A run whose agent has been let work, and has been asked nothing yet."""
    run = start(spec, [ChatMessage.from_user("go")], run_id="r", nonce="n")
    run = decided(spec, judged(spec, step(spec, run, replied(CALL))))
    return step(spec, run, ToolStarted(SLOT, 1))


def at_work() -> Run[Any]:
    """A run whose agent waits for a yes to a call of its own."""
    run = step(SPEC, begun(), wrap_event((AT,), replied(ToolCall("look", {}, "i0"))))
    return step(SPEC, run, wrap_event((AT,), Judged(SLOT, ASK)))


def forked(run: Run[Any]) -> Run[Any]:
    """A fork of the run whose call waits for a human."""
    fork = rebind(without_clearances(SPEC, run), "f", "m")
    return judged(SPEC, step(SPEC, fork, Resumed("p2")))


def only(run: Run[Any]) -> Slot:
    (slot,) = run.slots
    return slot


def test_an_agent_that_waits_is_owed_nothing() -> None:
    """Its call alone is asked about; once that is confirmed, it goes on as it was."""
    run = forked(at_work())
    (human,) = due(SPEC, run)
    assert isinstance(human, AskHuman)
    assert (human.call.tool_name, human.path) == ("ask", ())

    confirmed = decided(SPEC, run)
    assert isinstance(only(confirmed).status, Ready)
    goes_on = step(SPEC, confirmed, ToolStarted(SLOT, 1))

    assert isinstance(only(goes_on).status, Delegated)
    assert nested_run(goes_on, (AT,)) == nested_run(run, (AT,))
    assert [(effect.key.kind, effect.path) for effect in due(SPEC, goes_on)] == [("judge", (AT,))]


def test_an_agent_that_has_come_to_nothing_begins_anew() -> None:
    """There is nothing that it could do twice."""
    assert agent_at(only(forked(begun()))) is None
    assert progress_mark(forked(at_work())) == (
        "1 Acting 1 AwaitingDecision(1 Acting 1 AwaitingDecision)"
    )


def test_it_is_stored_and_taken_up() -> None:
    """As it is, also by another fork; an agent that lacks one of its tools does not take it up."""
    run = forked(at_work())
    stored = snapshot_of(SPEC, run)
    assert run_of(SPEC, stored) == run
    assert 'ask({"task": "look"}): waits for a human' in stored.summary()
    assert "  look({})" in stored.summary()
    lacks = evolve(SPEC.agents["ask"], tools=by_name([]), policies=FrozenDict())
    with pytest.raises(SnapshotMismatchError, match="agent 'ask': it needs the tool 'look'"):
        run_of(evolve(SPEC, tools=by_name([agent_tool(lacks)])), stored)

    again = rebind(without_clearances(SPEC, run), "g", "o")

    assert [inner.id for _, inner in runs_in(again)] == ["g", "g/1.0"]
    assert only(again).suspended is not None


def test_the_call_stays_as_it_was_when_the_agent_began() -> None:
    """No human changes it, and no hook: it would be approved, and something else would run."""
    run = forked(at_work())
    changed = decided(SPEC, run, Modified({"task": "pay"}))
    assert changed == run
    run = decided(SPEC, run)
    rewritten = CallRewritten(SLOT, evolve(CALL, arguments=FrozenDict({"task": "pay"})))
    assert step(SPEC, run, rewritten) == run


def test_what_an_agent_has_taken_stays_taken_and_what_its_calls_held_is_given_back() -> None:
    """Whoever says no ends it; the budget is that of what has begun."""
    run = forked(at_work())
    assert run.spent == {"eur": 10.0}
    no = decided(SPEC, run, Rejected("no"))
    assert no.spent == {"eur": 5.0}
    assert no.turn == 2


def test_a_later_verdict_gives_nothing_back_of_what_an_agent_has_taken() -> None:
    """Today's policy may count in another way: what has begun has begun."""
    run = rebind(without_clearances(SPEC, at_work()), "f", "m")
    less = spec_of(Allow(FrozenDict({"eur": 2.0, "calls": 1.0})))
    again = judged(less, step(less, run, Resumed("p2")))
    assert isinstance(only(again).status, Ready)
    assert again.spent == {"eur": 10.0, "calls": 1.0}
    more = spec_of(Allow(FrozenDict({"eur": 6.0})))
    assert judged(more, step(more, run, Resumed("p2"))).spent == {"eur": 11.0}


def test_nor_of_what_an_agent_at_work_has_taken() -> None:
    """It goes on by the rules of today, and has begun by those of yesterday."""
    less = spec_of(Allow(FrozenDict({"eur": 2.0})))
    run = judged(less, step(less, at_work(), Resumed("p2")))
    assert isinstance(only(run).status, Delegated)
    assert run.spent == at_work().spent


def test_nobody_may_say_what_came_of_an_agent_that_waits() -> None:
    """It has come to nothing yet: several people confirm that it goes on, or reject it."""
    two = spec_of(Ask("", approvers=Approvers(2)))
    run = rebind(without_clearances(two, at_work()), "f", "m")
    (human,) = due(two, judged(two, step(two, run, Resumed("p2"))))
    assert isinstance(human, AskHuman)
    assert (human.after, human.trouble, human.answers.respond) == ("", "", False)
    assert "the agent has begun on it" in human.reason


def test_a_copy_is_of_who_begins_it_and_so_are_the_runs_inside() -> None:
    """Also while its agent waits: they may not say yes as somebody else's."""
    for run in (at_work(), forked(at_work())):
        assert {inner.started_by for _, inner in runs_in(begun_by(run, "Ada"))} == {"Ada"}
        assert len(list(runs_in(run))) == 2


def test_what_a_limit_ends_has_held_nothing() -> None:
    """An agent that waits, and may go on too late, or not any more."""
    spec = evolve(SPEC, limits=Limits(max_tool_calls=1))
    run = decided(SPEC, forked(at_work()))
    assert step(spec, run, ToolStarted(SLOT, 1)).spent == {"eur": 5.0}
    assert begins_none(spec, run, "max_tool_calls").spent == {"eur": 5.0}


def test_a_run_that_ends_says_that_the_agent_was_at_work() -> None:
    """While its call waits, too."""
    run = step(SPEC, forked(at_work()), CancelRequested("enough"))
    (told,) = run.messages[-1].tool_call_results
    assert "Agent 'ask' was at work when" in told.text


def test_a_tool_that_was_running_inside_is_as_after_any_crash() -> None:
    """What its driver knows of it after all is heard, and labels what it has labelled."""
    spec = spec_of(is_guarded=False, on_unknown="ask")
    run = step(spec, begun(spec), wrap_event((AT,), replied(ToolCall("look", {}, "i0"))))
    run = step(spec, run, wrap_event((AT,), ToolStarted(SLOT, 1)))
    fork = step(spec, rebind(without_clearances(spec, run), "f", "m"), Resumed("p2"))
    assert fork.labels == ("seen",)
    assert isinstance(only(nested_run(fork, (AT,))).status, AwaitingDecision)

    found = wrap_event((AT,), ToolReturned(SLOT, 1, ToolResult("found")))
    heard = step(spec, judged(spec, fork), found)

    assert nested_run(heard, (AT,)).turn == 2
    assert [type(effect) for effect in due(spec, heard)] == [AskHuman]


def test_an_agent_that_has_ended_while_it_waited_gives_its_answer_once_it_may() -> None:
    """Not before: it is of what was asked about."""
    spec = spec_of(is_guarded=False, exit_conditions=frozenset({"look"}))
    run = step(spec, begun(spec), wrap_event((AT,), replied(ToolCall("look", {}, "i0"))))
    run = step(spec, run, wrap_event((AT,), ToolStarted(SLOT, 1)))
    fork = step(spec, rebind(without_clearances(spec, run), "f", "m"), Resumed("p2"))
    run = step(
        spec, judged(spec, fork), wrap_event((AT,), ToolReturned(SLOT, 1, ToolResult("found")))
    )
    assert run.turn == 1

    run = step(spec, decided(spec, run), ToolStarted(SLOT, 1))

    assert [one.text for one in run.messages[-1].tool_call_results] == ["found"]


@pytest.mark.parametrize("verdict", [Allow(), Deny("no")])
def test_what_the_policies_of_another_process_say_counts_at_once(verdict: Verdict) -> None:
    """Where they ask no more it goes on; where they deny, it ends, and the model is told."""
    run = step(SPEC, at_work(), Resumed("p2"))
    now = spec_of(verdict)
    assert [effect.path for effect in due(now, run)] == [()]
    run = judged(now, run)
    if isinstance(verdict, Allow):
        assert only(run).status == only(step(SPEC, at_work(), Resumed("p2"))).status
        assert [effect.path for effect in due(now, run)] == [(AT,)]
    else:
        (told,) = run.messages[-1].tool_call_results
        assert told.text.startswith("Tool 'ask' was tried, and not again: no")


def test_what_no_policy_guards_any_more_is_asked_about_only_if_the_agent_has_changed() -> None:
    """As it is of a plain call."""
    run = step(SPEC, at_work(), Resumed("p2"))
    same = evolve(SPEC, policies=FrozenDict())
    assert {effect.path for effect in due(same, run)} == {(AT,)}
    other = evolve(spec_of(prompt="Pay."), policies=FrozenDict())
    assert {effect.path for effect in due(other, run)} == {()}
