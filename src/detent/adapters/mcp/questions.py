"""A call that waits for a human, as a form that a client shows; and what it answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import mcp_types as types

from detent.core.values.frozen import thaw
from detent.ports.pending import PendingCall

FORM: dict[str, Any] = {
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


def form_of(call: PendingCall) -> types.ElicitRequest:
    """The question about a call. What a model or a tool has written cannot pass for the rest."""
    params = types.ElicitRequestFormParams(message=text_of(call), requested_schema=FORM)
    return types.ElicitRequest(params=params)


def text_of(call: PendingCall) -> str:
    """The question in words; JSON shows what cannot be seen."""
    content: dict[str, object] = {"tool": call.tool_name, "arguments": thaw(call.arguments)}
    context = {
        "state": thaw(call.state),
        "agents": list(call.agents),
        "description": call.description,
        "reason": call.reason,
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
            return {"approved": choice == "approve", "feedback": content.get("feedback")}
        case _:
            return None
