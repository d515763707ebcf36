"""What a client answers, read as a decision."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

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


BIG = 2**53 + 1


@pytest.mark.parametrize(
    ("shown", "sent", "outcome"),
    [
        ({"account": BIG}, {"account": BIG, "amount": 5}, "counts"),
        ({"account": BIG}, {"account": BIG - 1, "amount": 5}, "asked again"),
        ({"account": -BIG}, {"account": 1 - BIG, "amount": 5}, "asked again"),
        ({"account": BIG}, {"account": BIG + 2, "amount": 5}, "counts"),
        ({"account": BIG}, {"account": 7, "amount": 5}, "counts"),
        ({"account": BIG - 2}, {"account": BIG - 3, "amount": 5}, "counts"),
        ({"account": 2**63 - 1}, {"account": 9223372036854776000}, "asked again"),
        ({"account": 1e16}, {"account": 10**16, "amount": 5}, "counts"),
        ({"account": 10**400}, {"account": None}, "asked again"),
        ({"account": 10**400}, {"account": 10**400, "amount": 5}, "counts"),
        ({"account": 5}, {"account": None, "amount": True}, "counts"),
        ({"all": [{"no": BIG}, 3]}, {"all": [{"no": BIG - 1}]}, "asked again"),
    ],
)
def test_a_number_that_was_rounded_on_its_way_is_no_change(
    shown: dict[str, Any], sent: dict[str, Any], outcome: str
) -> None:
    """JavaScript has doubles alone: who touches the amount must not pay to another account."""
    asked = evolve(ASKED, arguments=shown, parameters={"type": "object"})
    said = decision_in(asked, {"approved": True, "editedArgs": sent}, "ann")
    assert isinstance(said, str) == (outcome == "asked again")
    assert outcome == "counts" or "rounded by a program that has doubles alone" in str(said)
