"""Opening a run behind another, and a turn: what cannot run is answered at once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from detent import ChatMessage, OutputType, State, StateError, Tool, ToolCall
from detent.approvals import Allow
from detent.core.machine.opening import open_slots, with_call_ids
from detent.core.run.run import (
    NO_OPTIONS,
    AnswerAccepted,
    AnswerInvalid,
    AwaitingPolicy,
    Faulted,
    Ready,
)
from detent.core.state.keys import Write
from detent.core.state.state import initial_writes
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentSpec,
    CallRef,
    FrozenDict,
    ModelReplied,
    Run,
    RunOptions,
    start,
    step,
)
from detent.models import ChatReply, Usage

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
SPEC = AgentSpec(
    State({}),
    by_name([Tool(name, "", NUMBER, print) for name in ("note", "pay")]),
    policies=FrozenDict({"pay": lambda call, tool, run: Allow()}),
)


def opened(call: ToolCall, options: RunOptions = NO_OPTIONS) -> object:
    """The status of a call that has just been made."""
    run = start(SPEC, [], run_id="r", options=options)
    (slot,) = open_slots(SPEC, run, [call])
    assert slot.ref == CallRef(1, 0)
    return slot.status


def ended(spec: AgentSpec[State], *said: ChatMessage, notes: Sequence[str] = ()) -> Run[State]:
    """A run that was told something, has answered, and has ended."""
    run = start(spec, said, run_id="r", state=initial_writes({"notes": list(notes)}))
    return step(spec, run, ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant("so"))))


prompts = st.none() | st.sampled_from(["P", "Q"])


@given(
    before=prompts,
    now=prompts,
    is_same_schema=st.booleans(),
    said=st.lists(st.sampled_from("xyP"), max_size=2),
)
def test_a_run_goes_on_where_another_has_ended(
    *, before: str | None, now: str | None, is_same_schema: bool, said: list[str]
) -> None:
    """All that was said and left, what is said now, and one prompt: that of the new run."""
    keys = {"notes": {"type": list[str]}}
    old = AgentSpec(State(keys), FrozenDict(), system_prompt=before)
    new = AgentSpec(old.state if is_same_schema else State(keys), FrozenDict(), system_prompt=now)
    first = ended(old, ChatMessage.from_user("hello"), notes=["a"])
    messages = [
        ChatMessage.from_system(one) if one == "P" else ChatMessage.from_user(one) for one in said
    ]

    run = start(new, messages, run_id="s", state=[Write("notes", ["b"])], after=first)

    prompt = now or before
    assert [one.text for one in run.messages] == [
        *([prompt] if prompt else []),
        *("hello", "so"),
        *[one for one in said if one != now],
    ]
    assert run.state.read("notes") == ["a", "b"]
    assert (run.turn, run.usage, run.outcome) == (1, Usage(), None)
    assert len(first.messages) == 2 + bool(before)


def test_only_a_run_that_has_ended_is_gone_on_with() -> None:
    """And only with a state that fits."""
    spec = AgentSpec(State({"notes": {"type": list[str]}}), FrozenDict())
    with pytest.raises(ValueError, match="run 'r' has not ended"):
        start(spec, [], run_id="s", after=start(spec, [], run_id="r"))
    with pytest.raises(StateError, match="notes"):
        start(SPEC, [], run_id="s", after=ended(spec, notes=["a"]))


def test_a_call_that_nobody_guards_is_ready() -> None:
    """Nobody is asked anything."""
    assert opened(ToolCall("note", {"n": 1})) == Ready()


def test_a_guarded_call_waits_for_its_policy() -> None:
    """Which is asked by a driver, not here."""
    assert opened(ToolCall("pay", {"n": 1})) == AwaitingPolicy()


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (ToolCall("refund", {"n": 1}), "unknown_tool"),
        (ToolCall("pay", {"n": "all"}), "invalid_arguments"),
    ],
)
def test_no_policy_sees_what_cannot_run(call: ToolCall, kind: str) -> None:
    """The model is told."""
    status = opened(call)

    assert isinstance(status, Faulted)
    assert status.fault.kind == kind


def test_a_tool_that_was_not_chosen_is_unknown() -> None:
    """Also a guarded one."""
    status = opened(ToolCall("pay", {"n": 1}), RunOptions(("note",)))

    assert isinstance(status, Faulted)
    assert "Available tools: note" in status.fault.message


def test_the_model_is_told_what_it_has_called_and_what_there_is() -> None:
    """In words that it can act on."""
    for call, told in (
        (ToolCall("refund"), "Tool 'refund' not found. Available tools: note, pay"),
        (ToolCall("pay"), "Tool 'pay' was not run: 'n' is missing"),
    ):
        (slot,) = open_slots(SPEC, start(SPEC, [], run_id="r"), [call])
        assert slot.call == call
        assert isinstance(slot.status, Faulted)
        assert slot.status.fault.message == told


def test_an_answer_by_the_tool_for_it_is_held_against_its_type() -> None:
    """It is accepted, or the model is told why not."""
    spec = evolve(SPEC, output=OutputType(int))
    run = start(spec, [], run_id="r")
    unreadable = ToolCall("final_answer", unreadable="{")
    calls = [ToolCall("final_answer", {"value": n}) for n in (3, "x")]

    good, bad, worse = (slot.status for slot in open_slots(spec, run, [*calls, unreadable]))

    assert good == AnswerAccepted()
    assert isinstance(bad, AnswerInvalid)
    assert bad.text.startswith("This answer cannot be used: 'value' must be an integer")
    assert worse == AnswerInvalid("The arguments are not a JSON object: {")


def test_each_call_of_a_turn_gets_an_id_of_its_own() -> None:
    """Those that have one keep it; no new one is used already."""
    calls = [ToolCall("note", id=name) for name in (None, "a", "a", "call_2_0", None)]
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=calls))

    named, found = with_call_ids(reply, 2)

    assert [call.id for call in found] == ["call_2_1", "a", "call_2_2", "call_2_0", "call_2_4"]
    assert named.message.tool_calls == tuple(found)
