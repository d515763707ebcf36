"""Checkpoints: each says what is new, together they say the run, and damage is found out."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from detent import ChatMessage, State, StoredDataError, ToolCall
from detent.core.codec.json_text import encode
from detent.core.codec.own_values import load
from detent.core.run.run import Acting, Slot, Succeeded
from detent.core.state.handlers import replace_values
from detent.core.state.state import lists_in
from detent.core.storage.checkpoints import (
    NO_CHECKPOINT,
    Known,
    checkpoint_data,
    join_chain,
)
from detent.core.storage.journal import FORMAT, start_data
from detent.core.storage.snapshot import passing_snapshot, run_of
from detent.machine import AgentSpec, CallRef, Run, ToolResult, Write, start
from detent.models import ChatReply

SPEC = AgentSpec(State({"seen": {"type": list[int]}, "note": {"type": str}}))
START = start(SPEC, [ChatMessage.from_user("hello")], run_id="r")


def as_stored(data: dict[str, Any]) -> dict[str, Any]:
    """As it comes back from a store."""
    return cast("dict[str, Any]", json.loads(json.dumps(data)))


def grown(run: Run[State], *writes: Write) -> Run[State]:
    """The run some turns later."""
    return Run(run.id, run.state.update(writes), turn=run.turn + 1)


def said(text: str) -> Write:
    return Write("messages", [ChatMessage.from_assistant(text)])


RUNS = [START]
for turn in range(5):
    RUNS.append(grown(RUNS[-1], said(f"turn {turn}"), Write("seen", [turn])))
RUNS.append(grown(RUNS[-1], Write("seen", [7], replace_values), Write("note", "replaced")))
RUNS.append(grown(RUNS[-1], Write("seen", [8])))


def chain(runs: list[Run[State]]) -> list[tuple[int, dict[str, Any]]]:
    """The checkpoints of a run as it was at these times, ten entries apart."""
    found: list[tuple[int, dict[str, Any]]] = []
    known = NO_CHECKPOINT
    for number, run in enumerate(runs, 1):
        found.append((10 * number, as_stored(checkpoint_data(SPEC, run, known)[0])))
        known = Known(10 * number, lists_in(run.state))
    return found


CHAIN = chain(RUNS)


@pytest.mark.parametrize("length", range(1, len(RUNS) + 1))
def test_checkpoints_say_the_run_at_each_of_them(length: int) -> None:
    """Also where a list was replaced and not grown."""
    found = join_chain(CHAIN[:length])

    assert found is not None
    position, data = found
    assert position == 10 * length
    assert run_of(SPEC, passing_snapshot(data)) == RUNS[length - 1]


def test_a_checkpoint_has_only_what_is_new() -> None:
    """So that all of them together are as large as the run."""
    _, third = CHAIN[2]

    assert third["run"]["state"]["data"]["seen"] == [1]
    assert len(third["run"]["state"]["data"]["messages"]) == 1
    assert third["shared"] == {"messages": 2, "seen": 1}


def test_it_says_how_much_of_it_comes_again() -> None:
    """All but the items of its lists."""
    known = Known(10, lists_in(RUNS[2].state))
    long = grown(RUNS[2], said("x" * 9000), Write("note", "y" * 500))

    data, rest = checkpoint_data(SPEC, long, known)
    _, short = checkpoint_data(SPEC, grown(RUNS[2], said("x")), known)

    assert 9000 + rest < len(encode(data)) < 9200 + rest
    assert 500 <= rest - short < 550


def test_a_text_that_looks_like_a_state_is_left_alone() -> None:
    """Where the state stands in a snapshot is found without a doubt."""
    odd = Run('"state":{"version":2,"data":{}}', START.state)

    data, _ = checkpoint_data(SPEC, odd, NO_CHECKPOINT)

    assert run_of(SPEC, passing_snapshot(as_stored(data))) == odd


@pytest.mark.parametrize("missing", range(len(CHAIN)))
def test_what_builds_on_a_missing_checkpoint_is_left_out(missing: int) -> None:
    """The ones before it still say the run, and one that was made without it goes on."""
    found = join_chain(CHAIN[:missing] + CHAIN[missing + 1 :])
    known = Known(10 * missing, lists_in(RUNS[missing - 1].state)) if missing else NO_CHECKPOINT
    later = (99, as_stored(checkpoint_data(SPEC, RUNS[-1], known)[0]))
    again = join_chain([*CHAIN[:missing], *CHAIN[missing + 1 :], later])

    assert (found is None) == (missing == 0)
    assert found is None or found[0] == 10 * missing
    assert again is not None
    assert run_of(SPEC, passing_snapshot(again[1])) == RUNS[-1]


def test_without_checkpoints_there_is_none() -> None:
    """The run is read from its start."""
    assert join_chain([]) is None


@pytest.mark.parametrize(
    "change",
    [
        {"run": 3},
        {"run": {"state": {"data": 3}}},
        {"shared": []},
        {"shared": {"seen": 9}},
        {"shared": {"seen": "1"}},
        {"format": FORMAT + 1},
    ],
)
def test_a_damaged_checkpoint_is_refused(change: dict[str, object]) -> None:
    """In place of a run that never was."""
    (first, one), (second, two) = CHAIN[:2]
    with pytest.raises(StoredDataError, match=r"a checkpoint is damaged: |format"):
        join_chain([(first, one), (second, two | change)])


@given(
    st.dictionaries(
        st.sampled_from(["run", "shared", "format", "after", "detent", "agent"]),
        st.none() | st.integers() | st.lists(st.integers()) | st.just(CHAIN[0][1]["run"]),
    )
)
def test_any_data_gives_a_typed_error_or_a_run(change: dict[str, Any]) -> None:
    """Stored data is not to be trusted."""
    try:
        found = join_chain([CHAIN[0], (20, CHAIN[1][1] | change)])
        if found is not None:
            run_of(SPEC, passing_snapshot(found[1]))
    except StoredDataError:
        pass


def test_a_run_that_is_under_way_starts_a_journal_with_its_writes() -> None:
    """Whose handlers go by the names that the agent has for them."""
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=[ToolCall("look", id="a")]))
    result = ToolResult("x", (Write("seen", [1], replace_values),))
    slot = Slot(CallRef(1, 0), ToolCall("look", id="a"), Succeeded(result))
    run = evolve(START, phase=Acting(reply, (slot,)))

    stored = load(as_stored(start_data(SPEC, run))["run"], Run, SPEC)

    assert stored.slots[0].status == Succeeded(result)


def test_the_start_of_a_run_is_a_snapshot() -> None:
    """It is the first thing that a journal keeps of it."""
    assert run_of(SPEC, passing_snapshot(as_stored(start_data(SPEC, START)))) == START
