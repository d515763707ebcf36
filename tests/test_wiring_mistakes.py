"""A sample project with one mistake at a time: each is found before a model is asked.

Mistakes with typed keys are in ``typing/fail/tools.py``: type checkers find them. These are the
ones with string keys, and those that no type can say; they are found when the agent is built.
"""

from __future__ import annotations

from typing import Any, TypedDict

import pytest

from detent import (
    Agent,
    Appended,
    BlockingConfirmationStrategy,
    NeverAskPolicy,
    Replaced,
    ScriptedChatGenerator,
    SimpleConsoleUI,
    TypedState,
    WiringError,
    create_tool_from_function,
    inject,
)


class Visit(TypedState):
    """What the tools of the library share."""

    reader = Replaced("")
    lent = Appended[str]()


class Kitchen(TypedState):
    """What other tools share."""

    reader = Replaced(0)


class Found(TypedDict):
    """What a search gives."""

    titles: list[str]
    count: int


def search(subject: str, reader: str) -> Found:
    """Search the library."""
    return {"titles": [f"{subject} for {reader}"], "count": 1}


def cook(dish: str, hours: int, oven: str, state: Kitchen) -> str:
    """Cook, with the state too far back for a type checker."""
    return f"{dish} {hours} {oven} {state.reader}"


def greet(reader: int = inject(Kitchen.reader)) -> str:
    """Greet by a key of the other schema."""
    return str(reader)


RIGHT: dict[str, Any] = {
    "inputs_from_state": {"reader": "reader"},
    "outputs_to_state": {"lent": {"source": "titles"}},
    "outputs_to_string": {"source": "count"},
}
RULE = BlockingConfirmationStrategy(NeverAskPolicy(), SimpleConsoleUI())


def build(function: Any = search, wires: Any = None, **options: Any) -> Agent[Any]:
    """The project's agent; `wires` and `options` take the place of what is right."""
    made = create_tool_from_function(
        function, **((RIGHT if function is search else {}) | (wires or {}))
    )
    given: dict[str, Any] = {
        "tools": [made],
        "state_schema": Visit,
        "exit_conditions": ["text"],
        **options,
    }
    return Agent(chat_generator=ScriptedChatGenerator(), **given)


def test_without_a_mistake_it_is_built() -> None:
    """With a schema class, and with a dict of the same keys."""
    build()
    build(state_schema={"reader": {"type": str}, "lent": {"type": list[str]}})


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"wires": {"outputs_to_state": {"lend": {"source": "titles"}}}}, "'lend' is not a key"),
        (
            {"wires": {"outputs_to_state": {"lent": {"source": "title"}}}},
            "no 'title' for the state",
        ),
        ({"wires": {"outputs_to_state": {"reader": {"source": "count"}}}}, "is int, and the state"),
        ({"wires": {"outputs_to_state": {"reader": {}}}}, "its result is Found, and the state key"),
        ({"wires": {"outputs_to_string": {"source": "text"}}}, "no 'text' for the model"),
        ({"wires": {"inputs_from_state": {"raeder": "reader"}}}, "'raeder' is not a key"),
        ({"wires": {"inputs_from_state": {"reader": "raeder"}}}, "fills the parameter 'raeder'"),
        ({"wires": {"inputs_from_state": {"lent": "reader"}}}, "'reader' takes str, and the state"),
        (
            {"wires": {"inputs_from_state": {"reader": "reader", "lent": "reader"}}},
            "the parameter 'reader' is filled more than once",
        ),
        ({"function": cook}, "wants a Kitchen, and the agent has the schema Visit"),
        ({"function": greet}, "the state key 'reader' is of another schema"),
        ({"exit_conditions": ["serach"]}, "exit condition 'serach' is neither 'text' nor a tool"),
        ({"confirmation_strategies": {"serach": RULE}}, "rule names the tool 'serach'"),
    ],
    ids=[
        *("unknown key", "unknown source", "type of a source", "type of a result"),
        *("source for the model", "unknown key read", "unknown parameter", "type of a parameter"),
        *("filled twice", "state of another schema", "key of another schema", "exit", "rule"),
    ],
)
def test_each_mistake_is_found_when_the_agent_is_built(changed: dict[str, Any], told: str) -> None:
    """It is the only one that is reported, but for what follows from it."""
    with pytest.raises(WiringError) as caught:
        build(**changed)
    assert told in "\n".join(caught.value.faults)
    assert len(caught.value.faults) <= 2


def test_several_mistakes_are_found_at_once() -> None:
    """In one error."""
    with pytest.raises(WiringError) as caught:
        build(
            wires={"outputs_to_state": {"lend": {}}, "inputs_from_state": {"raeder": "reader"}},
            exit_conditions=["serach"],
        )
    assert len(caught.value.faults) == 3
