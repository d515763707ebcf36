"""Tools: made of functions or written by hand, seen by a model, and still callable."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import pytest
from attrs import evolve, frozen

from detent.adapters.state.fields import Replaced
from detent.adapters.state.typed_state import TypedState
from detent.adapters.tools.decorator import create_tool_from_function, inject, stores, tool
from detent.core.errors import ToolDefinitionError
from detent.core.state.state import State
from detent.core.tools.retries import Retries
from detent.core.tools.tool import Tool, ToolSpec, by_name
from detent.core.tools.wiring import Input, Output, TextRule

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
    assert Tool("go", "", EMPTY, go).readers.keys() == {"to"}


def _none() -> None:
    return None


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
