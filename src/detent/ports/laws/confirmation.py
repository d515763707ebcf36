"""The promises of the confirmation port as checks: run them against a UI of your own.

def test_my_ui():
    check_confirmation_ui({"confirm": lambda: MyUI(keys="y"), "gone": lambda: MyUI(keys="")})
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, TypeAlias

from detent.core.control.decisions import ToolExecutionDecision
from detent.core.run.approval import Answered, Confirmed, Decision, Modified, Rejected
from detent.core.values.frozen import thaw
from detent.ports.confirmation import ConfirmationUI, ConfirmationUIResult, decision_of
from detent.ports.laws.breaking import expect
from detent.ports.pending import PendingCall

Humans: TypeAlias = Mapping[str, Callable[[], ConfirmationUI]]
"""Makers of the UI under test, by what the human at it does."""

DECISIONS = {"confirm": Confirmed, "reject": Rejected, "modify": Modified, "respond": Answered}

CALLS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("pay", "Pay somebody.", {"amount": 3, "to": "Ada", "note": None, "tags": ["a", {"b": [1]}]}),
    ("odd", "", {"text": "\\x1b[2J 🔒 'y'\\n\\ny\\n", "": 1.5}),
    ("bare", "Without parameters\\nand on two lines.", {}),
)
"""The calls that each human is asked about."""

UI = "the confirmation UI"
ANSWERS = (ConfirmationUIResult, ToolExecutionDecision)


def check_confirmation_ui(humans: Humans) -> None:
    """Check that a UI keeps what the `ConfirmationUI` port promises.

    Args:
        humans: makes the UI with a human at it who does this and nothing else, whatever is asked:
            "confirm", "reject", "modify", "respond", or "gone", who has closed the window. Leave
            out what the UI does not offer; "gone" it has in any case.

    Raises:
        AssertionError: it does not; the message is the law that it breaks.
    """
    expect("gone" in humans, UI, "there may be nobody: say what happens then, as 'gone'")
    for does, make in humans.items():
        for name, description, params in CALLS:
            unchanged = deepcopy(params)
            if does == "gone":
                nobody_decides_nothing(make(), name, description, unchanged)
            else:
                answer = asked(make(), name, description, unchanged)
                what_the_human_does_is_said(answer, does)


def nobody_decides_nothing(
    ui: ConfirmationUI, name: str, description: str, params: dict[str, Any]
) -> None:
    """Without a human no tool runs: the UI raises, or leaves the call pending."""
    try:
        answer = asked(ui, name, description, params)
    except BaseException:  # noqa: BLE001 - whatever it is, it lets no tool run
        return
    expect(decided(answer) is None, UI, "where nobody answers, nothing is decided")


def what_the_human_does_is_said(answer: object, does: str) -> None:
    """The answer is of the right kind, and means what the human has done."""
    expect(isinstance(answer, ANSWERS), UI, "an answer is a ConfirmationUIResult")
    decision = decided(answer)
    law = f"a human who wants to {does} does so; this answer means {decision}"
    expect(isinstance(decision, DECISIONS[does]), UI, law)
    if isinstance(decision, Modified):
        expect(_is_json(thaw(decision.arguments)), UI, "new parameters are plain JSON")


def asked(ui: Any, name: str, description: str, params: dict[str, Any]) -> object:
    """What the UI says of a call, asked as an agent asks it."""
    if not hasattr(ui, "get_user_decision"):
        return ui.get_user_confirmation(name, description, params)
    schema = {"type": "object", "properties": {key: {} for key in params}}
    call = PendingCall("run", 1, 0, "c1", name, description, params, "", "digest", schema)
    return ui.get_user_decision(call)


def decided(answer: object) -> Decision | None:
    """The decision that an answer means; None where it leaves the call open."""
    match answer:
        case ToolExecutionDecision(answer=str(text)):
            return Answered(text)
        case ToolExecutionDecision(execute=False, feedback=feedback):
            return Rejected(feedback)
        case ToolExecutionDecision(final_tool_params=dict(params), feedback=feedback):
            return Modified(params, feedback)
        case ToolExecutionDecision(remember=remember):
            return Confirmed(remember)
        case ConfirmationUIResult():
            return decision_of(answer)
        case _:
            return None


def _is_json(value: object) -> bool:
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError):
        return False
