"""Recovery: what becomes of a call that was under way when its process ended."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from attrs import evolve

from detent.core.decisions import digest
from detent.core.events import Resumed
from detent.core.results import ToolFault
from detent.core.run import Acting, Phase, Run
from detent.core.slots import (
    AwaitingDecision,
    Delegated,
    Faulted,
    Ready,
    Running,
    Slot,
    Status,
    Unknown,
    moved,
)
from detent.core.spec import AgentSpec

REASON = "it was begun, its process ended, and nobody knows whether it was carried out"


def recovered(spec: AgentSpec[Any], run: Run[Any], slot: Slot, event: Resumed) -> Slot:
    """The slot once its process is gone: as it is, unless its tool was running.

    A tool that was running has an unknown outcome; the tool's own `on_unknown` says what to do.
    """
    if not isinstance(slot.status, Running):
        return slot
    return moved(slot, _status(spec, run, slot, slot.status.attempt, event))


def rebound(phase: Phase, run_id: str) -> Phase:
    """The phase of a copy of a run: decisions about the original do not count for it."""
    if not isinstance(phase, Acting):
        return phase
    return evolve(phase, slots=tuple(_rebound(slot, run_id) for slot in phase.slots))


def _rebound(slot: Slot, run_id: str) -> Slot:
    if isinstance(slot.status, Delegated):
        inner = slot.status.run
        bound_to = f"{run_id}/{slot.ref.turn}.{slot.ref.place}"
        copy = evolve(inner, id=bound_to, phase=rebound(inner.phase, bound_to))
        return moved(slot, evolve(slot.status, run=copy))
    if not isinstance(slot.status, AwaitingDecision):
        return slot
    return moved(slot, evolve(slot.status, digest=_bound(slot.status.digest, run_id)))


def _bound(digest: str, by: str) -> str:
    return sha256(f"{digest} {by}".encode()).hexdigest()


def _status(
    spec: AgentSpec[Any], run: Run[Any], slot: Slot, attempt: int, event: Resumed
) -> Status:
    tool = spec.tools[slot.call.tool_name]
    match tool.on_unknown:
        case "rerun":
            return Ready(attempt)
        case "ask":
            bound = digest(run.id, *slot.ref, slot.call, tool)
            # A decision from before the crash must not count for this question.
            return AwaitingDecision(_bound(bound, event.by), REASON, attempt + 1)
        case "fail":
            text = f"The outcome of tool '{tool.name}' is unknown: {REASON}. Do not assume either."
            return Faulted(ToolFault("unknown_outcome", text))
        case _:
            return Unknown(attempt)
