"""Rejudging: what the rules of another process say of a call that waits, or was let run.

RULE: no digest of rules can tell whether two processes have the same: a policy may be any function,
with what it has captured. So the policy itself is asked, and its verdict is an event that says so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from attrs import frozen

from detent.core.machine.beginning import Begun
from detent.core.machine.binding import as_stale
from detent.core.machine.delegation import nested_run
from detent.core.machine.due import due
from detent.core.machine.turns import slot_at
from detent.core.run.approval import Ask, Binding
from detent.core.run.effects import Judge
from detent.core.run.refs import CallRef, Path
from detent.core.run.run import (
    AwaitingDecision,
    Delegated,
    Ready,
    Run,
    Slot,
    move,
    with_agent,
    with_slot,
)
from detent.core.run.spec import AgentSpec


@frozen
class Judgement:
    """What has come of the verdict on a call: what it is bound to, and what is asked, if anything.

    Two processes whose policies have led to the same one have said the same of the call.
    """

    binding: Binding
    ask: Ask | None


def judgement_on(run: Run[Any], path: Path, ref: CallRef) -> Judgement | None:
    """What stands of a verdict on a call that waits for humans, or has been let run."""
    slot = nested_run(run, path).slots[ref.place]
    if isinstance(slot.status, AwaitingDecision):
        return Judgement(slot.status.binding, slot.status.ask)
    clear = slot.clearance
    return None if clear is None else Judgement(clear.binding, clear.ask)


def is_open(run: Run[Any], path: Path, ref: CallRef) -> bool:
    """Whether a call is of the turn that its run is in: what others say meanwhile may end that."""
    try:
        return slot_at(nested_run(run, path), ref) is not None
    except LookupError:
        return False


def is_guarded(spec: AgentSpec[Any], run: Run[Any], path: Path, ref: CallRef) -> bool:
    """Whether this agent has a policy about a call."""
    agent = reduce(lambda agent, at: agent.agents[at.tool_name], path, spec)
    return nested_run(run, path).slots[ref.place].call.tool_name in agent.guards


def without_attempt(run: Run[Any], attempt: Begun) -> Run[Any]:
    """The run as it was before an attempt at a call began, which has done nothing yet."""

    def ready(slot: Slot) -> Slot:
        return move(slot, Ready(attempt.attempt))

    return _with_call(run, attempt.path, attempt.ref, ready)


def judge_anew(spec: AgentSpec[Any], run: Run[Any], path: Path, ref: CallRef) -> Judge | None:
    """What the policy of this agent is asked of a guarded call that others have judged.

    None where that must wait, as it, or a budget of its, owes a word on another call first.
    """
    stale = _with_call(run, path, ref, as_stale)
    judges = (judge for judge in due(spec, stale) if isinstance(judge, Judge))
    return next((judge for judge in judges if (judge.path, judge.ref) == (path, ref)), None)


def _with_call(run: Run[Any], path: Path, ref: CallRef, change: Callable[[Slot], Slot]) -> Run[Any]:
    """The run with a call, however deep, as it is once changed."""
    if not path:
        return with_slot(run, change(run.slots[ref.place]))
    agent, *deeper = path
    inner = _with_call(nested_run(run, (agent,)), (*deeper,), ref, change)
    return with_slot(run, with_agent(run.slots[agent.ref.place], Delegated(agent.tool_name, inner)))
