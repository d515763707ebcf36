"""Upgrades: what an earlier format said is said in the present one, and nothing breaks them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.core.codec.json_text import AS_IN_1
from detent.core.errors import StoredDataError
from detent.core.storage.upgrades import FORMAT, upgraded_events, upgraded_run

VALUES = {"plain": {"value": [1]}, "typed": {"value": "2026-01-02", "as": "key"}}
STATE = {
    "version": 1,
    "data": {"plain": [1], "typed": {"$type": AS_IN_1, "value": "2026-01-02", "as": "key"}},
}
WRITE = {"key": "plain", "value": 1, "as": "item", "handler": "key"}
NEW_WRITE = {
    "key": "plain",
    "value": {"$type": AS_IN_1, "value": 1, "as": "item"},
    "handler": "key",
}


def test_the_state_and_the_open_writes_of_format_1_move() -> None:
    """The writes go to the result that they are of."""
    slots = [
        {"ref": [1, 0], "status": {"is": "Succeeded", "result": {"content": "x"}}},
        {"ref": [1, 1], "status": {"is": "Ready"}},
    ]
    run = {"phase": {"is": "Acting", "slots": slots}, "state": VALUES, "writes": {"0": [WRITE]}}

    again = upgraded_run(run, 1)

    assert again["state"] == STATE
    assert again["phase"]["slots"][0]["status"]["result"] == {"content": "x", "writes": [NEW_WRITE]}
    assert again["phase"]["slots"][1] == slots[1]
    assert "writes" not in again
    assert run["state"] == VALUES


def test_the_writes_of_an_event_of_format_1_move() -> None:
    """As those of a run do; events without any stay as they are."""
    event = {"is": "ToolReturned", "result": {"content": "x"}, "writes": [WRITE]}

    (again,) = upgraded_events(event, 1)

    assert again["result"]["writes"] == [NEW_WRITE]
    assert upgraded_events({"is": "Resumed"}, 1) == [{"is": "Resumed"}]


def test_what_the_policies_said_in_format_2_becomes_events() -> None:
    """It stood in the model's reply."""
    slots = [
        {"ref": [1, 0], "status": {"$type": "Ready"}},
        {"ref": [1, 1], "status": {"$type": "AwaitingDecision", "digest": "d", "reason": "money"}},
        {"ref": [1, 2], "status": {"is": "AwaitingDecision", "digest": "d"}},
        {"ref": [1, 3], "status": {"$type": "Faulted", "fault": {}}},
    ]

    reply, *said = upgraded_events({"$type": "ModelReplied", "turn": 1, "slots": slots}, 2)

    assert reply == {"$type": "ModelReplied", "turn": 1}
    assert said == [
        {"$type": "Judged", "ref": [1, 0], "verdict": {"$type": "Allow"}},
        {"$type": "Judged", "ref": [1, 1], "verdict": {"$type": "Ask", "reason": "money"}},
        {"$type": "Judged", "ref": [1, 2], "verdict": {"$type": "Ask", "reason": ""}},
    ]


def test_the_present_format_stays_as_it_is() -> None:
    """There is nothing to do."""
    assert upgraded_run({"a": 1}, FORMAT) == {"a": 1}
    assert upgraded_events({"a": 1}, FORMAT) == [{"a": 1}]


@pytest.mark.parametrize("version", [0, FORMAT + 1, "1", True, None, 1.0])
def test_a_format_that_is_not_known_is_refused(version: object) -> None:
    """Most of all that of a later Detent."""
    with pytest.raises(StoredDataError, match="this Detent reads 1 to"):
        upgraded_run({}, version)
    with pytest.raises(StoredDataError, match="this Detent reads 1 to"):
        upgraded_events({}, version)


NAMES = (
    "phase",
    "digest",
    "fault",
    "slots",
    "ref",
    "status",
    "result",
    "writes",
    "state",
    "value",
    "as",
    "key",
)
JSON: Any = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(NAMES), JSON))
def test_upgrades_are_total(data: dict[str, Any]) -> None:
    """Whatever stands there, they raise nothing; the reader judges what comes of it."""
    assert isinstance(upgraded_run(data, 1), dict)
    assert all(isinstance(one, dict) for one in upgraded_events(data, 1))


@pytest.mark.parametrize("writes", ["none", [3], [{"key": "a"}]], ids=str)
def test_writes_that_are_none_are_left_to_the_reader(writes: object) -> None:
    """It says what is wrong with them."""
    event = {"is": "ToolReturned", "result": {"content": "x"}, "writes": writes}
    (again,) = upgraded_events(event, 1)
    assert again["result"]["writes"] == writes
