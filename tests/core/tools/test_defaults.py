"""Defaults: what a call runs with is what was shown of it."""

from __future__ import annotations

from typing import Any

from detent import Tool, ToolCall, tool
from detent.core.state.state import State
from detent.core.tools.defaults import arguments_to_run, with_defaults
from detent.core.tools.invocation import Invocation


def hand_written(**arguments: object) -> str:
    """Give what it was called with."""
    return str(arguments)


def schema(**properties: Any) -> dict[str, Any]:
    """Of an object with these properties."""
    return {"type": "object", "properties": properties}


def arguments(tool_: Tool, **sent: object) -> dict[str, object]:
    """What the function of a tool is called with, for what a model has sent."""
    return Invocation(tool_, ToolCall(tool_.name, sent), State({})).arguments()


def test_what_a_schema_says_stands_for_what_is_left_out_is_what_runs() -> None:
    """However deep, and though nobody has asked the function what it would take."""
    nested = schema(amount={"type": "integer", "default": 5})
    pay = Tool("pay", "", schema(order=nested, to={"default": "Ann"}), hand_written)

    assert arguments(pay, order={}) == {"order": {"amount": 5}, "to": "Ann"}
    assert arguments(pay, order={}) == with_defaults(ToolCall("pay", {"order": {}}), pay)
    assert arguments(pay, order={"amount": 7}, to="Eve") == {"order": {"amount": 7}, "to": "Eve"}


def test_the_default_of_a_function_is_left_to_it() -> None:
    """It may be what JSON has no form of."""

    @tool
    def pay(to: str, amount: int = 5) -> str:
        """Pay."""
        return to

    assert arguments(pay, to="Ann") == {"to": "Ann"}
    assert with_defaults(ToolCall("pay", {"to": "Ann"}), pay) == {"to": "Ann", "amount": 5}


def test_a_tool_without_defaults_runs_with_what_was_sent() -> None:
    """Nothing is looked for in its arguments; an array in a schema is looked through."""
    lists = schema(one={"enum": ["a", "b"]})
    call = ToolCall("pay", {"one": "a"})

    assert not Tool("pay", "", lists, hand_written).has_schema_defaults
    assert arguments_to_run(call, Tool("pay", "", lists, hand_written)) == call.arguments
    branches = schema(one={"anyOf": [{"type": "null"}, schema(x={"default": 1})]})
    assert arguments(Tool("pay", "", branches, hand_written), one={}) == {"one": {"x": 1}}
