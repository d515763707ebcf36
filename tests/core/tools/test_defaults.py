"""Defaults: what a call runs with is what was shown of it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, RootModel

from detent import Tool, ToolCall, tool
from detent.core.state.state import State
from detent.core.tools.defaults import arguments_to_run, default_faults, with_defaults
from detent.core.tools.invocation import Invocation, argument_faults


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


def test_what_nobody_can_say_makes_a_call_that_does_not_fit() -> None:
    """It is told where, up to some; a call that does not fit by itself is told that."""
    options = [{"properties": {f"n{n}": {"default": n} for n in range(size)}} for size in (0, 22)]
    unclear = Tool("pay", "", {**schema(to={"type": "string"}), "anyOf": options}, hand_written)
    names = ", ".join(f"'n{n}'" for n in range(20))

    call = ToolCall("pay", {"to": "Ann"})
    told = f"{names}, 2 more must be said: what would be filled in hangs on how the rest is read"
    assert argument_faults(call, unclear) == default_faults(call, unclear) == [told]
    assert argument_faults(ToolCall("pay", {"to": 1}), unclear) == ["'to' must be a string, got 1"]
    assert with_defaults(call, unclear) == call.arguments


def test_a_schema_that_fills_in_too_much_is_said_to_be_at_fault() -> None:
    """Nothing is filled in by it."""
    itself = schema(
        x={"type": "object", "default": {}, "properties": {"x": {"$ref": "#/properties/x"}}}
    )
    endless, call = Tool("pay", "", itself, hand_written), ToolCall("pay", {})

    told = "the schema of 'pay' is at fault: for what is left out it fills in more than 100,000"
    assert argument_faults(call, endless) == [
        f"{told} characters, goes too deep, or has too many options to try"
    ]
    assert with_defaults(call, endless) == {}
    assert default_faults(call, Tool("pay", "", schema(), hand_written)) == []


class Left(BaseModel):
    """One of two."""

    n: int
    a: int = 1


class Right(BaseModel):
    """The other one."""

    n: int
    b: int = 2


class Side(RootModel[Left | Right]):
    """Pydantic chooses which."""


def test_a_union_of_models_is_read_as_the_first_where_a_function_takes_it() -> None:
    """Where a model has it in itself, the model chooses."""

    @tool
    def one(side: Left | Right) -> str:
        """Take one."""
        return str(side)

    @tool
    def other(side: Side) -> str:
        """Take one."""
        return str(side)

    assert with_defaults(ToolCall("one", {"side": {"n": 1}}), one) == {"side": {"n": 1, "a": 1}}
    assert argument_faults(ToolCall("one", {"side": {"n": 1}}), one) == []
    (told,) = argument_faults(ToolCall("other", {"side": {"n": 1}}), other)
    assert told.startswith("'side.a', 'side.b' must be said")
