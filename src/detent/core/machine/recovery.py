"""Recovery: what becomes of a call that was under way when its process ended."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from attrs import evolve

from detent.core.errors import StoredDataError
from detent.core.run.approval import covered, digest, is_granted
from detent.core.run.events import Resumed, ToolRaised
from detent.core.run.run import (
    Acting,
    AwaitingDecision,
    AwaitingPolicy,
    BackingOff,
    Delegated,
    Faulted,
    Pausing,
    Ready,
    Run,
    Running,
    Slot,
    Status,
    Unknown,
    moved,
)
from detent.core.run.spec import AgentSpec
from detent.core.state.typevars import S
from detent.core.tools import wording
from detent.core.tools.result import ToolFault


def recovered(spec: AgentSpec[Any], run: Run[Any], slot: Slot, event: Resumed) -> Slot:
    """The slot once its process is gone: as it is, unless its tool was running, or rests.

    A tool that was running has an unknown outcome; the tool's own `on_unknown` says what to do.
    """
    match slot.status:
        case Running(attempt):
            return moved(slot, _interrupted(spec, run, slot, attempt, event))
        case BackingOff(attempt, until):
            longest_s = spec.tools[slot.call.tool_name].retries.pause_s(attempt - 1, 0)
            nearer = _nearer(until, event, longest_s)
            return slot if nearer == until else moved(slot, BackingOff(attempt, nearer))
        case _:
            return slot


def pause_after(spec: AgentSpec[Any], run: Run[Any], pause: Pausing, event: Resumed) -> Pausing:
    """How much longer the model is left alone once the process that meant to wait is gone."""
    rule, tries = spec.model_retries, pause.attempt - 1 - run.given_up
    longest_s = rule.backoff_max_s + rule.pause_s(tries, 0)  # the provider may have asked for more
    return Pausing(pause.attempt, _nearer(pause.until, event, longest_s))


def _nearer(until: float, event: Resumed, longest_s: float) -> float:
    """The end of a pause, which no other clock makes longer than its rule does."""
    return until if event.at is None else min(until, event.at + longest_s)


def rebound(spec: AgentSpec[S], run: Run[S], run_id: str) -> Run[S]:
    """A copy of the run under another id: decisions about the original do not count for it.

    What is confirmed for further calls goes along.
    """
    grants = []
    for grant in run.grants:
        tool = spec.tools.get(grant.call.tool_name)
        if tool is not None and is_granted([grant], run.id, grant.call, tool):
            covers = covered(run_id, grant.scope, grant.call, tool)
            grants.append(evolve(grant, covers=covers))
    copy = evolve(run, id=run_id, grants=tuple(grants))
    return _with_slots(copy, [_rebound(spec, slot, run_id) for slot in run.slots])


def unconfirmed(spec: AgentSpec[S], run: Run[S]) -> Run[S]:
    """The run with no call confirmed that has no answer yet: policies judge these anew."""
    slots = [_unconfirmed(spec, slot) for slot in run.slots]
    return _with_slots(evolve(run, grants=()), slots)


def after_lookup(spec: AgentSpec[Any], run: Run[Any], slot: Slot, event: ToolRaised) -> Status:
    """What becomes of a call when nobody could look up how it went: a human decides.

    To run it again might do it twice, and the model, told of a failure, may well call again.
    """
    why = f"lookup {event.attempt}", event.fault.message  # each has an attempt of its own
    return _question(spec, run, slot, event.attempt, why)


def _question(
    spec: AgentSpec[Any], run: Run[Any], slot: Slot, attempt: int, why: tuple[str, str]
) -> AwaitingDecision:
    """A human is asked what to do after `attempt`; `why` is for the digest, and in words."""
    # A decision from before the crash must not count for this question.
    first = digest(run.id, *slot.ref, slot.call, spec.tools[slot.call.tool_name])
    return AwaitingDecision(bound(first, why[0]), why[1], attempt + 1)


def _with_slots(run: Run[S], slots: list[Slot]) -> Run[S]:
    if not isinstance(run.phase, Acting):
        return run
    return evolve(run, phase=Acting(run.phase.reply, tuple(slots)))


def _unconfirmed(spec: AgentSpec[Any], slot: Slot) -> Slot:
    match slot.status:
        case Delegated(name, inner):
            return moved(slot, Delegated(name, unconfirmed(spec.agents[name], inner)))
        case Ready() | Running() | BackingOff() | Unknown():
            return moved(slot, AwaitingPolicy()) if slot.call.tool_name in spec.guards else slot
        case _:
            return slot


def _rebound(spec: AgentSpec[Any], slot: Slot, run_id: str) -> Slot:
    if isinstance(slot.status, Delegated):
        name, bound_to = slot.status.tool_name, f"{run_id}/{slot.ref.turn}.{slot.ref.place}"
        copy = rebound(spec.agents[name], slot.status.run, bound_to)
        return moved(slot, Delegated(name, copy))
    if not isinstance(slot.status, AwaitingDecision):
        return slot
    if not slot.status.digest.isascii():  # it may come from outside, and nobody can answer it
        raise StoredDataError(
            f"the question about the call {slot.call.tool_name!r} of the stored run is damaged: "
            f"{slot.status.digest!r:.40} is no digest"
        )
    return moved(slot, evolve(slot.status, digest=bound(slot.status.digest, run_id)))


def bound(digest: str, by: str) -> str:
    """The digest of a question that is put again: no decision about the first answers it."""
    return sha256(f"{digest} {by}".encode()).hexdigest()


def _interrupted(
    spec: AgentSpec[Any], run: Run[Any], slot: Slot, attempt: int, event: Resumed
) -> Status:
    name = slot.call.tool_name
    match spec.tools[name].on_unknown:
        case "rerun":
            return Ready(attempt)
        case "ask":
            return _question(spec, run, slot, attempt, (event.by, wording.PROCESS_ENDED))
        case "fail":
            text = wording.outcome_unknown(name, wording.PROCESS_ENDED)
            return Faulted(ToolFault("unknown_outcome", text))
        case _:
            return Unknown(attempt)
