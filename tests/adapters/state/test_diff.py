"""The difference between two states says which keys changed, and how."""

from __future__ import annotations

from typing import Any

import pytest

from detent.adapters.state.diff import Change, diff
from detent.adapters.state.fields import Replaced
from detent.adapters.state.typed_state import TypedState
from detent.core.state.fields import Appended
from detent.core.state.handlers import replace_values
from detent.core.state.keys import UNSET
from detent.core.state.state import State

SCHEMA: dict[str, Any] = {
    "items": {"type": list},
    "name": {"type": str},
    "map": {"type": dict},
    "tags": {"type": set},
    "any": {"type": Any},
}


class Research(TypedState):
    """A class schema."""

    name = Replaced("")
    queries = Appended[str]()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {"name": "a"}, "name: set to 'a'"),
        ({"name": "a"}, {}, "name: unset, was 'a'"),
        ({"name": "a"}, {"name": "b"}, "name: 'a' -> 'b'"),
        ({"items": [1]}, {"items": [1, 2, 3]}, "items: 2 added: [2, 3]"),
        ({"items": [1, 2]}, {"items": [1]}, "items: [1, 2] -> [1]"),
        ({"items": [1, 2]}, {"items": [3, 2, 1]}, "items: [1, 2] -> [3, 2, 1]"),
        ({"map": {"a": 1, "b": 2, "c": 3}}, {"map": {"a": 1, "b": 0, "d": 4}},
         "map: 'b': 2 -> 0, 'd' added: 4, 'c' removed"),
        ({"map": {"a": 1, "b": 2}}, {"map": {"a": 1, "b": 3}}, "map: 'b': 2 -> 3"),
        ({"any": {"a": 1}}, {"any": 5}, "any: {'a': 1} -> 5"),
        ({"any": 5}, {"any": {"a": 1}}, "any: 5 -> {'a': 1}"),
        ({"tags": {1}}, {"tags": {1, 2}}, "tags: 1 added: {2}"),
        ({"tags": {1, 2}}, {"tags": {2, 3}}, "tags: 1 added: {3}, 1 removed: {1}"),
        ({"items": [0] * 1_000}, {"items": [1]}, "items: [0, 0, 0, 0, … 996 more] -> [1]"),
    ],
    ids=str,
)  # fmt: skip  # a table reads best this way
def test_a_change_says_how(before: dict[str, Any], after: dict[str, Any], expected: str) -> None:
    """In one line, with long values shortened."""
    assert [str(change) for change in diff(State(SCHEMA, before), State(SCHEMA, after))] == [
        expected
    ]


def test_states_with_equal_values_do_not_differ() -> None:
    """However they were made; a default that was written is no change."""
    assert diff(State(SCHEMA, {"items": [1]}), State(SCHEMA).set("items", [1])) == ()
    assert diff(Research(), Research(Research.name.put(""))) == ()


def test_changes_come_in_the_order_of_the_schema() -> None:
    """With the values before and after."""
    before = Research(Research.queries.put(["a"]))
    after = before.set(Research.queries, ["b"]).set(Research.name, "x")
    changes = diff(before, after)
    assert changes == (Change("name", "", "x"), Change("queries", ["a"], ["a", "b"]))
    assert (changes[0].added, changes[1].added) == (None, ["b"])


def test_states_of_different_schemas_differ_by_their_keys() -> None:
    """What one has not got is unset there."""
    before, after = State({"a": {"type": int}}, {"a": 1}), State({"b": {"type": int}}, {"b": 2})
    assert diff(before, after) == (Change("a", 1, UNSET), Change("b", UNSET, 2))


def test_a_state_that_was_kept_tells_what_a_step_did() -> None:
    """That is what it is for."""
    before = State(SCHEMA, {"items": [1], "name": "a"})
    after = before.set("items", [2]).set("items", [3]).set("name", "b", replace_values)
    assert "\n".join(map(str, diff(before, after))) == "items: 2 added: [2, 3]\nname: 'a' -> 'b'"
