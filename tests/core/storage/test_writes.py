"""Writes: a handler is found again by its name, and values come back as they were written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from detent import State, StoredDataError, Tool, UnstorableError
from detent.core.codec.own_values import dump, load
from detent.core.state.handlers import merge_lists, replace_values
from detent.core.tools.tool import by_name
from detent.machine import AgentSpec, Write


def joined(current: Any, update: Any) -> Any:
    """A handler of a tool's."""
    return f"{current or ''}{update}"


def counted(current: Any, update: Any) -> Any:
    """A handler of a key's."""
    return (current or 0) + update


NOTE = Tool("note", "", {"type": "object"}, print, outputs_to_state={"text": {"handler": joined}})
SPEC = AgentSpec(
    State({"text": {"type": str}, "count": {"type": int, "handler": counted}}), by_name([NOTE])
)


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (Write("text", "a"), None),
        (Write("text", "a", joined), "tool note"),
        (Write("count", 1, counted), "key"),
        (Write("text", "a", replace_values), "replace_values"),
        (Write("none", [1], merge_lists), "merge_lists"),
        (Write("text", "a", joined, is_secret=True), "tool note"),
        (Write("text", "a", is_secret=True), None),
    ],
    ids=["none", "tool", "key", "shipped", "unknown key", "secret of a tool", "secret"],
)
def test_a_write_comes_back_with_its_handler(write: Write, name: str | None) -> None:
    """Which is stored by name."""
    data = json.loads(json.dumps(dump(write, Write, SPEC)))

    assert data.get("handler") == name
    assert load(data, Write, SPEC) == write


def test_a_handler_that_nobody_declares_is_refused() -> None:
    """Another process could not find it."""
    with pytest.raises(UnstorableError, match="handler that no tool and no key declares"):
        dump(Write("text", "a", lambda old, new: new), Write, SPEC)


@pytest.mark.parametrize("data", [3, {}, {"key": "a"}, {"key": 1, "value": 2}])
def test_what_is_no_write_is_refused(data: object) -> None:
    """It says what one has."""
    with pytest.raises(StoredDataError, match="a write has a key, a value"):
        load(data, Write, SPEC)


def test_a_handler_is_only_found_where_it_is_declared() -> None:
    """A name in stored data is looked up in the agent, and nowhere else."""
    with pytest.raises(StoredDataError, match=r"no handler 'os\.system' for state key 'text'"):
        load({"key": "text", "value": "a", "handler": "os.system"}, Write, SPEC)


def test_a_value_that_cannot_be_read_is_told_with_its_key() -> None:
    """One write of many is meant."""
    with pytest.raises(StoredDataError, match="a write to 'text'"):
        load({"key": "text", "value": {"$type": "Nothing", "value": 1}}, Write, SPEC)


def test_without_an_agent_a_write_is_read_as_none() -> None:
    """People look at a snapshot where its agent is not."""
    assert load({"key": "text", "value": "a"}, Write) == Write("", None)
