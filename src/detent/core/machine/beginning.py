"""Beginning: whether what has let a call run lets it begin, right before it does."""

from __future__ import annotations

from functools import reduce
from typing import Any

from detent.core.machine.binding import binding_of, is_cleared
from detent.core.machine.delegation import nested_run
from detent.core.machine.turns import attempted
from detent.core.run.effects import RunTool
from detent.core.run.events import Event, HappenedInside, ToolStarted
from detent.core.run.limits import is_past
from detent.core.run.refs import AgentRef, Path
from detent.core.run.run import Ready, Run
from detent.core.run.spec import AgentSpec


def lapse_of(run: Run[Any], effect: RunTool) -> float | None:
    """When it is too late to begin an attempt, in seconds since 1970; None is never."""
    clear = nested_run(run, effect.path).slots[effect.ref.place].clearance
    return clear.expires_at if clear and clear.attempt == effect.attempt else None


def may_begin(spec: AgentSpec[Any], run: Run[Any], effect: RunTool, at: float | None) -> bool:
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
    path: Path = ()
    while isinstance(event, HappenedInside):
        path, event = (*path, AgentRef(*event.ref, event.tool_name)), event.event
    if not isinstance(event, ToolStarted):
        return False
    try:
        inner = nested_run(run, path)
        if attempted(inner, event, Ready) is None:
            return False
    except LookupError:  # the run, or the agent inside it, has ended
        return False
    return not _is_let(_agent_at(spec, path), inner, event)


def _agent_at(spec: AgentSpec[Any], path: Path) -> AgentSpec[Any]:
    return reduce(lambda agent, inside: agent.agents[inside.tool_name], path, spec)


def _is_let(agent: AgentSpec[Any], run: Run[Any], attempt: RunTool | ToolStarted) -> bool:
    """Whether what has let a call of an agent's own run lets this attempt begin."""
    slot = run.slots[attempt.ref.place]
    if slot.clearance is None:
        return slot.call.tool_name not in agent.guards
    tool = agent.tools[slot.call.tool_name]
    now = binding_of(run, slot.call, tool)
    return is_cleared(run, slot, attempt.attempt, tool, now)
