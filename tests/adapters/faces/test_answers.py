"""What a client answers, read as a decision."""

from __future__ import annotations

from typing import Any

import pytest

from detent import ToolExecutionDecision
from detent.adapters.faces.answers import decision_in
from detent.approvals import PendingCall

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}}}
ASKED = PendingCall("r", 1, 0, "c1", "pay", "Pay.", {"to": "Cy"}, "", "d", SCHEMA)


@pytest.mark.parametrize(
    ("payload", "read"),
    [
        ({"approved": True}, (True, None, None)),
        ({"approved": True, "remember": "call"}, (True, "call", None)),
        ({"approved": True, "remember": "arguments"}, (True, "arguments", None)),
        ({"approved": True, "remember": "all"}, "remember is none of ('call',"),
        ({"approved": True, "remember": ["call"]}, "remember is none of"),
        ({"approved": True, "editedArgs": ["Cy"]}, "editedArgs is no object"),
        ({"approved": True, "editedArgs": {"to": 5}}, "'to' must be"),
        ({"approved": "yes", "feedback": "no"}, (False, None, "no")),
        ({"approved": False, "feedback": 7, "remember": "all"}, (False, None, None)),
        ({}, (False, None, None)),
    ],
)
def test_an_answer_is_read_strictly(payload: dict[str, Any], read: Any) -> None:
    """Only True is a yes; what is no answer says why, and decides nothing."""
    said = decision_in(ASKED, payload, "ann")
    if isinstance(said, ToolExecutionDecision):
        assert (said.execute, said.remember, said.feedback, said.by) == (*read, "ann")
    else:
        assert said.startswith(read)
