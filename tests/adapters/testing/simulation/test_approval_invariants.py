"""What the simulator holds against a run of a guarded call: by what was said, shown and begun."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from detent import ChatMessage, Confirmed, State, Tool, ToolCall
from detent.adapters.testing.simulation.approval_invariants import nothing_guarded_runs_unapproved
from detent.adapters.testing.simulation.nested_runs import faults
from detent.adapters.testing.simulation.trace import (
    Folded,
    Forked,
    Happening,
    Opened,
    Performed,
    Ruled,
    Said,
    Wrote,
)
from detent.approvals import Allow, Answers, Ask, Deny, Modified, Rejected, Verdict
from detent.core.run.approval import Scope
from detent.core.run.effects import Judge
from detent.core.run.run import AwaitingDecision, Delegated, Running, Slot
from detent.core.tools.tool import by_name
from detent.journals import Entry
from detent.machine import (
    Acting,
    AgentRef,
    AgentSpec,
    AskHuman,
    CallRef,
    FrozenDict,
    GrantRevoked,
    ModelReplied,
    RunTool,
    ToolReturned,
    result_of,
    start,
)
from detent.models import ChatReply
from tests.core.asking import agent_tool

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}}
PAY, SEND = (Tool(name, f"to {name}", NUMBER, print) for name in ("pay", "send"))
SPEC = AgentSpec(
    state=State({}),
    tools=by_name([PAY, SEND]),
    policies=FrozenDict({"*": lambda call, tool, run: Ask()}),
)
START = start(SPEC, [ChatMessage.from_user("go")], run_id="run")
FIRST, SECOND = CallRef(1, 0), CallRef(1, 1)


def call(place: int, name: str = "pay", n: int = 1) -> ToolCall:
    """A call of the first turn."""
    return ToolCall(name, {"n": n}, f"c{place}")


def asking(*calls: ToolCall, ask: Ask | None = None, until: float | None = None) -> Any:
    """A run in which each of these calls waits for a human."""
    waits = [
        AwaitingDecision(f"digest of {one.id}", expires_at=until, ask=ask or Ask()) for one in calls
    ]
    slots = tuple(
        Slot(CallRef(1, place), one, wait)
        for place, (one, wait) in enumerate(zip(calls, waits, strict=True))
    )
    said = ChatMessage.from_assistant(tool_calls=list(calls))
    return evolve(START, phase=Acting(ChatReply(said, "tool_calls"), slots))


def put(run: Any) -> Folded:
    """The questions of a run are put."""
    return Folded(1, START, ModelReplied(1, 1, run.phase.reply), run)


def said(run: Any, place: int = 0, decision: Any = None, at: float = 1.0) -> Said:
    """A human has answered a question of the run."""
    slot = run.slots[place]
    asked = slot.status
    effect = AskHuman(
        slot.ref,
        slot.call,
        SPEC.tools[slot.call.tool_name],
        asked.digest,
        "",
        expires_at=asked.expires_at,
        ask=asked.ask,
    )
    return Said(effect, decision or Confirmed(), at)


def begun(place: int, at: float = 2.0, position: int = 0) -> Wrote:
    """It is stored that a call begins."""
    data = {"ref": [1, place], "attempt": 1}
    return Wrote((Entry(position, at, "ToolStarted", "running", data),))


def ran(one: ToolCall, place: int = 0, attempt: int = 1) -> Performed:
    """A tool has run."""
    ref, tool = CallRef(1, place), SPEC.tools[one.tool_name]
    effect = RunTool(ref, attempt, one, tool, START.state)
    return Performed(1, effect, ToolReturned(ref, attempt, result_of(tool, "done")))


def ruled(one: ToolCall, verdict: Verdict, place: int = 0) -> Ruled:
    """A policy has judged a call."""
    tool = SPEC.tools[one.tool_name]
    return Ruled(Judge(CallRef(1, place), one, tool, lambda *asked: verdict, START), verdict)


def found(*trace: Happening) -> list[str]:
    """What is held against a trace."""
    return [text for _, text in faults([nothing_guarded_runs_unapproved], SPEC, trace)]


ONE, OTHER = call(0), call(1)
BOTH = asking(ONE, OTHER)


def test_a_yes_to_the_call_itself_lets_it_run() -> None:
    """And to no other one; a no, or what a human never was asked, lets none."""
    assert not found(put(BOTH), said(BOTH), begun(0), ran(ONE))
    assert found(put(BOTH), said(BOTH), begun(1), ran(OTHER, 1))
    assert found(put(BOTH), said(BOTH, 0, Rejected()), begun(0), ran(ONE))
    assert found(begun(0), ran(ONE))
    assert found(put(BOTH), said(BOTH), begun(0), ran(call(0, n=2)))


def test_a_change_lets_what_it_says_run() -> None:
    """With its arguments, and not with those that were shown."""
    changed = said(BOTH, 0, Modified({"n": 7}))

    assert not found(put(BOTH), changed, begun(0), ran(call(0, n=7)))
    assert found(put(BOTH), changed, begun(0), ran(ONE))


def test_a_yes_counts_until_its_question_expires() -> None:
    """It is said in time, and the call begins in time; a retry may begin later."""
    timed = asking(ONE, until=5.0)

    assert not found(put(timed), said(timed, at=5.0), begun(0, 5.0), ran(ONE))
    assert found(put(timed), said(timed, at=5.1), begun(0, 5.0), ran(ONE))
    assert found(put(timed), said(timed, at=1.0), begun(0, 5.1), ran(ONE))
    assert not found(put(timed), said(timed, at=1.0), begun(0, 9.0), ran(ONE, attempt=2))


def test_a_yes_to_further_calls_counts_for_one_tool() -> None:
    """For all its calls, or the equal ones, as was said: never for another tool."""
    cases: tuple[tuple[Scope, ToolCall, bool], ...] = (
        ("tool", call(1), False),
        ("tool", call(1, n=2), False),
        ("tool", call(1, "send"), True),
        ("arguments", call(1), False),
        ("arguments", call(1, n=2), True),
        ("arguments", call(1, "send"), True),
        ("call", call(1), True),
    )
    for scope, one, is_wrong in cases:
        run = asking(ONE, one)
        trace = put(run), said(run, 0, Confirmed(scope)), begun(1), ran(one, 1)
        assert bool(found(*trace)) is is_wrong, (scope, one)


def test_a_yes_to_further_calls_counts_as_far_as_questions_let_it() -> None:
    """Neither where a policy wants each call asked about, nor once its time is over."""
    asked_each = asking(ONE, OTHER, ask=Ask(answers=Answers(remember="call")))
    lasting = asking(ONE, OTHER, ask=Ask(answers=Answers(remember_s=5.0)))
    yes = Confirmed("tool")

    assert found(put(asked_each), said(asked_each, 0, yes), begun(1), ran(OTHER, 1))
    assert not found(put(lasting), said(lasting, 0, yes, 1.0), begun(1, 6.0), ran(OTHER, 1))
    assert found(put(lasting), said(lasting, 0, yes, 1.0), begun(1, 6.1), ran(OTHER, 1))


def test_what_is_taken_back_counts_for_no_call_to_come() -> None:
    """One that has begun before may go on."""
    revoked = Folded(1, START, GrantRevoked(FIRST), BOTH)
    yes = said(BOTH, 0, Confirmed("tool"))

    assert found(put(BOTH), yes, revoked, begun(1), ran(OTHER, 1))
    assert not found(put(BOTH), yes, begun(1), revoked, ran(OTHER, 1))
    assert not found(put(BOTH), yes, begun(0), revoked, ran(ONE))


def test_a_fork_begins_with_nothing_that_was_said() -> None:
    """What was said was said of another run: of the call itself, and of others."""
    before: list[Happening] = [put(BOTH), said(BOTH, 0, Confirmed("tool"))]
    fork: list[Happening] = [Forked(BOTH), Opened(2, (), BOTH, BOTH)]

    assert found(*before, *fork, begun(0), ran(ONE))
    assert found(*before, *fork, begun(1), ran(OTHER, 1))
    assert not found(*before, *fork, said(BOTH), begun(0), ran(ONE))


def test_a_policy_that_allows_needs_no_yes() -> None:
    """For the call that it has seen; what it denies runs by nobody's yes."""
    assert not found(ruled(ONE, Allow()), begun(0), ran(ONE))
    assert found(ruled(ONE, Allow()), begun(0), ran(call(0, n=2)))
    assert found(put(BOTH), said(BOTH), ruled(ONE, Deny()), begun(0), ran(ONE))


def test_a_question_that_is_put_again_is_another_one() -> None:
    """An earlier yes does not answer it, nor one to further calls if it came of a crash."""
    going_on = evolve(
        BOTH,
        phase=Acting(
            BOTH.phase.reply, tuple(evolve(slot, status=Running()) for slot in BOTH.slots)
        ),
    )
    crashed = asking(ONE, OTHER)
    slots = tuple(evolve(slot, status=evolve(slot.status, after="crash")) for slot in crashed.slots)
    crashed = evolve(crashed, phase=Acting(crashed.phase.reply, slots))

    trace: list[Happening] = [
        put(BOTH),
        said(BOTH, 0, Confirmed("tool")),
        begun(0),
        ran(ONE),
        put(going_on),
    ]
    assert not found(*trace)
    assert found(*trace, put(crashed), begun(0, 3.0, 1), ran(ONE, attempt=2))
    assert found(*trace, put(crashed), begun(1, 3.0, 1), ran(OTHER, 1, 2))


def test_a_fork_has_no_agent_run_a_tool_by_a_yes_from_before() -> None:
    """Its call is another run's, and nobody has said anything of it there."""
    spec = evolve(SPEC, tools=by_name([agent_tool(evolve(SPEC, policies=FrozenDict()))]))
    one = ToolCall("ask", {"task": "pay"}, "c0")
    at_work = Slot(FIRST, one, Delegated("ask", START))
    said = ChatMessage.from_assistant(tool_calls=[one])
    run = evolve(START, phase=Acting(ChatReply(said, "tool_calls"), (at_work,)))
    paid = ran(call(0))
    inside = evolve(paid, effect=evolve(paid.effect, path=(AgentRef(1, 0, "ask"),)))

    (why,) = nothing_guarded_runs_unapproved(spec, (Opened(1, (), run, run), inside))

    assert "an agent ran" in why
