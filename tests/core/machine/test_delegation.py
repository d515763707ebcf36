"""Delegation: a run inside a slot, from its first event to the result that it is."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve, frozen

from detent import (
    AlwaysAskPolicy,
    ChatMessage,
    DetentError,
    Limits,
    OutputType,
    State,
    StoredDataError,
    Tool,
    ToolCall,
    WiringError,
)
from detent.adapters.control.breakpoints import AgentBreakpoint, ToolBreakpoint, holds_of
from detent.approvals import Ask, pending
from detent.core.control.decisions import apply_decisions
from detent.core.control.holds import describe_effects
from detent.core.machine.delegation import ANSWER, agents_in, result_of_run, runs_in
from detent.core.machine.recovery import rebind, without_clearances
from detent.core.run.run import AwaitingPolicy, Faulted, Ready, Succeeded
from detent.core.run.spec import DEPTH_MAX
from detent.core.storage.journal import (
    event_from_json,
    event_to_json,
    progress_mark,
    run_from_json,
    run_to_json,
    status_of,
)
from detent.core.storage.snapshot import run_of, snapshot_from, snapshot_of
from detent.core.tools.masking import MASK
from detent.core.tools.result import ToolResult
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentRef,
    AgentSpec,
    AskModel,
    CallRef,
    CancelRequested,
    Delegated,
    Done,
    Effect,
    Exhausted,
    Finished,
    FrozenDict,
    HappenedInside,
    Judged,
    ModelFailed,
    ModelReplied,
    NoAnswerError,
    Resumed,
    Run,
    RunTool,
    ToolReturned,
    ToolStarted,
    UnknownEffectError,
    due,
    nested_run,
    start,
    step,
    wrap_event,
)
from detent.models import ChatReply, ModelFailure, Usage
from tests.core.asking import agent_tool, spec_of

LOOK = Tool("look", "", {"type": "object"}, print, on_unknown="rerun")


INNER: AgentSpec[State] = AgentSpec(
    State({"found": {"type": list[str]}}), by_name([LOOK]), system_prompt="You look things up."
)
OUTER: AgentSpec[State] = AgentSpec(State({}), by_name([agent_tool(INNER)]))
AT = AgentRef(1, 0, "ask")


def said(*calls: ToolCall, text: str | None = None, usage: Usage | None = None) -> ChatReply:
    return ChatReply(
        ChatMessage.from_assistant(text, tool_calls=calls), usage=usage or Usage(10, 1)
    )


def asked(*tasks: str, spec: AgentSpec[Any] = OUTER) -> Run[Any]:
    """A run that has asked its agent, once for each of the tasks."""
    calls = [ToolCall("ask", {"task": task}, f"c{n}") for n, task in enumerate(tasks)]
    run = start(spec, [ChatMessage.from_user("go")], run_id="r")
    return step(spec, run, ModelReplied(1, 1, said(*calls)))


def delegated(*tasks: str, spec: AgentSpec[Any] = OUTER) -> Run[Any]:
    run = asked(*tasks, spec=spec)
    for place in range(len(tasks)):
        run = step(spec, run, ToolStarted(CallRef(1, place), 1))
    return run


def kinds(spec: AgentSpec[Any], run: Run[Any]) -> list[tuple[str, int]]:
    """Kind and depth of each effect."""
    return [(effect.key.kind, len(effect.path)) for effect in due(spec, run)]


def only(spec: AgentSpec[Any], run: Run[Any]) -> Effect:
    (effect,) = due(spec, run)
    return effect


def test_an_agent_is_started_as_a_tool_is() -> None:
    """It begins with its own prompt and the task, in a run with an id of its own."""
    run = asked("look")
    assert isinstance(only(OUTER, run), RunTool)
    run = step(OUTER, run, ToolStarted(CallRef(1, 0), 1))
    inner = nested_run(run, (AT,))
    assert inner.id == "r/1.0"
    assert [message.text for message in inner.messages] == ["You look things up.", "look"]
    assert run.messages == [ChatMessage.from_user("go")]


def test_what_its_run_owes_is_owed_by_the_whole_run() -> None:
    """Each effect says for whom it is, so that no two are the same."""
    run = delegated("one", "two")
    effects = due(OUTER, run)
    assert [effect.path for effect in effects] == [(AT,), (AgentRef(1, 1, "ask"),)]
    assert len({effect.key for effect in effects}) == 2
    assert isinstance(effects[0], AskModel)
    assert [tool.name for tool in effects[0].tools] == ["look"]


def test_its_answer_is_the_result_of_the_call() -> None:
    """The model that called it sees that alone; the tokens are added up."""
    run = delegated("look")
    call = ToolCall("look", {}, "x")
    run = step(OUTER, run, wrap_event((AT,), ModelReplied(1, 1, said(call))))
    effect = only(OUTER, run)
    assert isinstance(effect, RunTool)
    assert effect.idempotency_key.startswith("r/1.0/1/0/")
    run = step(OUTER, run, wrap_event((AT,), ToolStarted(effect.ref, 1)))
    run = step(OUTER, run, wrap_event((AT,), ToolReturned(effect.ref, 1, ToolResult("seen"))))
    assert run.usage == Usage(20, 2)
    run = step(OUTER, run, wrap_event((AT,), ModelReplied(2, 1, said(text="found it"))))
    assert [m.role for m in run.messages] == ["user", "assistant", "tool"]
    assert run.messages[-1].tool_call_results[0].text == "found it"
    assert (run.usage, run.turn, run.tool_call_counts) == (Usage(30, 3), 2, {"ask": 1})


def test_agents_work_inside_agents() -> None:
    """An event goes as deep as its path says; each run inside has an id that says where it is."""
    outermost: AgentSpec[State] = AgentSpec(State({}), by_name([agent_tool(OUTER)]))
    run = delegated("go deep", spec=outermost)
    deeper = ToolCall("ask", {"task": "deeper"}, "d")
    run = step(outermost, run, wrap_event((AT,), ModelReplied(1, 1, said(deeper))))
    run = step(outermost, run, wrap_event((AT,), ToolStarted(CallRef(1, 0), 1)))
    assert nested_run(run, (AT, AT)).id == "r/1.0/1.0"
    assert only(outermost, run).path == (AT, AT)
    run = step(outermost, run, wrap_event((AT, AT), ModelReplied(1, 1, said(text="deep"))))
    run = step(outermost, run, wrap_event((AT,), ModelReplied(2, 1, said(text="up"))))
    assert run.messages[-1].tool_call_results[0].text == "up"
    assert run.usage == Usage(40, 4)
    assert agents_in(outermost).keys() == {"ask"}


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (ModelFailed(1, 1, ModelFailure("server", "it is down")), "it is down"),
        (CancelRequested("enough"), "cancelled"),
        (ModelReplied(1, 1, said(ToolCall("look", {}, "x"))), "max_agent_steps"),
    ],
    ids=["failed", "cancelled", "exhausted"],
)
def test_an_agent_without_an_answer_is_a_fault(event: Any, text: str) -> None:
    """The model that called it reads why."""
    spec = evolve(OUTER, tools=by_name([agent_tool(evolve(INNER, limits=Limits(1)))]))
    run = delegated("look", spec=spec)
    run = step(spec, run, wrap_event((AT,), event))
    if run.slots:
        run = step(spec, run, wrap_event((AT,), ToolReturned(CallRef(1, 0), 1, ToolResult("seen"))))
    result = run.messages[-1].tool_call_results[0]
    assert result.error
    assert result.text.startswith("Agent 'ask' gave no answer: ")
    assert text in result.text


def test_an_agent_that_may_take_no_step_gives_no_answer() -> None:
    """It ends when it begins."""
    spec = evolve(OUTER, tools=by_name([agent_tool(evolve(INNER, limits=Limits(0)))]))
    run = delegated("look", spec=spec)
    assert run.messages[-1].tool_call_results[0].text.endswith("max_agent_steps")


def test_what_goes_wrong_before_it_begins_is_a_fault() -> None:
    """Its state does not take what the state outside holds."""
    schema = {"number": {"type": int}}
    tool = agent_tool(INNER, inputs_from_state={"number": "found"})
    spec: AgentSpec[State] = AgentSpec(State(schema, {"number": 3}), by_name([tool]))
    run = delegated("look", spec=spec)
    assert "'found'" in run.messages[-1].tool_call_results[0].text
    assert run.messages[-1].tool_call_results[0].error


def test_what_goes_wrong_with_its_result_is_a_fault() -> None:
    """A handler of the tool raises."""

    def fail(value: object) -> str:
        raise ValueError("no text")

    tool = agent_tool(INNER, outputs_to_string={"source": ANSWER, "handler": fail})
    spec = evolve(OUTER, tools=by_name([tool]))
    run = step(
        spec, delegated("look", spec=spec), wrap_event((AT,), ModelReplied(1, 1, said(text="a")))
    )
    assert "could not be used: ValueError: no text" in run.messages[-1].tool_call_results[0].text


def test_a_limit_outside_stops_agents_however_deep() -> None:
    """At the end of the turn in which it is reached; those between end with no answer."""
    deep = AgentSpec(State({}), by_name([LOOK]))
    middle = AgentSpec(State({}), by_name([agent_tool(deep, "deep")]))
    tools = by_name([agent_tool(middle, "middle")])
    spec = AgentSpec(State({}), tools, limits=Limits(max_tokens=10))
    run = start(spec, [ChatMessage.from_user("go")], run_id="r")
    for name in ("middle", "deep"):
        (ask,) = due(spec, run)
        call = ChatMessage.from_assistant(tool_calls=[ToolCall(name, {"task": "t"})])
        assert isinstance(ask, AskModel)
        run = step(spec, run, wrap_event(ask.path, ask.replied(call)))
        (begin,) = due(spec, run)
        assert isinstance(begin, RunTool)
        run = step(spec, run, wrap_event(begin.path, ToolStarted(begin.ref, 1)))
    (ask,) = due(spec, run)
    assert isinstance(ask, AskModel)
    call = ChatMessage.from_assistant(tool_calls=[ToolCall("look")])
    run = step(spec, run, wrap_event(ask.path, ask.replied(ChatReply(call, usage=Usage(10)))))
    (look,) = due(spec, run)
    assert isinstance(look, RunTool)
    run = step(spec, run, wrap_event(look.path, look.returned("nothing")))
    assert run.outcome == Exhausted("max_tokens")
    assert "no answer: max_tokens" in run.messages[-1].tool_call_results[0].text


def test_late_and_foreign_events_change_nothing_or_are_refused() -> None:
    """As everywhere: what was once owed is late, what never was is somebody else's."""
    run = delegated("look")
    event = wrap_event((AT,), ModelReplied(1, 1, said(text="found it")))
    after = step(OUTER, run, event)
    assert step(OUTER, after, event) is after
    assert step(OUTER, run, wrap_event((AT,), ToolStarted(CallRef(0, 0), 1))) is run
    assert step(OUTER, asked("look"), event) == asked("look")
    with pytest.raises(UnknownEffectError, match="no agent 'other'"):
        step(OUTER, run, HappenedInside(CallRef(1, 0), "other", event))
    with pytest.raises(UnknownEffectError, match="no tool call"):
        step(OUTER, run, HappenedInside(CallRef(1, 7), "ask", event))
    with pytest.raises(LookupError, match="no agent at work"):
        nested_run(asked("look"), (AT,))


def test_cancelling_the_run_ends_the_agents_in_it() -> None:
    """Nothing is owed any more; the conversation has an answer to the call."""
    run = step(OUTER, delegated("look"), CancelRequested("enough"))
    assert due(OUTER, run) == ()
    assert run.messages[-1].tool_call_results[0].text == (
        "Agent 'ask' was at work when the run was cancelled. It gave no answer."
    )


def test_only_so_many_agents_work_at_once() -> None:
    """As with other tools; one that has begun keeps its place."""
    spec = evolve(OUTER, limits=Limits(parallel_tool_calls=1))
    run = asked("one", "two", spec=spec)
    effect = only(spec, run)
    assert isinstance(effect, RunTool)
    run = step(spec, run, ToolStarted(CallRef(1, 0), 1))
    assert only(spec, run).path == (AT,)
    run = step(spec, run, wrap_event((AT,), ModelReplied(1, 1, said(text="done"))))
    assert only(spec, run).key.place == 1


def test_an_agent_that_waits_for_a_human_keeps_nobody_waiting() -> None:
    """Its place is free until it may go on; then it thinks at once, and runs tools in turn."""
    guarded = evolve(INNER, policies=FrozenDict({"look": AlwaysAskPolicy()}))
    tools = by_name([agent_tool(guarded), LOOK])
    spec = AgentSpec(State({}), tools, limits=Limits(parallel_tool_calls=1))
    calls = ToolCall("ask", {"task": "look"}, "a"), ToolCall("look", {}, "b")
    run = start(spec, [ChatMessage.from_user("go")], run_id="r")
    run = step(spec, run, ModelReplied(1, 1, said(*calls)))
    run = step(spec, run, ToolStarted(CallRef(1, 0), 1))
    assert kinds(spec, run) == [("model", 1)]
    run = step(spec, run, wrap_event((AT,), ModelReplied(1, 1, said(ToolCall("look", {}, "x")))))
    assert kinds(spec, run) == [("judge", 1)]
    run = step(spec, run, wrap_event((AT,), Judged(CallRef(1, 0), Ask())))
    assert kinds(spec, run) == [("tool", 0), ("human", 1)]

    run = step(spec, run, ToolStarted(CallRef(1, 1), 1))
    (call,) = pending(spec, run)
    yes, _ = apply_decisions(spec, run, [call.confirm()], 1.0)
    no, _ = apply_decisions(spec, run, [call.reject()], 1.0)
    assert kinds(spec, yes) == [("tool", 0)]
    assert [done.path for done in yes.decisions] == [(AT,)]
    assert kinds(spec, no) == [("tool", 0), ("model", 1)]
    done = ToolReturned(CallRef(1, 1), 1, ToolResult("seen"))
    yes = step(spec, yes, done)
    assert kinds(spec, yes) == [("tool", 1)]
    yes = step(spec, yes, wrap_event((AT,), ToolStarted(CallRef(1, 0), 1)))
    assert kinds(spec, yes) == [("tool", 1)]


def test_a_tool_that_runs_inside_is_not_displaced() -> None:
    """Not by an agent that stands before it and has been waiting for a human."""
    guarded = evolve(INNER, policies=FrozenDict({"look": AlwaysAskPolicy()}))
    tools = by_name([agent_tool(guarded), agent_tool(INNER, "free")])
    spec = AgentSpec(State({}), tools, limits=Limits(parallel_tool_calls=1))
    calls = [ToolCall(name, {"task": "look"}, name) for name in ("ask", "free")]
    other, look = (AgentRef(1, 1, "free"),), said(ToolCall("look", {}, "x"))
    run = start(spec, [ChatMessage.from_user("go")], run_id="r")
    for event in (
        ModelReplied(1, 1, said(*calls)),
        ToolStarted(CallRef(1, 0), 1),
        wrap_event((AT,), ModelReplied(1, 1, look)),
        wrap_event((AT,), Judged(CallRef(1, 0), Ask())),
        ToolStarted(CallRef(1, 1), 1),
        wrap_event(other, ModelReplied(1, 1, look)),
        wrap_event(other, ToolStarted(CallRef(1, 0), 1)),
    ):
        run = step(spec, run, event)
    (call,) = pending(spec, run)
    run, _ = apply_decisions(spec, run, [call.confirm()], 1.0)

    assert [effect.path for effect in due(spec, run)] == [other]


def test_another_process_takes_up_the_agents_too() -> None:
    """A call in an agent's run that was under way is of unknown outcome; its tool says more."""
    run = delegated("look")
    assert step(OUTER, run, Resumed("p")) == run
    run = step(OUTER, run, wrap_event((AT,), ModelReplied(1, 1, said(ToolCall("look", {}, "x")))))
    run = step(OUTER, run, wrap_event((AT,), ToolStarted(CallRef(1, 0), 1)))
    again = step(OUTER, run, Resumed("p"))
    assert "Running" in progress_mark(run)
    assert "Delegated(1 Acting 1 Ready)" in progress_mark(again)


def test_time_matters_where_an_agent_inside_has_only_so_much() -> None:
    """However deep it is."""
    timed = AgentSpec(State({}), by_name([]), limits=Limits(max_seconds=1))
    middle = AgentSpec(State({}), by_name([agent_tool(timed)]))
    assert timed.is_timed
    assert AgentSpec(State({}), by_name([agent_tool(middle)])).is_timed
    assert not AgentSpec(State({}), by_name([LOOK])).is_timed


def test_a_copy_of_a_run_has_copies_of_the_runs_inside() -> None:
    """With ids of their own, and so with keys and digests of their own."""
    run = delegated("look")
    copy = rebind(run, "s", "n")
    assert nested_run(copy, (AT,)).id == "s/1.0"
    looking = wrap_event((AT,), ModelReplied(1, 1, said(ToolCall("look", {}, "x"))))
    run = step(OUTER, run, looking)
    (ready,) = nested_run(without_clearances(OUTER, run), (AT,)).slots
    guarded = evolve(INNER, policies=FrozenDict({"look": AlwaysAskPolicy()}))
    strict = AgentSpec(State({}), by_name([agent_tool(guarded)]))
    (awaiting_policy,) = nested_run(without_clearances(strict, run), (AT,)).slots
    assert (ready.status, awaiting_policy.status) == (Ready(), AwaitingPolicy())


def test_a_run_is_stored_with_the_runs_inside() -> None:
    """And its events with those inside; both only for an agent that has such an agent."""
    run = delegated("look")
    assert run_from_json(OUTER, run_to_json(OUTER, run)) == run
    event = wrap_event((AT,), ModelReplied(1, 1, said(text="found it")))
    data = event_to_json(OUTER, event)
    assert event_from_json(OUTER, data) == event
    with pytest.raises(ValueError, match="this agent has no agent 'ask'"):
        event_from_json(INNER, data)
    with pytest.raises(ValueError, match="this agent has no agent 'None'"):
        event_from_json(OUTER, {"$type": "HappenedInside"})


def test_a_run_waits_when_its_agents_wait() -> None:
    """For a human, and for nothing else."""
    run = delegated("look")
    assert status_of(run) == "running"
    assert isinstance(run.slots[0].status, Delegated)


@frozen
class Found:
    """What an agent finds."""

    where: str


@pytest.mark.parametrize(
    ("spec", "outcome", "answer"),
    [
        (INNER, Finished("text"), "here"),
        (evolve(INNER, output=OutputType(Found)), Finished("output", {"where": "x"}), Found("x")),
    ],
    ids=["text", "typed"],
)
def test_the_result_of_a_run_is_its_state_and_its_answer(
    spec: AgentSpec[Any], outcome: Finished, answer: object
) -> None:
    """Without the conversation; keys that hold nothing are left out."""
    talk = [ChatMessage.from_user("where?"), ChatMessage.from_assistant("here")]
    run = evolve(start(spec, talk, run_id="r"), phase=Done(outcome))
    assert result_of_run(spec, run) == {ANSWER: answer}
    run = evolve(run, state=run.state.set("found", ["a"]))
    assert result_of_run(spec, run) == {"found": ["a"], ANSWER: answer}


def test_the_result_of_an_exit_tool_is_the_answer() -> None:
    """Whatever other tools were called beside it."""
    calls = [ToolCall("look", {}, "a"), ToolCall("look", {}, "b")]
    spec = evolve(INNER, exit_conditions=frozenset({"look"}))
    run = step(spec, start(spec, [], run_id="r"), ModelReplied(1, 1, said(*calls)))
    for place in (0, 1):
        run = step(spec, run, ToolReturned(CallRef(1, place), 1, ToolResult(f"seen {place}")))
    assert result_of_run(spec, run) == {ANSWER: "seen 1"}


@pytest.mark.parametrize(
    ("spec", "phase", "text"),
    [
        (INNER, Done(Exhausted("max_agent_steps")), "max_agent_steps"),
        (evolve(INNER, output=OutputType(Found)), Done(Finished("length")), "length"),
    ],
)
def test_a_run_without_an_answer_has_no_result(
    spec: AgentSpec[Any], phase: Done, text: str
) -> None:
    """The error says how it has ended."""
    run = start(spec, [], run_id="r")
    with pytest.raises(NoAnswerError, match="it has stopped"):
        result_of_run(spec, run)
    with pytest.raises(NoAnswerError, match=text):
        result_of_run(spec, evolve(run, phase=phase))


def test_agents_do_not_work_inside_each_other_without_end() -> None:
    """What is stored is nested as deep."""
    spec = INNER
    for _ in range(DEPTH_MAX - 1):
        spec = evolve(OUTER, tools=by_name([agent_tool(spec)]))
    assert spec.depth == DEPTH_MAX
    with pytest.raises(WiringError, match=f"{DEPTH_MAX + 1} deep"):
        evolve(OUTER, tools=by_name([agent_tool(spec)]))


def test_statuses_of_settled_agents_are_those_of_tools() -> None:
    """The one call is settled, the other goes on."""
    run = delegated("one", "two")
    run = step(OUTER, run, wrap_event((AT,), ModelReplied(1, 1, said(text="a"))))
    assert isinstance(run.slots[0].status, Succeeded)
    last = wrap_event((AgentRef(1, 1, "ask"),), CancelRequested("enough"))
    run = step(OUTER, run, last)
    assert [one.error for m in run.messages for one in m.tool_call_results] == [False, True]
    assert not isinstance(run.phase, Faulted)


BOTH: AgentSpec[State] = AgentSpec(State({}), by_name([agent_tool(INNER), LOOK]))


def looking(spec: AgentSpec[Any] = OUTER) -> Run[Any]:
    """A run whose agent has called its tool."""
    inner_call = ModelReplied(1, 1, said(ToolCall("look", {}, "x")))
    return step(spec, delegated("one", spec=spec), wrap_event((AT,), inner_call))


def test_a_breakpoint_may_stand_inside_an_agent() -> None:
    """It holds what that agent is owed, and says for whom it is; others go through."""
    run = looking()
    rules = holds_of(AgentBreakpoint("ask", ToolBreakpoint("tool_invoker", 0, "look")), OUTER)
    effect = only(OUTER, run)

    assert rules(run, effect)
    assert describe_effects([effect]) == "ask: run look({})"
    assert not rules(asked("one"), only(OUTER, asked("one")))


def test_agents_and_tools_work_side_by_side() -> None:
    """Each owes its own."""
    run = start(BOTH, [ChatMessage.from_user("go")], run_id="r")
    calls = [ToolCall("ask", {"task": "one"}, "a"), ToolCall("look", {}, "b")]
    run = step(BOTH, run, ModelReplied(1, 1, said(*calls)))
    run = step(BOTH, run, ToolStarted(CallRef(1, 0), 1))

    assert {type(effect) for effect in due(BOTH, run)} == {AskModel, RunTool}


def test_a_snapshot_knows_what_goes_on_inside() -> None:
    """How far each call is, and where it has stopped; what is no such place is refused."""
    run = looking()
    snapshot = snapshot_of(OUTER, run, due(OUTER, run))
    again = snapshot_from(snapshot.to_json())

    *_, ask, look = snapshot.summary().splitlines()
    assert ask.endswith(": at work")
    assert look == "    look({}): ready to run"
    assert again.held == snapshot.held
    assert again.held[0].path == (AT,)
    assert run_of(OUTER, again) == run
    for held in ([["tool", 1, 0, 0, [[1, 0]]]], [["tool", 1]]):
        with pytest.raises(StoredDataError, match="has what is no place"):
            snapshot_from(snapshot.to_dict() | {"held": held})


def test_the_limits_of_the_whole_hold_inside() -> None:
    """Once they are reached, the agent begins no further turn."""
    spec = evolve(OUTER, limits=Limits(max_tokens=20))
    run = looking(spec)
    run = step(spec, run, wrap_event((AT,), ToolStarted(CallRef(1, 0), 1)))

    run = step(spec, run, wrap_event((AT,), ToolReturned(CallRef(1, 0), 1, ToolResult("seen"))))

    assert run.phase == Done(Exhausted("max_tokens"))


@pytest.mark.parametrize("part", ["agent", "state"])
def test_a_snapshot_whose_agent_is_damaged_is_refused(part: str) -> None:
    """Nothing is made up in its place."""
    run = looking()
    data: Any = snapshot_of(OUTER, run, due(OUTER, run)).to_dict()
    if part == "agent":
        del data["agent"]["agents"]
    else:
        del data["run"]["phase"]["slots"][0]["status"]["run"]["state"]["data"]
    with pytest.raises(DetentError, match="the run of the agent 'ask' in it is damaged"):
        run_of(OUTER, snapshot_from(data))


@pytest.mark.parametrize("agents", [{"agents": {}}, {}], ids=["none", "unsaid"])
def test_people_can_read_a_snapshot_whose_agent_is_damaged(agents: dict[str, Any]) -> None:
    """So that they see what they have lost."""
    run = looking()
    data: Any = snapshot_of(OUTER, run, due(OUTER, run)).to_dict()
    del data["agent"]["agents"]
    data["agent"].update(agents)

    assert "    look(" in snapshot_from(data).summary()


def test_what_an_agent_inside_costs_is_counted_once() -> None:
    """Each of its replies, when it comes."""
    run = delegated("look")
    look = ModelReplied(1, 1, said(ToolCall("look", {}, "x")), cost=0.25)
    for event, cost in (
        (look, 0.25),
        (ToolReturned(CallRef(1, 0), 1, ToolResult("seen")), 0.25),
        (ModelReplied(2, 1, said(text="found it"), cost=0.5), 0.75),
    ):
        run = step(OUTER, run, wrap_event((AT,), event))
        assert run.cost == cost
    assert run.turn == 2


def test_an_agent_inside_has_its_own_time() -> None:
    """It begins when the agent does."""
    spec = evolve(OUTER, tools=by_name([agent_tool(evolve(INNER, limits=Limits(max_seconds=5)))]))
    run = step(spec, asked("look", spec=spec), ToolStarted(CallRef(1, 0), 1, at=100.0))

    assert nested_run(run, (AT,)).deadline == 105.0


def test_a_run_that_has_not_ended_is_no_result() -> None:
    """Its answer may still come."""
    with pytest.raises(NoAnswerError, match=r"^it has stopped$"):
        result_of_run(INNER, start(INNER, [], run_id="r"))


def test_a_snapshot_hides_what_is_secret_inside_as_well() -> None:
    """The calls of agents inside are shown as people may see them."""
    spec = evolve(OUTER, tools=by_name([agent_tool(spec_of())]))
    secret = ToolCall("pay", {"to": "Ann", "amount": 5, "pin": "1234"}, "p")
    run = step(
        spec, delegated("pay", spec=spec), wrap_event((AT,), ModelReplied(1, 1, said(secret)))
    )

    summary = snapshot_of(spec, run).summary()

    assert "1234" not in summary
    assert f'"pin": "{MASK}"' in summary


def test_every_run_inside_is_found_with_its_path() -> None:
    """However deep."""
    outermost: AgentSpec[State] = AgentSpec(State({}), by_name([agent_tool(OUTER)]))
    run = delegated("go deep", spec=outermost)
    deeper = ToolCall("ask", {"task": "deeper"}, "d")
    run = step(outermost, run, wrap_event((AT,), ModelReplied(1, 1, said(deeper))))
    run = step(outermost, run, wrap_event((AT,), ToolStarted(CallRef(1, 0), 1)))

    assert [(path, one.id) for path, one in runs_in(run)] == [
        ((), "r"),
        ((AT,), "r/1.0"),
        ((AT, AT), "r/1.0/1.0"),
    ]


def test_a_run_may_begin_within_its_budget() -> None:
    """It has cost nothing yet."""
    limits = Limits(max_cost=0.5, price=lambda reply: 0.0)

    assert start(evolve(INNER, limits=limits), [], run_id="r").outcome is None


LIMITED = evolve(OUTER, limits=Limits(max_tokens=40))


def replied(spec: AgentSpec[Any], run: Run[Any], reply: ChatReply) -> Run[Any]:
    """The run when the one model that is to be asked has answered."""
    (ask,) = (effect for effect in due(spec, run) if isinstance(effect, AskModel))
    return step(spec, run, wrap_event(ask.path, ask.replied(reply)))


def begun(spec: AgentSpec[Any], run: Run[Any]) -> Run[Any]:
    """The run when the one tool that is to run has begun."""
    (tool,) = (effect for effect in due(spec, run) if isinstance(effect, RunTool))
    return step(spec, run, wrap_event(tool.path, ToolStarted(tool.ref, 1)))


def test_agents_with_a_budget_work_one_after_another() -> None:
    """The next begins with what that one has left, and none when that is nothing."""
    run = asked("one", "two", "three", spec=LIMITED)
    for _ in range(2):
        assert kinds(LIMITED, run) == [("tool", 0)]
        run = begun(LIMITED, run)
        assert kinds(LIMITED, run) == [("model", 1)]
        run = replied(LIMITED, run, said(text="done", usage=Usage(15)))

    assert run.phase == Done(Exhausted("max_tokens"))
    answers = [one.text for message in run.messages for one in message.tool_call_results]
    assert answers[:2] == ["done", "done"]
    assert "Tool 'ask' was not run" in answers[2]


def test_a_budget_holds_for_those_that_agents_hand_their_work_to() -> None:
    """Those that have not begun do not begin, wherever they are."""
    spec = AgentSpec(State({}), by_name([agent_tool(OUTER)]), limits=Limits(max_tokens=40))
    run = begun(spec, asked("one", "two", spec=spec))
    tasks = [ToolCall("ask", {"task": task}, task) for task in "ab"]
    run = begun(spec, replied(spec, run, said(*tasks)))
    assert kinds(spec, run) == [("model", 2)]
    run = replied(spec, run, said(text="done", usage=Usage(30)))

    assert run.phase == Done(Exhausted("max_tokens"))


def test_one_that_is_asked_about_a_budget_that_is_gone_does_not_begin() -> None:
    """As its own reply has spent it all."""
    spec = evolve(OUTER, limits=Limits(max_tokens=5))
    run = begun(spec, asked("one", spec=spec))

    assert run.phase == Done(Exhausted("max_tokens"))


def test_the_calls_of_agents_count() -> None:
    """A reply that goes over the limit is cut before any of its calls runs."""
    spec = evolve(OUTER, limits=Limits(max_tool_calls=2))
    run = begun(spec, asked("one", spec=spec))
    looks = [ToolCall("look", {}, f"{n}") for n in range(2)]
    run = replied(spec, run, said(*looks))

    (result,) = run.messages[-1].tool_call_results
    assert "max_tool_calls" in result.text
    assert (run.calls, run.calls_inside, run.outcome) == (3, {"look": 2}, None)


def test_an_agent_that_has_ended_by_then_has_its_answer() -> None:
    """Nothing is left to be cut."""
    spec = evolve(OUTER, limits=Limits(max_tool_calls=1))
    run = begun(spec, asked("one", spec=spec))
    run = replied(spec, run, said(text="done"))
    assert run.messages[-1].tool_call_results[0].text == "done"
    run = replied(spec, run, said(ToolCall("ask", {"task": "two"}, "d")))

    assert "may be called 1 times" in run.messages[-1].tool_call_results[0].text
