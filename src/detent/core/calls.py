"""What becomes of one call: when it fails, is late, is judged, is decided."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from detent.core.arguments import argument_faults
from detent.core.decisions import (
    Allow,
    Answered,
    Ask,
    Confirmed,
    Decision,
    Modified,
    Rejected,
    Verdict,
    digest,
)
from detent.core.events import ClockTicked, ToolRaised
from detent.core.outcomes import Cancelled, Exhausted
from detent.core.results import ToolFault, text_of
from detent.core.slots import (
    AnsweredByHuman,
    AwaitingDecision,
    Delegated,
    Faulted,
    Ready,
    Refused,
    Resting,
    Running,
    Slot,
    Status,
    moved,
)
from detent.core.spec import AgentSpec


def after_tick(spec: AgentSpec[Any], slot: Slot, event: ClockTicked) -> Slot:
    """The slot when it is `event.at`: its pause may be over, or its time up."""
    match slot.status:
        case Resting(attempt, until) if until <= event.at:
            return moved(slot, Ready(attempt))
        case Running(attempt, deadline) if deadline is not None and deadline <= event.at:
            tool = spec.tools[slot.call.tool_name]
            text = f"Tool '{tool.name}' gave no answer within {tool.timeout_s} s"
            fault = ToolFault("timeout", text, retryable=True)
            raised = ToolRaised(slot.ref, attempt, fault, event.at, event.chance)
            return moved(slot, after_fault(spec, slot, raised))
        case _:
            return slot


def after_fault(spec: AgentSpec[Any], slot: Slot, event: ToolRaised) -> Status:
    """What becomes of a call after a failed attempt: it rests until the next, or is settled."""
    retries = spec.tools[slot.call.tool_name].retries
    if not event.fault.retryable or event.attempt > retries.times:
        return Faulted(event.fault)
    pause_s = retries.pause_s(event.attempt, event.chance)
    if event.at is None or not pause_s:
        return Ready(event.attempt + 1)
    return Resting(event.attempt + 1, event.at + pause_s)


def judged(spec: AgentSpec[Any], run_id: str, slot: Slot, verdict: Verdict) -> Slot:
    """The slot as a policy has said: it may run, or a human must decide."""
    match verdict:
        case Allow():
            return moved(slot, Ready())
        case Ask(reason):
            bound = digest(run_id, *slot.ref, slot.call, spec.tools[slot.call.tool_name])
            return moved(slot, AwaitingDecision(bound, reason))


def decided(spec: AgentSpec[Any], slot: Slot, decision: Decision) -> Slot:
    """The slot as a human has decided; the same one where the decision does not fit the tool."""
    name = slot.call.tool_name
    attempt = slot.status.attempt if isinstance(slot.status, AwaitingDecision) else 1
    match decision:
        case Confirmed():
            return moved(slot, Ready(attempt))
        case Modified(arguments, feedback):
            call = evolve(slot.call, arguments=arguments)
            if argument_faults(call, spec.tools[name]):
                return slot
            lead = f"The parameters for tool '{name}' were updated by the user to:"
            note = _with_feedback(f"{lead}\n{text_of(arguments)}", feedback)
            return evolve(slot, call=call, status=Ready(attempt), note=note)
        case Rejected(feedback):
            text = f"Tool execution for '{name}' was rejected by the user."
            return moved(slot, Refused(_with_feedback(text, feedback)))
        case Answered(text):
            return moved(slot, AnsweredByHuman(text))


def given_up(slot: Slot, outcome: Exhausted | Cancelled) -> Slot:
    """The slot of a call that is given up because the run ends, with what is known of it."""
    name = slot.call.tool_name
    why = "the run was cancelled" if isinstance(outcome, Cancelled) else "the run's time was up"
    if isinstance(slot.status, Running):
        text = f"Tool '{name}' was running when {why}. Its outcome is unknown."
    elif isinstance(slot.status, Delegated):
        text = f"Agent '{name}' was at work when {why}. It gave no answer."
    else:
        text = f"Tool '{name}' was not run: {why}."
    return moved(slot, Faulted(ToolFault("cancelled", text)))


def _with_feedback(text: str, feedback: str | None) -> str:
    return f"{text} With user feedback: {feedback}" if feedback else text
