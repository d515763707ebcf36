"""What is found out of a call and its tool is found out once."""

from __future__ import annotations

import gc
from itertools import count
from typing import Any

import pytest

from detent import Tool, ToolCall
from detent.core.schema.filling import Filling
from detent.core.state.state import State
from detent.core.tools.defaults import KEPT_MAX, with_defaults
from detent.core.tools.invocation import Invocation, argument_faults
from detent.core.tools.once_per_call import OncePerCall

NESTED = {"type": "object", "properties": {"amount": {"default": 5}}}
PAY = Tool("pay", "", {"type": "object", "properties": {"order": NESTED}}, lambda order: order)


def test_a_call_is_filled_in_once_to_be_checked_shown_and_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever gets what it is filled in may change it: the next one gets another copy."""
    fills: list[object] = []

    def counted(self: Any, value: Any) -> Any:
        fills.append(value)
        return true_filled(self, value)

    true_filled = Filling.filled
    monkeypatch.setattr(Filling, "filled", counted)
    call = ToolCall("pay", {"order": {}})
    assert argument_faults(call, PAY) == []
    with_defaults(call, PAY)["order"]["amount"] = 9
    assert with_defaults(call, PAY) == {"order": {"amount": 5}}
    assert Invocation(PAY, call, State({})).arguments() == {"order": {"amount": 5}}
    assert len(fills) == 1


def test_each_call_and_each_tool_has_an_answer_of_its_own() -> None:
    """Equal ones too: to see that they are equal takes as long as to find it out."""
    numbers = count(1)
    once = OncePerCall(lambda call, tool: next(numbers))
    call, other = ToolCall("pay", {"order": {}}), ToolCall("pay", {"order": {}})

    assert [once(call, PAY), once(other, PAY), once(call, PAY), once(other, PAY)] == [1, 2, 1, 2]


def test_nothing_is_kept_of_a_call_that_nobody_has_any_more() -> None:
    """Nor of a tool."""
    once = OncePerCall(lambda call, tool: call.tool_name)
    call = ToolCall("pay")
    once(call, PAY)
    assert len(once) == 1
    del call
    gc.collect()
    assert len(once) == 0


def test_what_is_long_is_kept_of_the_last_calls() -> None:
    """A run keeps all its calls: what they are filled in would take as much room again."""
    once = OncePerCall(lambda call, tool: call.id, 2)
    calls = [ToolCall("pay", id=name) for name in ("a", "b", "c")]
    assert [once(call, PAY) for call in calls] == ["a", "b", "c"]
    assert len(once) == 2
    assert KEPT_MAX > 128
