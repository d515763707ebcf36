"""Wiring is checked before anything runs, all of it at once."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

import pytest
from attrs import frozen

from detent.adapters.state.fields import Replaced
from detent.adapters.state.typed_state import TypedState
from detent.adapters.tools.decorator import inject, stores, tool
from detent.adapters.tools.documents import Document
from detent.core.errors import WiringError
from detent.core.run.approval import Allow
from detent.core.run.spec import AgentSpec
from detent.core.state.fields import Appended
from detent.core.state.state import BaseState, State
from detent.core.tools.idempotency import FencingToken, IdempotencyKey
from detent.core.tools.tool import Tool, by_name
from detent.core.tools.wiring import Reply
from detent.core.tools.wiring_check import wiring_faults
from detent.core.values.frozen import FrozenDict


class Research(TypedState):
    """The state of an agent."""

    reader = Replaced("")
    documents = Appended[Document]()


class Kitchen(TypedState):
    """The state of another agent."""

    reader = Replaced(0)


class Found(TypedDict):
    """What a search gives."""

    documents: list[Document]
    count: int


@frozen
class Report:
    """What a tool may return."""

    title: str


STATE = State(
    {
        "user_name": {"type": str},
        "documents": {"type": list[Document]},
        "count": {"type": int},
        "anything": {"type": Any},
        "total": {"type": int, "handler": lambda current, update: (current or 0) + update},
    }
)


def search(query: str, user: int = 0) -> Found:
    """Search."""
    return {"documents": [Document(content=query)], "count": user}


def told(**wires: Any) -> list[str]:
    """What is wrong with the search tool when it is wired so."""
    made = tool(**wires)(search)
    return [fault.removeprefix("tool 'search': ") for fault in wiring_faults(made, STATE)]


@pytest.mark.parametrize(
    "wires",
    [
        {},
        {"inputs_from_state": {"count": "user"}},
        {"inputs_from_state": {"anything": "query"}},
        {"outputs_to_state": {"documents": {"source": "documents"}, "anything": {}}},
        {"outputs_to_state": {"count": {"source": "count"}, "total": {"source": "count"}}},
        {"outputs_to_state": {"count": {"source": "documents", "handler": lambda old, new: 1}}},
        {"outputs_to_string": {"source": "count"}},
        {"outputs_to_string": {"n": {"source": "count"}, "d": {"source": "documents"}}},
    ],
)
def test_wiring_that_fits_has_no_faults(wires: dict[str, Any]) -> None:
    """Whatever cannot be told, fits."""
    assert told(**wires) == []


@pytest.mark.parametrize(
    ("wires", "expected"),
    [
        (
            {"inputs_from_state": {"usr_name": "query"}},
            "'usr_name' is not a key of this state",
        ),
        (
            {"inputs_from_state": {"user_name": "who"}},
            (
                "the state fills the parameter 'who', which its function does not take; it takes: "
                "query, user"
            ),
        ),
        (
            {"inputs_from_state": {"user_name": "user"}},
            "parameter 'user' takes int, and the state key 'user_name' holds str",
        ),
        (
            {"outputs_to_state": {"documents": {"source": "documenst"}}},
            "its result has no 'documenst' for the state key 'documents': Found has documents",
        ),
        (
            {"outputs_to_state": {"count": {"source": "documents"}}},
            ("'documents' of its result is list[Document], and the state key 'count' holds int"),
        ),
        (
            {"outputs_to_state": {"documents": {}}},
            ("its result is Found, and the state key 'documents' holds list[Document]"),
        ),
        (
            {"outputs_to_string": {"source": "text"}},
            "its result has no 'text' for the model: Found has documents, count",
        ),
        (
            {"outputs_to_string": {"a": {"source": "text"}}},
            "its result has no 'text' for the model: Found has documents, count",
        ),
    ],
)
def test_a_misfit_is_named_with_key_and_types(wires: dict[str, Any], expected: str) -> None:
    """So that one knows what to change."""
    (fault,) = told(**wires)
    assert fault.startswith(expected)


def documents_in(found: str) -> list[Document]:
    return [Document(content=found)]


def hand_written(parameters: dict[str, object], function: Any) -> Tool:
    """A tool whose schema was not made from its function."""
    return Tool("hand", "", {"type": "object", "properties": parameters}, function)


def test_a_hand_written_schema_must_be_what_the_function_takes() -> None:
    """A name that is no parameter, and a parameter that nothing fills."""
    assert wiring_faults(hand_written({"query": {}}, search), STATE) == []
    assert wiring_faults(hand_written({"x": {}}, lambda **given: given), STATE) == []
    assert wiring_faults(hand_written({"x": {}}, print), STATE) == []
    assert wiring_faults(hand_written({"qeury": {}}, search), STATE) == [
        (
            "tool 'hand': its schema has 'qeury', which its function does not take; it takes: "
            "query, user"
        ),
        "tool 'hand': neither the model nor the state gives its function the parameter 'query'",
    ]


def test_a_parameter_is_filled_once() -> None:
    """By one key, one way, or by the state itself."""

    @tool(inputs_from_state={"count": "user", "total": "user", "user_name": "reader"})
    def find(query: str, user: int, reader: str = inject(Research.reader)) -> str:
        return query

    @tool(inputs_from_state={"anything": "state", "user_name": "key", "user_age": "token"})
    def note(state: State, key: IdempotencyKey, token: FencingToken) -> str:
        return f"{key}{token}"

    assert [fault.split("parameter ")[1] for fault in wiring_faults(find, STATE)[:2]] == [
        (
            "'reader' is filled more than once: by the state key 'user_name' "
            "and by the state key 'reader'"
        ),
        "'user' is filled more than once: by the state key 'count' and by the state key 'total'",
    ]
    assert [fault.split(": ")[2] for fault in wiring_faults(note, STATE)[:3]] == [
        "by the state key 'user_name' and by the call's idempotency key",
        "by the state key 'anything' and by the state itself",
        "by the state key 'user_age' and by the run's fencing token",
    ]


def test_a_composed_schema_offers_what_its_parts_offer() -> None:
    """Wherever a property stands, the function takes it, or does not."""
    part: dict[str, Any] = {"properties": {"query": {}, "qeury": {}}}
    parameters = {"type": "object", "$ref": "#/$defs/All", "$defs": {"All": {"anyOf": [part]}}}
    (fault,) = wiring_faults(Tool("hand", "", parameters, search), STATE)
    assert fault.startswith("tool 'hand': its schema has 'qeury', which its function does not take")


def test_keys_that_are_named_themselves_must_be_the_agents() -> None:
    """A key of the same name in another schema is another key."""

    @tool
    @stores(Research.documents)
    def find(query: str, reader: str = inject(Research.reader)) -> list[Document]:
        return [Document(content=query + reader)]

    assert wiring_faults(find, Research()) == []
    faults = wiring_faults(find, Kitchen())
    assert faults[0] == (
        "tool 'find': the state key 'reader' is of another schema; there it holds str, and in the "
        "agent's int: the agent's is Kitchen.reader"
    )
    assert faults[1].startswith("tool 'find': 'documents' is not a key")
    assert faults[1].endswith("; give the agent the class that declares it: state_schema=…")


class Shelf(TypedState):
    """A state whose keys are like those of `Research`."""

    reader = Replaced("")
    documents = Appended[Document]()


@pytest.mark.parametrize(
    ("state", "own"),
    [
        (Shelf(), "the agent's is Shelf.reader"),
        (
            State({"reader": {"type": str}, "documents": {"type": list[Document]}}),
            (
                "the agent has a dict schema, whose keys are wired by inputs_from_state, "
                "outputs_to_state"
            ),
        ),
    ],
    ids=["a namesake", "dict"],
)
def test_a_key_that_is_like_the_agents_is_not_the_agents(state: BaseState, own: str) -> None:
    """Two keys of one name, type and default are two: one of them may come to differ."""

    @tool
    @stores(Research.documents)
    def find(query: str, reader: str = inject(Research.reader)) -> list[Document]:
        return [Document(content=query + reader)]

    first, second = wiring_faults(find, state)
    assert first == f"tool 'find': the state key 'reader' is of another schema: {own}"
    assert second.startswith("tool 'find': the state key 'documents' is of another schema: ")
    assert wiring_faults(find, type("MoreResearch", (Research,), {})()) == []


def test_a_source_that_is_a_function_is_left_to_the_type_checker() -> None:
    """What it returns is not known before it runs."""

    @tool
    @stores(Research.documents, source=documents_in)
    def find(query: str) -> str:
        return query

    assert wiring_faults(find, Research()) == []


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (Research(), []),
        (type("MoreResearch", (Research,), {})(), []),
        (
            Kitchen(),
            ["parameter 'state' wants a Research, and the agent has the schema Kitchen"],
        ),
        (
            STATE,
            ["parameter 'state' wants a Research, and the agent has a dict schema"],
        ),
    ],
    ids=["its own", "a subclass", "another", "dict"],
)
def test_a_tool_works_on_states_of_its_schema(state: BaseState, expected: list[str]) -> None:
    """A subclass has all that it needs."""

    @tool
    def note(state: Research, text: str) -> Reply:
        return Reply(state.reader, Research.documents.put([Document(content=text)]))

    @tool
    def loose(state: State) -> str:
        return str(state.data)

    assert wiring_faults(note, state) == [f"tool 'note': {fault}" for fault in expected]
    assert wiring_faults(loose, state) == []


def test_every_fault_of_an_agent_is_told_at_once() -> None:
    """Of all tools and rules."""

    def one(mode: Literal["a"]) -> str:
        return mode

    def two(other: str) -> None: ...

    wired = [
        tool(inputs_from_state={"missing": "mode"})(one),
        tool(outputs_to_state={"count": {}})(two),
    ]
    with pytest.raises(WiringError) as caught:
        AgentSpec(
            state=STATE,
            tools=by_name(wired),
            exit_conditions=frozenset({"three"}),
            policies=FrozenDict({"four": lambda call, tool, run: Allow()}),
        )
    faults = caught.value.faults
    assert [fault.split(";")[0] for fault in faults[:2]] == [
        "exit condition 'three' is neither 'text' nor a tool",
        "a confirmation rule names the tool 'four'",
    ]
    assert faults[2].startswith("tool 'one': 'missing' is not a key")
    assert faults[3] == "tool 'two': its result is NoneType, and the state key 'count' holds int"
    assert all(fault in str(caught.value) for fault in faults)
