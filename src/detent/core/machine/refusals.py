"""Refusals: why a decision does not count. One that does not changes nothing."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from attrs import frozen

from detent.core.chat.messages import ToolCall
from detent.core.errors import DetentError
from detent.core.run.approval import Confirmed, Modified
from detent.core.run.events import HumanDecided
from detent.core.run.run import AwaitingDecision, Run
from detent.core.run.spec import AgentSpec
from detent.core.tools.invocation import argument_faults

Why: TypeAlias = Literal["unknown_call", "repeated", "wrong_digest", "expired", "invalid_arguments"]


@frozen
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
