"""A call that waits for a human, as a form that a client shows; and what it answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import mcp_types as types

from detent.adapters.confirmation.durations import moment
from detent.core.run.approval import SCOPES
from detent.core.values.frozen import thaw
from detent.ports.pending import PendingCall

FORM: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "decision": {
            "type": "string",
            "title": "Decision",
            "description": "Whether it may run, exactly as it is shown.",
            "enum": ["approve", "reject"],
        },
        "feedback": {"type": "string", "title": "Feedback", "description": "Why, if you like."},
    },
    "required": ["decision"],
}
"""What a human fills in: flat, as the protocol has it."""

COUNTS_FOR = {
    "type": "string",
    "title": "A yes counts for",
    "description": "This call only, calls with these arguments, or the tool, in this run. "
    "Left out: what its policy says.",
}


def form_of(call: PendingCall) -> types.ElicitRequest:
    """The question about a call. What a model or a tool has written cannot pass for the rest."""
    fields = dict(FORM["properties"])
    scopes = SCOPES[: SCOPES.index(call.answers.remember) + 1]
    if len(scopes) > 1:  # left out, it counts as its policy says
        fields["remember"] = {**COUNTS_FOR, "enum": list(scopes)}
    form = {**FORM, "properties": fields}
    params = types.ElicitRequestFormParams(message=text_of(call), requested_schema=form)
    return types.ElicitRequest(params=params)


def text_of(call: PendingCall) -> str:
    """The question in words; JSON shows what cannot be seen."""
    content: dict[str, object] = {"tool": call.tool_name, "arguments": thaw(call.arguments)}
    former = {**call.former, **call.former_state}
    context = {
        "state": thaw(call.state),
        "agents": list(call.agents),
        "description": call.description,
        "reason": call.reason,
        "asked again": call.changed,
        "before": {name: thaw(value) for name, value in former.items()},
        "lapses": "" if call.expires_at is None else moment(call.expires_at),
    }
    content |= {name: value for name, value in context.items() if value}
    return f"May this run?\n{json.dumps(content, indent=1)}"


def answer_in(response: object) -> Mapping[str, Any] | None:
    """The answer, as `decide` takes it; None if it is none. Only "approve" lets a tool run."""
    if not isinstance(response, types.ElicitResult):
        return None
    if response.action == "decline":
        return {"approved": False}
    content: Mapping[str, Any] = response.content or {}
    match response.action, content.get("decision"):
        case "accept", ("approve" | "reject") as choice:
            rest = {name: content[name] for name in ("feedback", "remember") if name in content}
            return {"approved": choice == "approve", **rest}
        case _:
            return None
