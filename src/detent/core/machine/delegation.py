"""Delegation: a tool that is another agent, whose run is a part of the run that has called it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from detent.core.errors import DetentError, OutputError, require_failure
from detent.core.machine.calls import give_up
from detent.core.machine.outputs import output_of
from detent.core.machine.run_secrets import displayed, secrets_of_run
from detent.core.machine.turns import cut_short, settle
from detent.core.run.attempts import with_spending
from detent.core.run.effects import call_name
from detent.core.run.events import Event, HappenedInside
from detent.core.run.outcomes import Exhausted, Failed, Finished
from detent.core.run.refs import AgentRef, CallRef, Path
from detent.core.run.run import (
    Delegated,
    Faulted,
    Ready,
    Run,
    Slot,
    Status,
    Succeeded,
    agent_at,
    evolve,
    move,
    with_agent,
    with_slot,
)
from detent.core.run.spec import AgentSpec
from detent.core.state.typevars import S
from detent.core.tools import wording
from detent.core.tools.idempotency import NO_KEY
from detent.core.tools.invocation import Invocation
from detent.core.tools.result import ToolFault
from detent.core.values.frozen import FrozenDict

TASK = "task"
"""The parameter in which the model says what the agent is to do."""

PARAMETERS = {
    "type": "object",
    "properties": {TASK: {"type": "string", "description": wording.TASK}},
    "required": [TASK],
    "additionalProperties": False,
}
"""What the model may say to an agent."""

ANSWER = "answer"
"""The part of an agent's result that is its answer; the others are the keys of its state."""


class NoAnswerError(DetentError):
    """An agent that works for another one has ended without an answer."""


def wrap_event(path: Path, event: Event) -> Event:
    """The event as the outermost run takes it: it has happened in the run at `path`."""
    for agent in reversed(path):
        event = HappenedInside(agent.ref, agent.tool_name, event)
    return event


def unwrap_event(event: Event) -> tuple[Path, Event]:
    """Where an event has happened, as the outermost run takes it, and what."""
    path: Path = ()
    while isinstance(event, HappenedInside):
        path, event = (*path, AgentRef(*event.ref, event.tool_name)), event.event
    return path, event


def nested_run(run: Run[Any], path: Path) -> Run[Any]:
    """The run at `path` inside `run`.

    Raises:
        LookupError: no agent is at work there.
    """
    for agent in path:
        slot = next((slot for slot in run.slots if slot.ref == agent.ref), None)
        if slot is None or (at_work := agent_at(slot)) is None:
            raise LookupError(f"run {run.id} has no agent at work on {agent}")
        run = at_work.run
    return run


def runs_in(run: Run[Any], path: Path = ()) -> Iterator[tuple[Path, Run[Any]]]:
    """The run and those of the agents at work in it, however deep, each with where it is."""
    yield path, run
    for slot in run.slots:
        if (agent := agent_at(slot)) is not None:
            yield from runs_in(agent.run, (*path, AgentRef(*slot.ref, agent.tool_name)))


def agents_in(spec: AgentSpec[Any]) -> dict[str, AgentSpec[Any]]:
    """All agents that may work inside a run of this one, however deep, by name."""
    agents: dict[str, AgentSpec[Any]] = {}
    for agent in spec.agents.values():
        agents |= agents_in(agent)
    return agents | dict(spec.agents)


def inner_name(name: str, ref: CallRef) -> str:
    """What the run of an agent is called, or its nonce, by that of the run that calls it."""
    return f"{name}/{ref.turn}.{ref.place}"


def invocation_of(spec: AgentSpec[Any], run: Run[Any], slot: Slot) -> Invocation:
    """The call of an agent's tool, for what it gives to the agent and what comes of it."""
    tool = spec.tools[slot.call.tool_name]
    key = call_name(run, slot).key if tool.signature.keys else NO_KEY
    return Invocation(tool, slot.call, run.state, key)


def call_status(spec: AgentSpec[Any], run: Run[Any], slot: Slot, inner: Run[Any]) -> Status:
    """What becomes of the call when its agent has come as far as `inner`."""
    name = slot.call.tool_name
    if inner.outcome is None:
        return Delegated(name, inner)
    invocation = invocation_of(spec, run, slot)
    try:
        agent = spec.agents[name]
        result = invocation.result(result_of_run(agent, inner))
        return Succeeded(displayed(result, secrets_of_run(agent, inner)))
    except NoAnswerError as error:
        return Faulted(ToolFault("no_answer", wording.agent_without_answer(name, str(error))))
    except BaseException as error:  # noqa: BLE001 - handlers of users' raise what they like
        require_failure(error)
        return Faulted(invocation.fault(error))


def as_far_as(spec: AgentSpec[Any], run: Run[Any], slot: Slot, inner: Run[Any]) -> Slot:
    """The slot when its agent has come as far as `inner`: one that waits goes on waiting."""
    if slot.suspended is not None:
        return with_agent(slot, Delegated(slot.call.tool_name, inner))
    return move(slot, call_status(spec, run, slot, inner))


def result_of_run(agent: AgentSpec[Any], run: Run[Any]) -> dict[str, object]:
    """What the run of an agent is as the result of a tool.

    Raises:
        NoAnswerError: it has ended without an answer.
    """
    state = run.state
    names: Iterable[str] = state.fields.keys() - {"messages"}
    values = {name: state.read(name) for name in sorted(names) if state.holds(name)}
    return values | {ANSWER: _answer(agent, run)}


def _answer(agent: AgentSpec[Any], run: Run[Any]) -> object:
    outcome = run.outcome
    if isinstance(outcome, Failed):
        raise NoAnswerError(outcome.failure.message)
    if not isinstance(outcome, Finished):
        raise NoAnswerError(outcome.exit_reason if outcome is not None else wording.STOPPED)
    if agent.output is not None:
        try:
            return output_of(agent, run)
        except OutputError as error:
            raise NoAnswerError(str(error)) from error
    message, name = run.messages[-1], outcome.exit_reason
    results = [result for result in message.tool_call_results if result.origin.tool_name == name]
    return "\n".join(result.text for result in results) if results else message.text or ""


def with_calls_inside(run: Run[S], before: Run[Any], now: Run[Any]) -> Run[S]:
    """The run, in which an agent is `now` where it was `before`: the calls in between count here.

    RULE: they stay when that agent has ended, and its run is gone: called anew, it has no more.
    """
    if before.calls == now.calls:
        return run
    inside = dict(run.calls_inside)
    for name in {*now.tool_call_counts, *now.calls_inside}:
        if count := now.calls_of(name) - before.calls_of(name):
            inside[name] = inside.get(name, 0) + count
    return evolve(run, calls_inside=FrozenDict(inside))


def begins_none(spec: AgentSpec[S], run: Run[S], limit: str) -> Run[S]:
    """The run, in which no agent begins any more, however deep: a limit around it is reached."""
    for slot in run.slots:
        now, is_at_work = _unbegun(spec, run, slot, limit), isinstance(slot.status, Delegated)
        run = with_slot(run, now) if is_at_work else with_spending(run, now)
    return settle(spec, run)


def _unbegun(spec: AgentSpec[S], run: Run[S], slot: Slot, limit: str) -> Slot:
    status = slot.status
    if isinstance(status, Ready) and slot.call.tool_name in spec.agents:
        return give_up(slot, Exhausted(limit))
    if not isinstance(status, Delegated):
        return slot
    inner = begins_none(spec.agents[status.tool_name], status.run, limit)
    return slot if inner is status.run else move(slot, call_status(spec, run, slot, inner))


def stopped_at_turn(spec: AgentSpec[S], before: Run[S], after: Run[S], limit: str) -> Run[S]:
    """The run, ended where a turn of it, or of an agent at work in it, has just been completed."""
    for was, now in zip(before.slots, after.slots, strict=False):
        if isinstance(was.status, Delegated) and isinstance(now.status, Delegated):
            agent = spec.agents[now.status.tool_name]
            inner = stopped_at_turn(agent, was.status.run, now.status.run, limit)
            if inner is not now.status.run:
                status = call_status(spec, after, now, inner)
                after = settle(spec, with_slot(after, move(now, status)))
    return after if after.turn == before.turn else cut_short(spec, after, Exhausted(limit))
