"""Records: every value of our own comes back from JSON, and nothing else does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent import (
    Answered,
    CallRef,
    Cancelled,
    CancelRequested,
    ChatMessage,
    ChatReply,
    Confirmed,
    Event,
    FileContent,
    Finished,
    HumanDecided,
    ImageContent,
    ModelFailed,
    ModelFailure,
    ModelReplied,
    Modified,
    Rejected,
    TextContent,
    ToolCall,
    ToolFault,
    ToolRaised,
    ToolResult,
    ToolReturned,
    ToolStarted,
    Usage,
)
from detent.core.events import ClockTicked, Resumed, ToolNeverRan
from detent.core.outcomes import Outcome
from detent.core.records import UNIONS, StoredDataError, dump, load

REF = CallRef(1, 0)
CALL = ToolCall("pay", {"n": [1, {"a": None}], "x": 1.5}, "c1", {"sig": "x"})
REPLY = ChatReply(
    ChatMessage.from_assistant("hi", tool_calls=[CALL], reasoning="hm", name="a", meta={"m": 1}),
    usage=Usage(1, 2, 3, 4),
)
EVENTS: list[Event] = [
    ModelReplied(1, 1, REPLY),
    ModelFailed(1, 2, ModelFailure("server", "no", retryable=True, retry_after_s=1.5)),
    ToolStarted(REF, 1, 2.5),
    ToolReturned(REF, 1, ToolResult("x", warnings=("w",))),
    ToolReturned(REF, 1, ToolResult((TextContent("a"), ImageContent("b"), FileContent("c", "d")))),
    ToolRaised(REF, 1, ToolFault("raised", "no", retryable=True), 1.0, 0.5),
    ClockTicked(3.0, 0.25),
    *(HumanDecided(REF, "d", one, "me") for one in (Confirmed(), Rejected("no"), Answered("x"))),
    HumanDecided(REF, "d", Modified({"n": 2}, "less")),
    ToolNeverRan(REF, 1),
    Resumed("p"),
    CancelRequested("stop"),
]


def through_json(value: object, declared: Any) -> Any:
    """What comes back from a file."""
    return load(json.loads(json.dumps(dump(value, declared))), declared)


@pytest.mark.parametrize("event", EVENTS, ids=range(len(EVENTS)))
def test_every_event_comes_back(event: Event) -> None:
    """Equal to what it was."""
    assert through_json(event, Event) == event


@pytest.mark.parametrize("outcome", [Finished("text"), Cancelled("x")])
def test_outcomes_come_back(outcome: Outcome) -> None:
    """Each with its own kind."""
    assert through_json(outcome, Outcome) == outcome


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"is": "os.system", "command": "rm"}, "must have 'is', one of ModelReplied"),
        ({"is": "ToolStarted", "ref": [1, 0]}, "'attempt' is missing @ data.attempt"),
        ({"is": "ToolStarted", "ref": [1, 0], "attempt": "1"}, "must be int, got str"),
        ({"is": "ToolStarted", "ref": [1, 0], "attempt": True}, "must be int, got bool"),
        ({"is": "ToolStarted", "ref": 3, "attempt": 1}, "must be a turn and a place"),
        ({"is": "CancelRequested", "reason": "x", "more": 1}, "nothing is called"),
        (
            {"is": "HumanDecided", "ref": [1, 0], "digest": "", "decision": None},
            "must be an object",
        ),
        ([], "must be an object, got list"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(data: object, text: str) -> None:
    """The message says what was expected, and where."""
    with pytest.raises(StoredDataError, match=text):
        load(data, Event)  # type: ignore[arg-type]  # a union is a kind here


SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["is", "ref", "x"]), inner),
    max_leaves=8,
)


@given(SHAPES, st.sampled_from(UNIONS))
def test_hostile_data_gives_a_typed_error_or_a_value(data: object, kind: Any) -> None:
    """Nothing else comes out, whatever goes in."""
    try:
        value = load(data, kind)
    except StoredDataError:
        return
    assert type(value).__module__.startswith("detent.core.")


def test_the_names_in_stored_data_are_fixed() -> None:
    """A file of today is read tomorrow: who renames a class must keep its name in files."""
    names = sorted({type(event).__name__ for event in EVENTS})
    assert names == [
        *("CancelRequested", "ClockTicked", "HumanDecided", "ModelFailed", "ModelReplied"),
        *("Resumed", "ToolNeverRan", "ToolRaised", "ToolReturned", "ToolStarted"),
    ]
