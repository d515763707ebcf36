"""What becomes of one call: when it fails, is late, is judged, is decided, or is not.

A decision that does not count changes nothing; a `Refusal` says why.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import attrs

from detent.core.chat.messages import ToolCall
from detent.core.errors import DetentError
from detent.core.run.approval import (
    Allow,
    Answered,
    Ask,
    Confirmed,
    Decision,
    DecisionRecord,
    Grant,
    Modified,
    Rejected,
    covered,
    digest,
    is_granted,
)
from detent.core.run.events import ClockTicked, HumanDecided, Judged, ToolRaised
from detent.core.run.outcomes import Cancelled, Exhausted
from detent.core.run.run import (
    AnsweredByHuman,
    AwaitingDecision,
    BackingOff,
    Delegated,
    Faulted,
    Ready,
    Refused,
    Run,
    Running,
    Slot,
    Status,
    evolve,
    moved,
)
from detent.core.run.spec import AgentSpec
from detent.core.tools import wording
from detent.core.tools.invocation import argument_faults
from detent.core.tools.masking import masked
from detent.core.tools.redaction import without_secrets
from detent.core.tools.result import ToolFault, text_of
from detent.core.tools.wording import Wording

Why: TypeAlias = Literal["unknown_call", "repeated", "wrong_digest", "expired", "invalid_arguments"]


@attrs.frozen
class Refusal:
    """A decision does not count: in a word, and in a sentence.

    "unknown_call": no such call waits for a decision. "repeated": it has been decided about before.
    "wrong_digest": it is about another call, or about other arguments. "expired": it confirms too
    late. "invalid_arguments": it changes them to what the tool does not take; `faults` says how.
    """

    why: Why
    text: str
    faults: tuple[str, ...] = ()


class DecisionRefusedError(DetentError, ValueError):
    """A decision does not count, and has changed nothing. `refusal` says why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


def refusal(spec: AgentSpec[Any], run: Run[Any], event: HumanDecided) -> Refusal | None:
    """Why the decision does not count for `run` as it stands; None if it does."""
    slot = next((slot for slot in run.slots if slot.ref == event.ref), None)
    where = f"call {event.ref.place} of turn {event.ref.turn} of run {run.id!r}"
    if slot is None or not isinstance(slot.status, AwaitingDecision):
        before = next(
            (one for one in run.decisions if (one.ref, one.path) == (event.ref, ())), None
        )
        if before is None:
            return Refusal("unknown_call", f"{where} does not wait for a decision")
        done, by = type(before.decision).__name__.lower(), f" by {before.by}" if before.by else ""
        return Refusal("repeated", f"{where} was {done}{by} already")
    name, status = slot.call.tool_name, slot.status
    if event.digest != status.digest:
        return Refusal("wrong_digest", f"the decision is about something else than {where}: {name}")
    if not isinstance(event.decision, Confirmed | Modified):
        return None
    if is_late(event, status.expires_at):
        return Refusal("expired", f"{where} ({name}) could be confirmed until {status.expires_at}")
    if isinstance(event.decision, Modified):
        changed = ToolCall(name, event.decision.arguments, slot.call.id)
        if faults := argument_faults(changed, spec.tools[name]):
            return Refusal("invalid_arguments", f"{where}: {'; '.join(faults)}", tuple(faults))
    return None


def is_late(event: HumanDecided, until: float | None) -> bool:
    """Whether a confirmation comes after a time, or does not say when it comes."""
    return until is not None and not (event.at is not None and event.at <= until)


def after_tick(spec: AgentSpec[Any], slot: Slot, event: ClockTicked) -> Slot:
    """The slot when it is `event.at`: its pause may be over, or its time up."""
    match slot.status:
        case BackingOff(attempt, until) if until <= event.at:
            return moved(slot, Ready(attempt))
        case Running(attempt, deadline) if deadline is not None and deadline <= event.at:
            tool = spec.tools[slot.call.tool_name]
            text = wording.tool_too_slow(tool.name, tool.timeout_s)
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
    return BackingOff(event.attempt + 1, event.at + pause_s)


def judged(spec: AgentSpec[Any], run: Run[Any], slot: Slot, event: Judged) -> Slot:
    """The slot as a policy has said: it may run, or a human must decide who has not done so yet."""
    tool = spec.tools[slot.call.tool_name]
    match event.verdict:
        case Ask(reason, remember, expires_s, reveals) if not is_granted(
            run.grants, run.id, slot.call, tool
        ):
            until = None if expires_s is None or event.at is None else event.at + expires_s
            bound = digest(run.id, *slot.ref, slot.call, tool)
            why = without_secrets(reason, slot.call.arguments, tool.masked)
            return moved(slot, AwaitingDecision(bound, why, 1, remember, until, reveals))
        case Allow() | Ask():
            return moved(slot, Ready())


def released(spec: AgentSpec[Any], run: Run[Any], slot: Slot) -> Slot:
    """The slot, ready if it waits for no more than what has been confirmed for it meanwhile."""
    if not isinstance(slot.status, AwaitingDecision):
        return slot
    tool = spec.tools[slot.call.tool_name]
    # A question that came of a crash has another digest: no earlier word answers it.
    is_first = slot.status.digest == digest(run.id, *slot.ref, slot.call, tool)
    if is_first and is_granted(run.grants, run.id, slot.call, tool):
        return moved(slot, Ready())
    return slot


def remembered(spec: AgentSpec[Any], run: Run[Any], slot: Slot, event: HumanDecided) -> Run[Any]:
    """The run with a decision in its record, and with what is confirmed by it for other calls."""
    said = event.decision
    done = DecisionRecord(slot.ref, slot.call, said, event.by, event.at)
    run = evolve(run, decisions=(*run.decisions, done))
    asked = slot.status.remember if isinstance(slot.status, AwaitingDecision) else "call"
    if not isinstance(said, Confirmed) or (said.remember, asked) == ("call", "call"):
        return run
    scope = asked if said.remember == "call" else said.remember
    covers = covered(run.id, scope, slot.call, spec.tools[slot.call.tool_name])
    grant = Grant(slot.ref, slot.call, scope, covers, event.by, event.at)
    return evolve(run, grants=(*run.grants, grant))


def decided(spec: AgentSpec[Any], slot: Slot, decision: Decision) -> Slot:
    """The slot as a human has decided, and what the model is told of it."""
    name = slot.call.tool_name
    attempt = slot.status.attempt if isinstance(slot.status, AwaitingDecision) else 1
    templates = spec.wordings.get(name) or spec.wordings.get("*") or Wording()
    match decision:
        case Confirmed():
            return moved(slot, Ready(attempt))
        case Modified(arguments, feedback):
            call = attrs.evolve(slot.call, arguments=arguments)
            shown = text_of(masked(arguments, spec.tools[name].masked))
            note = templates.modified(name, shown, feedback)
            return attrs.evolve(slot, call=call, status=Ready(attempt), note=note)
        case Rejected(feedback):
            return moved(slot, Refused(templates.rejected(name, feedback)))
        case Answered(text):
            return moved(slot, AnsweredByHuman(text))


def given_up(slot: Slot, outcome: Exhausted | Cancelled) -> Slot:
    """The slot of a call that is given up because the run ends, with what is known of it."""
    name = slot.call.tool_name
    why = wording.CANCELLED if isinstance(outcome, Cancelled) else wording.OUT_OF_TIME
    if isinstance(slot.status, Running):
        text = wording.tool_was_running(name, why)
    elif isinstance(slot.status, Delegated):
        text = wording.agent_was_at_work(name, why)
    else:
        text = wording.tool_not_run(name, f"{why}.")
    return moved(slot, Faulted(ToolFault("cancelled", text)))
