"""Opening a turn: a call that cannot run is answered at once, whoever guards its tool."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from attrs import evolve

from detent import ChatMessage, Limits, OutputType, State, Tool, ToolCall
from detent.approvals import Allow
from detent.core.machine.opening import fault_kind, open_slots, with_call_ids
from detent.core.machine.turns import failed_at_once
from detent.core.run.run import (
    NO_OPTIONS,
    AnswerAccepted,
    AnswerInvalid,
    AwaitingPolicy,
    Faulted,
    Ready,
)
from detent.core.run.run import evolve as evolve_run
from detent.core.tools.tool import by_name
from detent.machine import AgentSpec, CallRef, FrozenDict, ModelReplied, RunOptions, start, step
from detent.models import ChatReply

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
SPEC = AgentSpec(
    State({}),
    by_name([Tool(name, "", NUMBER, print) for name in ("note", "pay")]),
    policies=FrozenDict({"pay": lambda call, tool, run: Allow()}),
)


def opened(call: ToolCall, options: RunOptions = NO_OPTIONS) -> object:
    """The status of a call that has just been made."""
    run = start(SPEC, [], run_id="r", options=options)
    (slot,), _ = open_slots(SPEC, run, [call])
    assert slot.ref == CallRef(1, 0)
    return slot.status


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
        (slot,), _ = open_slots(SPEC, start(SPEC, [], run_id="r"), [call])
        assert slot.call == call
        assert isinstance(slot.status, Faulted)
        assert slot.status.fault.message == told


def test_an_answer_by_the_tool_for_it_is_held_against_its_type() -> None:
    """It is accepted, or the model is told why not."""
    spec = evolve(SPEC, output=OutputType(int))
    run = start(spec, [], run_id="r")
    unreadable = ToolCall("final_answer", unreadable="{")
    calls = [ToolCall("final_answer", {"value": n}) for n in (3, "x")]

    slots, _ = open_slots(spec, run, [*calls, unreadable])
    good, bad, worse = (slot.status for slot in slots)

    assert good == AnswerAccepted()
    assert isinstance(bad, AnswerInvalid)
    assert bad.text.startswith("This answer cannot be used: 'value' must be an integer")
    assert worse == AnswerInvalid("The arguments are not a JSON object: {")


def test_each_call_of_a_turn_gets_an_id_of_its_own() -> None:
    """Those that have one keep it; no new one is used already."""
    calls = [ToolCall("note", id=name) for name in (None, "a", "a", "call_2_0", None)]
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=calls))

    named, found = with_call_ids(reply, 2)

    assert [call.id for call in found] == ["call_2_5", "a", "call_2_2", "call_2_0", "call_2_4"]
    assert named.message.tool_calls == tuple(found)


def test_an_id_is_made_up_once_whatever_the_model_has_taken() -> None:
    """Where the model has the names that come next, too."""
    calls = [ToolCall("note", id=name) for name in ("call_2_4", "call_2_5", "call_2_4", "call_2_2")]
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=calls))

    _, found = with_call_ids(reply, 2)

    assert [call.id for call in found] == ["call_2_4", "call_2_5", "call_2_6", "call_2_2"]


def statuses(spec: AgentSpec[State], *calls: ToolCall, **fields: Any) -> list[object]:
    run = evolve_run(start(spec, [], run_id="r"), **fields)
    return [slot.status for slot in open_slots(spec, run, calls)[0]]


def messages(found: list[object]) -> list[str | None]:
    return [one.fault.message if isinstance(one, Faulted) else None for one in found]


NOTES = [ToolCall("note", {"n": n}) for n in range(3)]


def test_a_reply_with_too_many_calls_is_answered_as_a_whole() -> None:
    """None of it runs."""
    spec = evolve(SPEC, limits=Limits(max_calls_per_reply=2))

    assert all(messages(statuses(spec, *NOTES)))
    assert messages(statuses(spec, *NOTES[:2])) == [None, None]


def test_calls_beyond_those_of_a_run_are_answered() -> None:
    """Those before count, those of agents inside too."""
    spec = evolve(SPEC, limits=Limits(max_tool_calls=4))
    before = {"tool_call_counts": FrozenDict(pay=1), "calls_inside": FrozenDict(look=1)}

    found = messages(statuses(spec, *NOTES, **before))

    assert [text is None for text in found] == [True, True, False]
    assert "tools may be called 4 times" in str(found[2])


def test_calls_beyond_those_of_a_tool_are_answered() -> None:
    """Of that tool alone."""
    tools = by_name([Tool(name, "", NUMBER, print, max_calls=2) for name in ("note", "pay")])

    found = messages(statuses(evolve(SPEC, tools=tools), *NOTES, ToolCall("pay", {"n": 1})))

    assert [text is None for text in found] == [True, True, False, True]


def test_a_call_that_is_given_an_id_holds_the_very_arguments_that_it_held() -> None:
    """They are not sealed again."""
    calls = [ToolCall("pay", {"lines": [[1], [2]]}) for _ in range(2)]
    _, found = with_call_ids(ChatReply(ChatMessage.from_assistant(tool_calls=calls)), 2)
    assert [call.id for call in found] == ["call_2_0", "call_2_1"]
    assert all(new.arguments is old.arguments for new, old in zip(found, calls, strict=True))


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (["note"], ["invalid_arguments"]),
        (["gone", "note"], ["unknown_tool"]),
        (
            ["note", "rare", "rare", "note", "note", "note"],
            ["invalid_arguments", "over_limit", "over_limit"],
        ),
    ],
)
def test_what_the_model_is_told_says_why_a_call_was_not_run(
    names: list[str], kinds: list[str]
) -> None:
    """So that nobody checks it once more: with others that run, and where none does."""
    rare = Tool("rare", "", NUMBER, print, max_calls=1)
    limits = Limits(max_tool_calls=5)
    spec = evolve(SPEC, tools=by_name([*SPEC.tools.values(), rare]), limits=limits)
    run = start(spec, [], run_id="r")
    calls = [ToolCall(name, {"n": 1}, f"c{n}") for n, name in enumerate(names)]
    calls[0] = ToolCall(calls[0].tool_name, {"n": "all"}, "c0")
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=calls))

    after = step(spec, run, ModelReplied(1, 1, reply))

    told = [one for _, one in failed_at_once(reply, after)]
    assert [fault_kind(spec, run, one) for one in told] == kinds


def test_an_answer_without_calls_has_none_that_was_not_run() -> None:
    """Nor has a turn in which all run."""
    run = start(SPEC, [], run_id="r")
    for message in (
        ChatMessage.from_assistant("hi"),
        ChatMessage.from_assistant(tool_calls=[ToolCall("note", {"n": 1}, "c0")]),
    ):
        reply = ChatReply(message)
        assert not failed_at_once(reply, step(SPEC, run, ModelReplied(1, 1, reply)))


def test_what_is_wrong_with_a_call_is_looked_for_once() -> None:
    """It may take longer than all else."""
    asked: list[str] = []
    sys.setprofile(lambda frame, event, _: asked.append(f"{event} {frame.f_code.co_qualname}"))
    try:
        opened(ToolCall("note", {"n": "all"}))
    finally:
        sys.setprofile(None)

    assert asked.count("call Validator.faults") == 1
