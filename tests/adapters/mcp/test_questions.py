"""Questions as forms of MCP: what they show, and what an answer says."""

from __future__ import annotations

from typing import Any, cast

import mcp_types as types
import pytest

from detent.adapters.mcp.questions import answer_in, form_of, text_of
from detent.approvals import Answers, PendingCall

CALL: dict[str, Any] = {
    "run_id": "r",
    "turn": 1,
    "place": 0,
    "call_id": "c1",
    "tool_name": "pay",
    "description": "Pay.",
    "arguments": {"to": "Cy"},
    "reason": "",
    "digest": "d",
    "parameters": {},
}


def test_a_form_shows_what_other_faces_show() -> None:
    """Why it is asked again, what was decided about before, and until when it counts."""
    again: dict[str, Any] = {
        "changed": "It must be decided anew: the arguments have changed.",
        "expires_at": 250.0,
    }
    former: dict[str, Any] = {"former": {"to": "Di"}, "former_state": {"account": "A1"}}
    text = text_of(PendingCall(**CALL, **again, **former))

    assert "the arguments have changed" in text
    assert '"to": "Di"' in text
    assert '"account": "A1"' in text
    assert "1970-01-01 00:04:10 UTC" in text
    assert "before" not in text_of(PendingCall(**CALL))


@pytest.mark.parametrize(
    ("widest", "choices"),
    [("call", None), ("arguments", ["call", "arguments"]), ("tool", ["call", "arguments", "tool"])],
)
def test_a_form_asks_what_a_yes_counts_for(widest: Any, choices: list[str] | None) -> None:
    """As far as the question takes it; it may be left out, which is what the policy says."""
    asked = form_of(PendingCall(**CALL, answers=Answers(remember=widest)))
    schema = cast(types.ElicitRequestFormParams, asked.params).requested_schema

    assert schema["required"] == ["decision"]
    assert schema["properties"].get("remember", {}).get("enum") == choices


def test_an_answer_says_what_it_counts_for() -> None:
    """Only where it does."""
    plain = types.ElicitResult(action="accept", content={"decision": "approve"})
    once = types.ElicitResult(action="accept", content={"decision": "approve", "remember": "call"})

    assert answer_in(plain) == {"approved": True}
    assert answer_in(once) == {"approved": True, "remember": "call"}
