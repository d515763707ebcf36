"""Answers: what a client says to questions, looked up by their digests among those that wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve

from detent.adapters.web.people import Person
from detent.core.control.pending import PendingCall, ToolExecutionDecision
from detent.ports.hosting import Host, HostRefusal


async def decide(
    host: Host,
    waiting: Iterable[PendingCall],
    answers: Iterable[tuple[str, Mapping[str, Any]]],
    person: Person,
) -> Mapping[str, str]:
    """Tell the host each answer to what still waits; by digest, why one does not count.

    One about anything else was given elsewhere before, or is made up: it does nothing.
    """
    asked, notes = {call.digest: call for call in waiting}, dict[str, str]()
    for digest, payload in answers:
        call = asked.get(digest)
        if call is None:
            continue
        said = decision_in(call, payload, person.name)
        if isinstance(said, ToolExecutionDecision):
            heard = await host.send(call.run_id, evolve(said, credential=person.credential))
            said = heard.text if isinstance(heard, HostRefusal) else ""
        if said:
            notes[digest] = f"This answer did not count: {said}"
    return notes


def decision_in(
    call: PendingCall, payload: Mapping[str, Any], by: str
) -> ToolExecutionDecision | str:
    """What a client has answered, or why it is no answer. Nothing but True is a yes.

    Args:
        call: what waits.
        payload: "approved", and, where they are there, "editedArgs" and "feedback".
        by: who answers.
    """
    feedback = payload.get("feedback")
    text = feedback if isinstance(feedback, str) and feedback else None
    if payload.get("approved") is not True:
        return call.reject(text, by=by)
    edited = payload.get("editedArgs")
    if edited is None:
        return call.confirm(by=by)
    if not isinstance(edited, dict):
        return "editedArgs is no object"
    return "; ".join(call.faults(edited)) or call.modify(edited, text, by=by)
