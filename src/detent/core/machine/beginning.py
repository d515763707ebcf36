"""Beginning: whether what has let a call run lets it begin, right before it does."""

from __future__ import annotations

from functools import reduce
from typing import Any

from detent.core.machine.binding import binding_of, is_cleared
from detent.core.machine.delegation import nested_run
from detent.core.run.effects import RunTool
from detent.core.run.limits import is_past
from detent.core.run.run import Run
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
    agent = reduce(lambda one, inside: one.agents[inside.tool_name], effect.path, spec)
    inner = nested_run(run, effect.path)
    slot = inner.slots[effect.ref.place]
    if slot.clearance is None:
        return slot.call.tool_name not in agent.guards
    if is_past(lapse_of(run, effect), at):
        return False
    tool = agent.tools[slot.call.tool_name]
    now = binding_of(inner, slot.call, tool)
    return is_cleared(inner, slot, effect.attempt, tool, now)
