"""Answers: of clients to what a run asks, by its digest, and of people here to what peers ask."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from functools import partial
from inspect import isawaitable
from typing import Any

from attrs import evolve, frozen

from detent.adapters.system.threads_and_loops import in_a_thread
from detent.core.control.decisions import ToolExecutionDecision
from detent.core.run.approval import SCOPES
from detent.core.values.frozen import EMPTY
from detent.ports.confirmation import ConfirmationUI, ConfirmationUIResult
from detent.ports.hosting import Accepted, Host, HostRefusal
from detent.ports.pending import PendingCall


@frozen
class AnswersReport:
    """What has come of a client's answers.

    Attributes:
        notes: by digest, why one does not count.
        remarks: what somebody must do first, until those count that are written down.
    """

    notes: Mapping[str, str] = EMPTY
    remarks: tuple[str, ...] = ()


DECIDED = frozenset({"repeated", "outdated", "ended"})
"""Why an answer does nothing where the question waits no more: nobody has to be told."""


async def decide(
    host: Host,
    waiting: Iterable[PendingCall],
    answers: Iterable[tuple[str, Mapping[str, Any]]],
    by: str | None,
    credential: str | None = None,
) -> AnswersReport:
    """Tell the host each answer to what still waits.

    One about anything else was given elsewhere before, or is made up: it does nothing.
    """
    by_digest = {call.digest: call for call in waiting}
    notes, remarks = dict[str, str](), dict[str, None]()
    for digest, payload in answers:
        call = by_digest.get(digest)
        if call is None:
            continue
        decision = decision_in(call, payload, by)
        if isinstance(decision, ToolExecutionDecision):
            answer = await host.send(call.run_id, evolve(decision, credential=credential))
            decision = ""
            if isinstance(answer, HostRefusal) and answer.why not in DECIDED:
                decision = answer.text
            elif isinstance(answer, Accepted) and answer.text:
                remarks[answer.text] = None
        if decision:
            notes[digest] = f"This answer did not count: {decision}"
    return AnswersReport(notes, tuple(remarks))


def decision_in(
    call: PendingCall, payload: Mapping[str, Any], by: str | None
) -> ToolExecutionDecision | str:
    """What a client has answered, or why it is no answer. Nothing but True is a yes.

    Args:
        call: what waits.
        payload: "approved", and, where they are there, "editedArgs", "feedback" and "remember".
        by: who answers.
    """
    feedback, remember = payload.get("feedback"), payload.get("remember")
    text = feedback if isinstance(feedback, str) and feedback else None
    if payload.get("approved") is not True:
        return call.reject(text, by=by)
    if remember is not None and remember not in SCOPES:
        return f"remember is none of {SCOPES}"
    edited = payload.get("editedArgs")
    if edited is None:
        return call.confirm(by=by, remember=remember)
    if not isinstance(edited, dict):
        return "editedArgs is no object"
    faults = call.faults(edited) or call.rounding_faults(edited)
    return "; ".join(faults) or call.modify(edited, text, by=by)


async def ask_person(
    ui: ConfirmationUI, what: str, text: str, fields: dict[str, Any]
) -> ConfirmationUIResult:
    """What somebody here says to a question that a peer asks; a blocking `ui` blocks nothing."""
    ask = partial(ui.get_user_confirmation, what, text, fields)
    result: ConfirmationUIResult | Awaitable[ConfirmationUIResult] = await in_a_thread(ask)
    return await result if isawaitable(result) else result
