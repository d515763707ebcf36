"""Beginning: whether what has let a call run lets it begin, right before it does."""

from __future__ import annotations

from functools import reduce
from typing import Any, TypeAlias

from attrs import frozen

from detent.core.machine.binding import binding_of, is_cleared
from detent.core.machine.delegation import nested_run, unwrap_event
from detent.core.machine.turns import attempt_slot, slot_at
from detent.core.run.attempts import is_idle
from detent.core.run.effects import AskModel, Effect, RunTool
from detent.core.run.events import Event, ToolNeverRan, ToolStarted
from detent.core.run.limits import is_past
from detent.core.run.refs import CallRef, Path
from detent.core.run.run import Ready, Run, Slot
from detent.core.run.spec import AgentSpec


@frozen
class Begun:
    """An attempt at a call that has begun: at `ref` in the run at `path`."""

    ref: CallRef
    attempt: int
    path: Path


Beginning: TypeAlias = RunTool | Begun


def begun_by(run: Run[Any], effect: Effect) -> Begun | None:
    """The attempt at a call that begins in earnest with an effect, if one does.

    That of a tool does so when it runs. One of an agent that a policy guards does when its model is
    asked first: what has happened to it before that was in the run alone.
    """
    if isinstance(effect, RunTool):
        return Begun(effect.ref, effect.attempt, effect.path)
    if not (isinstance(effect, AskModel) and effect.path):
        return None
    *around, agent = effect.path
    slot = nested_run(run, (*around,)).slots[agent.ref.place]
    if slot.clearance is None or not is_idle(slot):
        return None
    return Begun(slot.ref, slot.clearance.attempt, (*around,))


def idle_call(run: Run[Any], event: ToolNeverRan) -> Slot | None:
    """The slot of an agent that has come to nothing, if the event is about this attempt at it.

    RULE: what has let it run says which attempt that is; the run of the agent does not.
    """
    slot = slot_at(run, event.ref)
    if slot is None or slot.clearance is None or not is_idle(slot):
        return None
    return slot if slot.clearance.attempt == event.attempt else None


def lapse_of(run: Run[Any], effect: Beginning) -> float | None:
    """When it is too late to begin an attempt, in seconds since 1970; None is never."""
    clear = nested_run(run, effect.path).slots[effect.ref.place].clearance
    return clear.expires_at if clear and clear.attempt == effect.attempt else None


def may_begin(spec: AgentSpec[Any], run: Run[Any], effect: Beginning, at: float | None) -> bool:
    """Whether an attempt may begin by the tool of this agent, at a time.

    RULE: whoever begins a call asks this once more where time has passed since it was owed, or
    where it is begun by another process: the tool there may be another one, and the yes may be
    over. A call that no policy guards, and nobody was asked about, may always begin.
    """
    if is_past(lapse_of(run, effect), at):
        return False
    return _is_let(_agent_at(spec, effect.path), nested_run(run, effect.path), effect)


def begins_too_late(spec: AgentSpec[Any], run: Run[Any], event: Event) -> bool:
    """Whether an event begins a call that nothing lets begin any more.

    RULE: people have spoken between when it was owed and when it could be recorded. What they have
    taken back by then lets nothing begin.
    """
    path, event = unwrap_event(event)
    if not isinstance(event, ToolStarted):
        return False
    try:
        inner = nested_run(run, path)
        if attempt_slot(inner, event, Ready) is None:
            return False
    except LookupError:  # the run, or the agent inside it, has ended
        return False
    return not _is_let(_agent_at(spec, path), inner, event)


def _agent_at(spec: AgentSpec[Any], path: Path) -> AgentSpec[Any]:
    return reduce(lambda agent, inside: agent.agents[inside.tool_name], path, spec)


def _is_let(agent: AgentSpec[Any], run: Run[Any], attempt: Beginning | ToolStarted) -> bool:
    """Whether what has let a call of an agent's own run lets this attempt begin."""
    slot = run.slots[attempt.ref.place]
    if slot.clearance is None:
        return slot.call.tool_name not in agent.guards
    tool = agent.tools[slot.call.tool_name]
    now = binding_of(run, slot.call, tool)
    return is_cleared(run, slot, attempt.attempt, tool, now)
