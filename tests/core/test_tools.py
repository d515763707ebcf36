"""Tools: made of functions or written by hand, seen by a model, and still callable."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import inf, nan
from typing import Annotated, Any

import pydantic
import pytest
from attrs import evolve, frozen

from detent.core.declarations import Replaced
from detent.core.errors import ToolDefinitionError
from detent.core.retries import Retries
from detent.core.state import State, TypedState
from detent.core.tools import Tool, ToolSpec, by_name, create_tool_from_function, tool
from detent.core.wiring import Input, Output, TextRule, inject, stores

EMPTY = {"type": "object", "properties": {}}


class Research(TypedState):
    """The state of an agent."""

    reader = Replaced("")


@tool
def add(a: int, b: Annotated[int, "what to add"] = 2) -> int:
    """Add two numbers."""
    return a + b


def test_a_decorated_function_is_a_tool() -> None:
    """Its name, docstring and types say all there is to say."""
    assert (add.name, add.description) == ("add", "Add two numbers.")
    assert add.spec == ToolSpec(
        "add",
        "Add two numbers.",
        {
            "type": "object",
            "properties": {
                "a": {"type": "integer"},
                "b": {"type": "integer", "description": "what to add", "default": 2},
            },
            "required": ["a"],
            "additionalProperties": False,
        },
    )


def test_a_tool_can_be_called_as_its_function() -> None:
    """A test of it needs no agent."""
    assert add(1) == 3
    assert add(a=1, b=1) == 2


def test_options_are_given_in_brackets() -> None:
    """An empty description stays empty."""

    @tool(name="plus", description="", timeout_s=2, retries=3, outputs_to_state={"sum": {}})
    def add(a: int) -> int:
        """Not told."""
        return a

    assert (add.name, add.description, add.timeout_s) == ("plus", "", 2)
    assert add.retries == Retries(3)
    assert add.outputs == (Output("sum"),)


def test_methods_partials_and_objects_become_tools() -> None:
    """Whatever can be called and has types."""

    class Library:
        def find(self, title: str) -> str:
            """Find a book."""
            return title

        def __call__(self, title: str) -> str:
            """Call a book."""
            return title

    method = tool(Library().find)
    assert (method.name, method.description, method("x")) == ("find", "Find a book.", "x")
    made = create_tool_from_function(partial(add.function, b=1), "next", "The next number.")
    assert made(2) == 3
    assert list(made.spec.parameters["properties"]) == ["a"]  # type: ignore[call-overload]  # it is a mapping
    assert create_tool_from_function(Library()).description == "Call a book."


def test_what_the_state_fills_is_not_shown() -> None:
    """By string, by key or as the state itself."""

    @tool(inputs_from_state={"documents": "found"})
    def look(
        at: str, found: list[object], state: State, reader: str = inject(Research.reader)
    ) -> str:
        return at

    assert list(look.spec.parameters["properties"]) == ["at"]  # type: ignore[call-overload]  # it is a mapping
    assert look.hidden == {"found", "state", "reader"}
    assert look.inputs == (
        Input("documents", "found"),
        Input("reader", "reader", Research.reader),
    )


def test_a_hand_written_schema_hides_what_the_state_fills() -> None:
    """As one that was made from the function."""
    made = Tool(
        "search",
        "Search.",
        {
            "type": "object",
            "properties": {"query": {"type": "string"}, "user": {"type": "string"}},
            "required": ["query", "user"],
        },
        lambda query, user: query + user,
        inputs_from_state={"user_name": "user"},
    )
    assert made.spec.parameters["properties"] == {"query": {"type": "string"}}
    assert made.spec.parameters["required"] == ["query"]


def test_the_parts_may_be_given_in_order() -> None:
    """Name, description, parameters, function, and the three kinds of wiring."""
    made = Tool("t", "", EMPTY, len, {"handler": str}, {"a": "obj"}, {"b": {}})
    assert made.text_rules == TextRule(handler=str)
    assert made.inputs == (Input("a", "obj"),)
    assert made.outputs == (Output("b"),)


def test_stored_results_are_wired() -> None:
    """What the decorators below say comes after what the options say."""

    @tool(outputs_to_state={"count": {}})
    @stores(Research.reader)
    def look(at: str) -> str:
        return at

    assert look.outputs == (Output("count"), Output("reader", declared=Research.reader))


def test_types_are_kept_for_what_a_model_passes() -> None:
    """Not for what JSON cannot carry, nor for what it does not fill."""

    @frozen
    class Point:
        """A record."""

        x: int

    def go(to: Point, by: complex, state: State) -> None: ...

    go.__annotations__ = {"to": Point, "by": complex, "state": State}
    assert Tool("go", "", EMPTY, go).types == {"to": Point}


def _none() -> None:
    return None


def _yields(a: int) -> Iterator[int]:
    yield a


class Model(pydantic.BaseModel):
    """What some pass for its schema."""


class Yields:
    """An object whose call is a generator."""

    def __call__(self, a: int) -> Iterator[int]:
        """Count."""
        yield a


async def _yields_later(a: int) -> Any:
    yield a


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (
            {"name": ""},
            "the name of a tool has letters, digits, '_', '-', '.' and ':' only, got ''",
        ),
        ({"name": "my tool"}, "got 'my tool'"),
        ({"function": 3}, "tool 't': the function must be callable, got 3"),
        ({"function": _yields}, "tool 't': the function yields; a tool returns all at once"),
        ({"function": _yields_later}, "tool 't': the function yields; a tool returns all at once"),
        ({"name": 3}, "a tool has a name and a description in words, got (3, '')"),
        ({"description": None}, "a tool has a name and a description in words, got ('t', None)"),
        ({"parameters": "{}"}, "parameters is a JSON Schema as a dict, got '{}'"),
        ({"parameters": Model}, "; take its model_json_schema()"),
        ({"inputs_from_state": ["a"]}, "what wires a tool to the state is a dict, got ['a']"),
        ({"retries": "3"}, "retries is a number of attempts or a Retries, got '3'"),
        ({"retries": True}, "retries is a number of attempts or a Retries, got True"),
        ({"parameters": {}}, "tool 't': parameters must be a JSON Schema with 'type': 'object'"),
        (
            {"parameters": {"type": "object", "propertys": {}}},
            "tool 't': parameters: the schema uses 'propertys', which is no keyword; did you mean",
        ),
        (
            {"timeout_s": 0},
            "timeout_s must be a number of seconds above 0, got 0; None is no limit",
        ),
        ({"timeout_s": nan}, "timeout_s must be a number of seconds above 0, got nan"),
        ({"timeout_s": inf}, "timeout_s must be a number of seconds above 0, got inf"),
        ({"timeout_s": "5"}, "timeout_s must be a number of seconds above 0, got '5'"),
        ({"function": Yields()}, "tool 't': the function yields; a tool returns all at once"),
        ({"function": partial(_yields, 1)}, "tool 't': the function yields"),
        (
            {"outputs_to_state": {"a": {"handler": lambda update: update}}},
            "outputs_to_state['a']: 'handler' is called with the current value and the update",
        ),
        (
            {"outputs_to_string": {"handler": lambda: ""}},
            "outputs_to_string: 'handler' is called with the result, or its part, which <",
        ),
        (
            {"outputs_to_string": {"a": {"source": "a", "handler": lambda x, y: x}}},
            "outputs_to_string['a']: 'handler' is called with the result, or its part, which <",
        ),
        ({"inputs_from_state": {"a": 1}}, "inputs_from_state['a'] must name a parameter, got 1"),
        ({"outputs_to_state": {"a": 1}}, "outputs_to_state['a'] must be a dict of handler, source"),
    ],
)
def test_parts_that_make_no_tool_are_refused(parts: dict[str, Any], expected: str) -> None:
    """When the tool is made."""
    given: dict[str, Any] = {"name": "t", "description": "", "parameters": EMPTY, "function": len}
    with pytest.raises(ToolDefinitionError) as caught:
        Tool(**{**given, **parts})
    assert expected in str(caught.value)


def test_a_lambda_needs_a_name() -> None:
    """It has none that a model could use."""
    with pytest.raises(ToolDefinitionError, match="got '<lambda>'"):
        tool(lambda: 1)
    assert tool(name="one")(lambda: 1).name == "one"


def test_tools_are_found_by_name() -> None:
    """Two of the same name are refused."""
    assert list(by_name([add, evolve(add, name="plus")])) == ["add", "plus"]
    with pytest.raises(ToolDefinitionError, match="several tools are called 'add'"):
        by_name([add, evolve(add, description="again")])


def test_a_tool_is_a_value() -> None:
    """Made of the same parts it is the same, and it can be a key."""
    again = create_tool_from_function(add.function)
    assert again == add
    assert len({add, again}) == 1
    assert repr(add) == "FunctionTool(name='add', description='Add two numbers.')"


def test_a_tool_accepts_the_states_that_its_function_takes() -> None:
    """None, any, or those of one schema."""

    @tool
    def note(state: Research) -> str:
        return state.reader

    @tool
    def loose(state: State) -> str:
        return str(state.data)

    assert add.accepts(Research())
    assert loose.accepts(Research())
    assert note.accepts(Research())
    assert not note.accepts(State({}))  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ("search", r"@tool takes its options by name: @tool\(name='search'\)"),
        (3, "@tool stands above a function, got 3"),
        (tool(_none), r"FunctionTool\(name='_none', description=''\) is a tool already"),
        (max, "function 'max' does not say what it takes; call it in one that does"),
        (lambda: "", "got '<lambda>'; give it one: name=…"),
    ],
    ids=["text", "number", "tool", "built in", "lambda"],
)
def test_what_no_tool_can_be_made_of_is_refused(wrong: Any, expected: str) -> None:
    """It says what to write."""
    with pytest.raises(ToolDefinitionError, match=expected):
        tool(wrong)
