"""What people see of stored data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from detent.adapters.stories.entries import event_path, masked_data
from detent.adapters.stories.secrets import RunSecrets
from detent.core.tools.masking import MASK
from detent.ports.journal import Entry


def test_stored_data_shows_no_secret() -> None:
    """Neither as an argument, nor where all arguments stand in one text."""
    cut = {"tool_name": "pay", "unreadable": '{"pin": "1234"', "secret": ["pin"]}
    signed = {"name": "Ada", "roles": [], "proof": "1234"}
    data = [{"arguments": {"pin": "1234", "to": "Ann"}, "who": signed}, cut, {"arguments": "none"}]
    assert masked_data(data, {"pin"}) == [
        {"arguments": {"pin": MASK, "to": "Ann"}, "who": signed | {"proof": MASK}},
        cut | {"unreadable": MASK},
        {"arguments": "none"},
    ]
    others = {"tool_name": "add", "unreadable": "[1", "proof": "of the pudding"}
    assert masked_data(others, {"pin"}) == others


def test_stored_data_shows_no_digest_by_which_a_secret_can_be_guessed() -> None:
    """Nor what makes one of a question's. What others have called so is theirs."""
    binding = {"run": "1", "tool": "2", "inputs": "3", "arguments": "4", "labels": "web"}
    said: dict[str, Any] = {"content": [{"nonce": "n", "arguments": {"nonce": "n"}}]}
    inside = {"nonce": "n/2.0", "state": {"data": {"nonce": "n"}}, "digest": "d", "nothing": None}
    said |= {"writes": [{"key": "a", "value": {"nonce": "n"}}]}
    data = {"nonce": "n", "chain": "c", "event": {"binding": binding}, "run": [inside], **said}

    shown = masked_data(data, ())
    assert shown == masked_data(data, {"pin"})
    assert shown == {
        "nonce": MASK,
        "chain": MASK,
        **said,
        "event": {"binding": binding | {"run": MASK, "inputs": MASK, "arguments": MASK}},
        "run": [inside | {"nonce": MASK}],
    }


def test_an_event_stands_behind_the_agents_that_it_has_happened_in() -> None:
    """However deep; what others have written may name none."""
    inside = {"tool_name": "dig", "event": {"$type": "ToolLost"}}
    event = {"tool_name": "look", "event": {"$type": "HappenedInside", **inside}}
    assert event_path("HappenedInside", event) == ("look", "dig", "ToolLost")
    assert event_path("Resumed", event) == ("Resumed",)
    assert event_path("HappenedInside", {}) == ("None", "None")


def test_what_was_written_to_a_secret_key_is_shown_nowhere() -> None:
    """Nor by whoever says it later. What others have called so stays."""
    write = {"key": "pin", "value": ["1234-5678"], "secret": True}
    theirs = {"key": "a", "value": {"secret": True, "value": 5, "key": "b", "more": 1}}
    result = {"content": "done", "writes": [write, theirs], "warnings": []}
    said = Entry(1, 0.0, "ModelReplied", "running", {"text": "It is 1234-5678."})
    entries = [Entry(0, 0.0, "ToolReturned", "running", {"result": result}), said]

    shown = RunSecrets().learned_without(entries)
    assert shown[0].data["result"] == result | {"writes": [write | {"value": MASK}, theirs]}
    assert shown[1].data == {"text": "It is <pin>."}
    assert masked_data({"writes": 5}, ()) == {"writes": 5}


@pytest.mark.parametrize(
    "place",
    [
        lambda data: {"message": {"role": "user", "meta": data}},
        lambda data: {"result": {"writes": [{"key": "page", "value": data}]}},
        lambda data: {"run": {"state": {"data": {"page": data, "messages": []}}}},
        lambda data: {"run": {"state": {"data": {"messages": [{"meta": data}]}}}},
        lambda data: {"output": [data]},
    ],
    ids=["meta", "write", "state", "conversation", "output"],
)
def test_a_value_names_no_secret(place: Callable[[object], object]) -> None:
    """Else whoever has written a page could have any word taken out of what people see."""
    write = {"key": "x", "value": "Ada", "secret": True}
    call = {"tool_name": "x", "secret": ["x"], "arguments": {"x": "Ada"}}
    secrets = RunSecrets()
    secrets.learn([place({"writes": [write]}), place(call)])
    assert secrets.values == {}


@pytest.mark.parametrize(
    "place",
    [
        lambda result: {"result": result},
        lambda result: {"event": {"event": {"result": result}}},
        lambda result: {"run": {"phase": {"slots": [{"status": {"result": result}}]}}},
    ],
    ids=["event", "inside", "run"],
)
def test_a_result_names_its_secrets_wherever_it_stands(place: Callable[[object], object]) -> None:
    """In an event, in that of an agent inside, and in a run that is a copy."""
    secrets = RunSecrets()
    secrets.learn(place({"writes": [{"key": "x", "value": "Ada", "secret": True}]}))
    assert secrets.values == {"x": ["Ada"]}
