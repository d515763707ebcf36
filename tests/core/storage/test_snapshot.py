"""Snapshots: what they say, what they are refused for, and that they are only data."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from detent import ChatMessage, State, Tool, ToolCall, ToolExecutionDecision
from detent.adapters.confirmation.stopped_calls import get_tool_calls_and_descriptions_from_snapshot
from detent.approvals import Ask, pending
from detent.core.codec.own_values import dump
from detent.core.errors import StoredDataError
from detent.core.machine.recovery import rebind
from detent.core.run.effects import EffectKey
from detent.core.run.run import (
    Acting,
    AwaitingDecision,
    AwaitingPolicy,
    BackingOff,
    Ready,
    Running,
    Status,
    Succeeded,
    Unknown,
)
from detent.core.storage.snapshot import (
    AgentSnapshot,
    SnapshotMismatchError,
    run_of,
    snapshot_from,
    snapshot_of,
)
from detent.core.tools.result import ToolResult
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentSpec,
    CallRef,
    FrozenDict,
    Judge,
    Judged,
    ModelReplied,
    due,
    replay,
    start,
    step,
)
from detent.models import ChatReply

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}}
NOTE, PAY = Tool("note", "Notes.", NUMBER, print), Tool("pay", "Pays.", NUMBER, print)
SPEC = AgentSpec(State({"seen": {"type": int}}, {"seen": 1}), by_name([NOTE, PAY]))
CALLS = [ToolCall("note", {"n": 1}, "a"), ToolCall("pay", {"n": 2}, "b")]
RUN = step(
    SPEC,
    start(SPEC, [ChatMessage.from_user("hello")], run_id="r"),
    ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=CALLS))),
)
RULE = {"component_name": "tool_invoker", "visit_count": 0, "tool_name": "pay", "agent_name": "me"}
SNAPSHOT = snapshot_of(SPEC, RUN, due(SPEC, RUN), RULE)


def test_a_snapshot_comes_back_as_object_dict_and_text() -> None:
    """And the run in it is the run."""
    for given_ in (SNAPSHOT, SNAPSHOT.to_dict(), SNAPSHOT.to_json(), SNAPSHOT.to_json().encode()):
        again = snapshot_from(given_)
        assert again == SNAPSHOT
        assert run_of(SPEC, again) == RUN
    assert SNAPSHOT.held == (EffectKey("tool", 1, 0, 0), EffectKey("tool", 1, 1, 0))


def test_going_on_with_a_snapshot_does_not_change_it() -> None:
    """Its dict is a copy, and so is what is read from one."""
    data = SNAPSHOT.to_dict()
    text = json.dumps(data)
    run_of(SPEC, snapshot_from(data))
    assert json.dumps(data) == text

    data["run"]["turn"] = 9
    assert SNAPSHOT.to_json() == json.dumps(json.loads(text), ensure_ascii=False)


def test_decisions_are_added_to_a_snapshot() -> None:
    """To those that it has, and to a copy."""
    first, second = (
        ToolExecutionDecision(name, execute=True, tool_call_id=id_)
        for name, id_ in (("note", "a"), ("pay", "b"))
    )
    decided = SNAPSHOT.with_decisions([first]).with_decisions([second])

    assert decided.decisions == (first, second)
    assert SNAPSHOT.decisions == ()
    assert snapshot_from(decided.to_json()) == decided


def test_a_snapshot_can_be_read_by_people() -> None:
    """What has stopped, before what, and how far each call is."""
    assert SNAPSHOT.summary() == (
        "run r: turn 1, 1 messages\n"
        "stopped before: run note({'n': 1}), run pay({'n': 2})\n"
        '  note({"n": 1}): ready to run\n'
        '  pay({"n": 2}): ready to run'
    )


def test_a_snapshot_says_what_the_components_are_given() -> None:
    """As attributes, under the names that users know."""
    assert SNAPSHOT.component_visits == {"chat_generator": 1, "tool_invoker": 0}
    asked, called = SNAPSHOT.component_inputs.values()
    assert asked["messages"] == [dump(message) for message in RUN.messages]
    assert called["messages"] == [dump(ChatMessage.from_assistant(tool_calls=CALLS))]
    assert called["state"] == SNAPSHOT.to_dict()["run"]["state"]["data"]
    assert SNAPSHOT.messages == tuple(RUN.messages)
    assert SNAPSHOT.state["messages"] == asked["messages"]
    assert SNAPSHOT.timestamp is None


def test_a_snapshot_before_the_model_has_no_reply() -> None:
    """Nobody has been asked yet."""
    begun = start(SPEC, [], run_id="r")
    snapshot = snapshot_of(SPEC, begun, due(SPEC, begun), at=86400.5)

    assert snapshot.component_visits == {"chat_generator": 0, "tool_invoker": 0}
    assert snapshot.component_inputs["tool_invoker"]["messages"] == []
    assert snapshot.timestamp == "1970-01-02T00:00:00.500000+00:00"
    assert snapshot_from(snapshot.to_json()) == snapshot


def test_the_calls_to_show_to_a_human() -> None:
    """Those that the breakpoint names, or all."""
    calls, texts = get_tool_calls_and_descriptions_from_snapshot(SNAPSHOT)
    assert calls == [{"tool_name": "pay", "arguments": {"n": 2}, "id": "b"}]
    assert texts == {"pay": "Pays."}

    calls, texts = get_tool_calls_and_descriptions_from_snapshot(
        SNAPSHOT, breakpoint_tool_only=False
    )
    assert [call["id"] for call in calls] == ["a", "b"]
    assert texts == {"note": "Notes.", "pay": "Pays."}


def test_an_agent_that_lacks_something_is_told_what() -> None:
    """All reasons at once."""
    other = AgentSpec(State({}), by_name([Tool("pay", "", {"type": "object"}, print)]))

    with pytest.raises(SnapshotMismatchError) as caught:
        run_of(other, SNAPSHOT)

    assert caught.value.faults == (
        "it needs the tool 'note'; this agent has pay",
        "a call of 'pay' is open, and the tool's parameters have changed since",
        "its state has the key 'seen': int; this agent has messages",
    )


def test_keys_that_an_agent_lacks_are_named_together() -> None:
    """What it has itself is said but once."""
    kinds = {"seen": {"type": int}, "found": {"type": str}}
    both = run_of(AgentSpec(State(kinds, {"seen": 1, "found": "x"}), SPEC.tools), SNAPSHOT)
    snapshot = snapshot_of(AgentSpec(both.state, SPEC.tools), both)

    with pytest.raises(SnapshotMismatchError) as caught:
        run_of(AgentSpec(State({}), SPEC.tools), snapshot)

    (fault,) = caught.value.faults
    assert fault.startswith("its state has the keys ")
    assert fault.count("this agent has messages") == 1


def test_a_key_of_another_type_matters_where_its_value_is_not_of_it() -> None:
    """An agent inside may have it, as any run that is stored."""
    wider = AgentSpec(State({"seen": {"type": int | str}}, {"seen": 1}), SPEC.tools)
    other = AgentSpec(State({"seen": {"type": str}}), SPEC.tools)

    assert run_of(wider, SNAPSHOT).state.get("seen") == 1
    with pytest.raises(SnapshotMismatchError) as caught:
        run_of(other, SNAPSHOT)

    assert caught.value.faults == ("its state has the key 'seen' as int; this agent has it as str",)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"detent": "else"}, "this is no snapshot"),
        ({"format": 99}, "stored in format 99, and this Detent reads format 1"),
        ({"run": {}}, "damaged: its run or its agent"),
        ({"agent": {"tools": {"pay": 3}, "state": {}}}, "damaged: its run or its agent"),
        ({"held": [["tool", 1]]}, "'held' has what is no place"),
        ({"held": 3}, "'held' must be an array"),
        ({"break_point": 3}, "'break_point' or 'about_to'"),
        ({"at": "now"}, "'at' is no time"),
        ({"at": 1e300}, "'at' is no time"),
        ({"fork_of": {"run_id": 3, "entries": 1}}, "'fork_of' names no run"),
        ({"fork_of": {"run_id": "r", "entries": 1, "more": 1}}, "'fork_of' names no run"),
    ],
)
def test_what_is_no_snapshot_is_refused(change: dict[str, object], text: str) -> None:
    """With what is wrong with it."""
    with pytest.raises(StoredDataError, match=text):
        AgentSnapshot.from_dict(SNAPSHOT.to_dict() | change)


def test_a_fork_keeps_of_what_it_is_one() -> None:
    """As JSON and back."""
    fork = evolve(SNAPSHOT, fork_of={"run_id": "r", "entries": 3})
    assert snapshot_from(fork.to_json()).fork_of == {"run_id": "r", "entries": 3}
    assert snapshot_from(SNAPSHOT.to_json()).fork_of == {}


def test_text_that_is_no_json_is_refused() -> None:
    """As are numbers, and nesting without end."""
    for text in ("{", "3", "[" * 100_000, b"\xff\xfe"):
        with pytest.raises(StoredDataError):
            snapshot_from(text)


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in nested data."""
    if not isinstance(data, dict | list):
        return [path]
    items = data.items() if isinstance(data, dict) else enumerate(data)
    return [path, *(place for key, one in items for place in places(one, (*path, key)))]


@given(
    st.sampled_from(places(SNAPSHOT.to_dict())[1:]),
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.sampled_from([[], {"$type": "x"}, 10**5000, [-(10**5000)], "\ud800"]),
)
def test_a_damaged_snapshot_gives_a_typed_error_or_a_run(place: Any, value: object) -> None:
    """Whatever stands at whichever place."""
    data: Any = SNAPSHOT.to_dict()
    inner = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    try:
        snapshot = AgentSnapshot.from_dict(data)
        snapshot.summary()
        snapshot.to_json()
        _ = (snapshot.component_visits, snapshot.component_inputs, snapshot.messages)
        get_tool_calls_and_descriptions_from_snapshot(snapshot)
        rebind(run_of(SPEC, snapshot), "another", "n")
    except StoredDataError:
        pass


@pytest.mark.parametrize(
    "place", [("format",), ("break_point", "x"), ("run", "cost"), ("run", "x")]
)
def test_a_number_that_no_text_can_hold_is_refused(place: tuple[str, ...]) -> None:
    """Wherever it stands: Python writes down 4,300 digits at most, and would say so only then."""
    data: Any = SNAPSHOT.to_dict()
    inner = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = 10**5000

    with pytest.raises(StoredDataError):
        AgentSnapshot.from_dict(data)


def test_a_question_that_no_digest_names_is_put_anew() -> None:
    """Half a character pair is no digest, and no decision fits it."""
    slots = (evolve(RUN.slots[0], status=AwaitingDecision("\ud800")), RUN.slots[1])
    assert isinstance(RUN.phase, Acting)
    snapshot = snapshot_of(SPEC, evolve(RUN, phase=Acting(RUN.phase.reply, slots)))

    copy = rebind(run_of(SPEC, snapshot), "another", "n")

    assert pending(SPEC, copy) == ()
    assert [one.call for one in due(SPEC, copy) if isinstance(one, Judge)] == [slots[0].call]


def test_a_snapshot_names_the_breakpoint_that_has_stopped_it() -> None:
    """As its JSON says it; nothing where it is a function of one's own."""
    effects = due(SPEC, RUN)

    assert snapshot_of(SPEC, RUN, effects, RULE).break_point == RULE
    assert snapshot_of(SPEC, RUN, effects).break_point == {}


def test_a_snapshot_that_nothing_holds_has_nothing_before_it() -> None:
    """A run that waits for a human stops by itself, and shows the call that it waits for."""
    ask = evolve(SPEC, policies=FrozenDict(pay=lambda call, tool, run: Ask("it costs money")))
    waiting = replay(
        ask,
        start(ask, [ChatMessage.from_user("hello")], run_id="r"),
        [
            ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=CALLS))),
            Judged(CallRef(1, 1), Ask("it costs money")),
        ],
    )
    snapshot = snapshot_of(ask, waiting)

    assert snapshot.summary().splitlines()[1:] == [
        '  note({"n": 1}): ready to run',
        '  pay({"n": 2}): waits for a human (it costs money)',
    ]
    calls, _ = get_tool_calls_and_descriptions_from_snapshot(snapshot)
    assert [call["tool_name"] for call in calls] == ["pay"]


def test_a_snapshot_that_is_nested_too_deeply_is_refused() -> None:
    """It comes from outside."""
    data = SNAPSHOT.to_dict()
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    data["run"]["options"] = {"generation_kwargs": deep}
    with pytest.raises(StoredDataError, match="nested too deeply"):
        AgentSnapshot.from_dict(data)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (AwaitingPolicy(), "waits for its policy"),
        (AwaitingDecision("d", "it costs money"), "waits for a human (it costs money)"),
        (Ready(), "ready to run"),
        (Running(1), "running"),
        (BackingOff(2, 9.0), "waits for its next attempt"),
        (Succeeded(ToolResult("done")), "succeeded"),
        (Unknown(1), "unknown"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_people_are_told_how_far_a_call_is(status: Status, told: str) -> None:
    """In words."""
    assert isinstance(RUN.phase, Acting)
    slots = (evolve(RUN.slots[0], status=status), RUN.slots[1])
    run = evolve(RUN, phase=Acting(RUN.phase.reply, slots))

    assert snapshot_of(SPEC, run).summary().splitlines()[1] == f'  note({{"n": 1}}): {told}'


def test_the_text_of_a_snapshot_can_be_read_in_every_script() -> None:
    """Characters are not spelled as numbers."""
    run = start(SPEC, [ChatMessage.from_user("Grüße, 世界")], run_id="r")

    assert "Grüße, 世界" in snapshot_of(SPEC, run).to_json()
