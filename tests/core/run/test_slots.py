"""Slots: when a call is answered, and what the model is told."""

from __future__ import annotations

import pytest

from detent import ImageContent, TextContent, ToolCall
from detent.core.machine.turns import answer
from detent.core.run.approval import Binding, Clearance
from detent.core.run.run import (
    AnsweredByHuman,
    AwaitingDecision,
    Faulted,
    Ready,
    Refused,
    Running,
    Status,
    Succeeded,
    is_settled,
)
from detent.machine import CallRef, Slot, ToolFault, ToolResult

CALL = ToolCall("pay", {"n": 1}, "c1")


def slot(status: Status, note: str | None = None) -> Slot:
    return Slot(CallRef(1, 0), CALL, status, Clearance(Binding(), note=note))


@pytest.mark.parametrize("status", [AwaitingDecision("digest"), Ready(), Running()])
def test_an_open_slot_has_no_answer(status: Status) -> None:
    """Nothing can be told of a call that is still to be decided, started or finished."""
    assert not is_settled(slot(status))
    assert answer(slot(status)) is None


@pytest.mark.parametrize(
    ("status", "text", "error"),
    [
        (Succeeded(ToolResult("paid")), "paid", False),
        (Faulted(ToolFault("raised", "no money")), "no money", True),
        (Refused("not today"), "not today", True),
        (AnsweredByHuman("paid by hand"), "paid by hand", False),
    ],
)
def test_a_settled_slot_answers_its_call(status: Status, text: str, error: bool) -> None:  # noqa: FBT001 - a table's column
    """The answer names the call, and says whether it went wrong."""
    told = answer(slot(status))

    assert is_settled(slot(status))
    assert told is not None
    assert (told.text, told.error, told.origin) == (text, error, CALL)


def test_a_note_comes_before_the_result() -> None:
    """The model reads first that a human changed its call, in text and in parts alike."""
    image = ImageContent("aGk=")
    words = answer(slot(Succeeded(ToolResult("paid")), "changed by a human"))
    parts = answer(slot(Succeeded(ToolResult((image,))), "changed by a human"))

    assert words is not None
    assert parts is not None
    assert words.result == "changed by a human\npaid"
    assert parts.result == (TextContent("changed by a human"), image)
