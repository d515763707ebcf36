"""Opening a turn: a call that cannot run is answered at once, whoever guards its tool."""

from __future__ import annotations

import pytest

from detent import (
    AgentSpec,
    Allow,
    CallRef,
    ChatMessage,
    FrozenDict,
    RunOptions,
    State,
    Tool,
    ToolCall,
    start,
)
from detent.core.opening import open_slots, with_calls
from detent.core.run import NO_OPTIONS
from detent.core.slots import Faulted, Ready, Unjudged
from detent.core.tools import by_name

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
SPEC = AgentSpec(
    State({}),
    by_name([Tool(name, "", NUMBER, print) for name in ("note", "pay")]),
    policies=FrozenDict({"pay": lambda call, tool, run: Allow()}),
)


def opened(call: ToolCall, options: RunOptions = NO_OPTIONS) -> object:
    """The status of a call that has just been made."""
    run = start(SPEC, [], run_id="r", options=options)
    (slot,) = open_slots(SPEC, run, [call])
    assert slot.ref == CallRef(1, 0)
    return slot.status


def test_a_call_that_nobody_guards_is_ready() -> None:
    """Nobody is asked anything."""
    assert opened(ToolCall("note", {"n": 1})) == Ready()


def test_a_guarded_call_waits_for_its_policy() -> None:
    """Which is asked by a driver, not here."""
    assert opened(ToolCall("pay", {"n": 1})) == Unjudged()


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (ToolCall("refund", {"n": 1}), "unknown_tool"),
        (ToolCall("pay", {"n": "all"}), "invalid_arguments"),
    ],
)
def test_no_policy_sees_what_cannot_run(call: ToolCall, kind: str) -> None:
    """The model is told."""
    status = opened(call)

    assert isinstance(status, Faulted)
    assert status.fault.kind == kind


def test_a_tool_that_was_not_chosen_is_unknown() -> None:
    """Also a guarded one."""
    status = opened(ToolCall("pay", {"n": 1}), RunOptions(("note",)))

    assert isinstance(status, Faulted)
    assert "Available tools: note" in status.fault.message


def test_what_a_message_says_beside_its_calls_stays() -> None:
    """Where it stands; only the calls are others."""
    one, two = ToolCall("note", {"n": 1}, "a"), ToolCall("note", {"n": 2}, "b")
    message = ChatMessage.from_assistant("let me see", tool_calls=[one, two])
    three = ToolCall("note", {"n": 3}, "a")

    changed = with_calls(message, [three, two])

    assert (changed.text, changed.tool_calls) == ("let me see", (three, two))
    assert with_calls(message, [one, two]) is message
