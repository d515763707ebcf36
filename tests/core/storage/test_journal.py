"""Runs and events as JSON: what tools wrote, and what the state holds, comes back exactly."""

from __future__ import annotations

import json
from datetime import date
from enum import Enum
from typing import Any

import pytest
from attrs import frozen

from detent import ChatMessage, State, Tool, ToolCall
from detent.core.codec.own_forms import data_of
from detent.core.errors import StoredDataError, UnstorableError
from detent.core.run.run import (
    Acting,
    AwaitingDecision,
    Refused,
    Slot,
    Status,
    Succeeded,
    evolve,
    move,
)
from detent.core.storage.journal import (
    event_from_json,
    event_of_kind,
    event_to_json,
    progress_mark,
    reply_faults,
    run_from_json,
    run_to_json,
    status_of,
)
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentSpec,
    CallRef,
    CancelRequested,
    ModelFailed,
    ModelReplied,
    Run,
    ToolResult,
    ToolReturned,
    Write,
    start,
    step,
)
from detent.models import ChatReply, ModelFailure


class Colour(Enum):
    """A type whose values JSON has no form of."""

    RED = "red"


@frozen
class Document:
    """A type of a user's."""

    title: str
    made: date


def joined(current: Any, update: Any) -> Any:
    """A handler."""
    return f"{current or ''}{update}"


DOCUMENT = Document("a", date(2026, 1, 2))
NOTE = Tool("note", "", {"type": "object"}, print, outputs_to_state={"text": {"handler": joined}})
SPEC = AgentSpec(
    State(
        {
            "documents": {"type": list[Document]},
            "colour": {"type": Colour},
            "text": {"type": str},
            "any": {"type": dict},
            "pair": {"type": tuple[int, ...]},
        }
    ),
    by_name([NOTE]),
)
START = start(
    SPEC,
    [ChatMessage.from_user("hello")],
    run_id="r",
    state=[
        Write("documents", [DOCUMENT]),
        Write("colour", Colour.RED),
        Write("any", {"a": [1, None]}),
        Write("pair", (1, 2)),
    ],
)
CALLS = [ToolCall("note", id="a"), ToolCall("note", id="b")]
ACTING = step(
    SPEC, START, ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=CALLS)))
)


def returned(*writes: Write) -> ToolReturned:
    """The first call gave a result."""
    return ToolReturned(CallRef(1, 0), 1, ToolResult("x", writes))


def through_json(run: Run[State]) -> Run[State]:
    """What comes back from a file."""
    return run_from_json(SPEC, json.loads(json.dumps(run_to_json(SPEC, run))))


WRITES = [
    Write("text", "a", joined),
    Write("documents", DOCUMENT),
    Write("documents", [DOCUMENT]),
    Write("colour", Colour.RED),
    Write("any", {"day": date(2026, 1, 2)}),
]


@pytest.mark.parametrize("run", [START, ACTING, step(SPEC, ACTING, returned(*WRITES))])
def test_a_run_comes_back_equal(run: Run[State]) -> None:
    """With values of users' types, in the state and in results that wait for the others."""
    again = through_json(run)

    assert again == run
    assert type(again.state.get("colour")) is Colour
    assert again.state.get("documents") == [DOCUMENT]


@pytest.mark.parametrize("write", WRITES)
def test_a_write_comes_back_with_its_handler(write: Write) -> None:
    """An item stays an item, a list a list."""
    again = event_from_json(SPEC, event_to_json(SPEC, returned(write)))

    assert again == returned(write)
    assert isinstance(again, ToolReturned)
    assert type(again.result.writes[0].value) is type(returned(write).result.writes[0].value) or (
        isinstance(write.value, list)
    )


def test_what_json_cannot_say_is_refused_when_it_is_written() -> None:
    """Better than when it is needed."""
    with pytest.raises(UnstorableError, match=r"a write to 'any'\['a'\] cannot be stored"):
        event_to_json(SPEC, returned(Write("any", {"a": object()})))
    with pytest.raises(UnstorableError, match="handler that no tool and no key declares"):
        event_to_json(SPEC, returned(Write("text", "a", lambda old, new: new)))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"state": {"version": 1, "data": {"nothing": 1}}}, "'nothing' is not a key"),
        ({"state": {"version": 1, "data": {"text": 3}}}, "state key 'text' holds str"),
        ({"state": {"text": {"value": 3}}}, "a stored state is a dict with 'version'"),
        ({"state": []}, "must be an object, got list @ data.state"),
        ({"turn": "1"}, "must be int, got str"),
        ({"unheard": 1}, "nothing is called"),
    ],
)
def test_a_run_that_does_not_fit_is_refused(change: dict[str, object], text: str) -> None:
    """Each time with what is wrong."""
    data = run_to_json(SPEC, START) | change

    with pytest.raises(StoredDataError, match=text):
        run_from_json(SPEC, data)


@pytest.mark.parametrize(
    "writes",
    [
        *(3, [3], [{"value": 1}], [{"key": "text", "value": "a", "more": 1}]),
        [{"key": "text", "value": "a", "handler": "os.system"}],
    ],
)
def test_writes_that_do_not_fit_are_refused(writes: object) -> None:
    """A handler is found by a name that the agent knows, or not at all."""
    data = event_to_json(SPEC, returned())
    data["result"]["writes"] = writes

    with pytest.raises(StoredDataError):
        event_from_json(SPEC, data)


def test_a_run_says_how_far_it_is() -> None:
    """For lists of runs, and to notice that another agent gives another run."""
    assert status_of(START) == status_of(ACTING) == "running"
    assert status_of(step(SPEC, ACTING, CancelRequested("enough"))) == "cancelled"
    assert status_of(step(SPEC, START, ModelFailed(1, 1, ModelFailure("bug", "")))) == "failed"
    assert progress_mark(ACTING) == "1 Acting 1 Ready Ready"


def test_instructions_do_not_count_for_how_far_a_run_is() -> None:
    """Those of today may be others, or none; also where nobody has said anything yet."""
    instructions = ChatMessage.from_system("Be brief.")
    only = start(SPEC, [instructions], run_id="r1")
    behind = start(SPEC, [instructions, ChatMessage.from_user("Hello")], run_id="r1")

    assert progress_mark(only) == "1 Thinking 0"
    assert progress_mark(behind) == "1 Thinking 1"


def test_a_run_waits_while_nothing_but_a_human_is_waited_for() -> None:
    """What has its answer does not count."""
    assert isinstance(ACTING.phase, Acting)
    reply, (first, second) = ACTING.phase.reply, ACTING.slots
    asked, settled = move(first, AwaitingDecision("d")), move(second, Refused("no"))

    def status_with(*slots: Slot) -> str:
        return status_of(evolve(ACTING, phase=Acting(reply, slots)))

    assert status_with(asked, settled) == status_with(settled, asked) == "waiting"
    assert status_with(asked, second) == status_with(second, asked) == "running"
    assert status_with(settled, settled) == "running"


def test_the_text_of_an_event_says_what_its_json_says() -> None:
    """But for its kind, which is the entry's."""
    told = event_to_json(SPEC, returned(*WRITES))

    data = json.loads(json.dumps(data_of(returned(*WRITES), ToolReturned, SPEC)))
    assert data | {"$type": "ToolReturned"} == told


def test_an_event_is_read_as_what_its_entry_says_that_it_is() -> None:
    """A kind that there is not is refused as in data that says its kind."""
    event = returned(*WRITES)
    data = json.loads(json.dumps(data_of(event, ToolReturned, SPEC)))

    assert event_of_kind(SPEC, "ToolReturned", data) == event
    with pytest.raises(StoredDataError, match=r"must have '\$type', one of .*, got 'Nothing'"):
        event_of_kind(SPEC, "Nothing", data)


def test_of_calls_that_are_settled_at_once_those_that_failed_have_a_reason() -> None:
    """By their places; what is refused to several in the same words is said once."""
    calls = [ToolCall("note", id=f"c{place}") for place in range(3)]
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=calls))
    statuses: tuple[Status, ...] = (Refused("no"), Succeeded(ToolResult("yes")), Refused("no"))
    slots = [Slot(CallRef(1, n), calls[n], status) for n, status in enumerate(statuses)]
    run = Run("r", State({}), phase=Acting(reply, tuple(slots)))

    assert reply_faults(ModelReplied(1, 1, reply), run) == [{"text": "no", "places": [0, 2]}]
