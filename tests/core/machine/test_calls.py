"""Time-outs and retries are policy of the core: time enters by events, and waiting is an effect."""

from __future__ import annotations

from itertools import chain, permutations

import pytest
from attrs import evolve

from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.chat.replies import ChatReply
from detent.core.machine.due import due
from detent.core.machine.questions import remember
from detent.core.machine.step import replay, start, step
from detent.core.run.approval import Confirmed
from detent.core.run.attempts import held_by
from detent.core.run.effects import Effect, RunTool, WaitUntil
from detent.core.run.events import (
    ClockTicked,
    Event,
    HumanDecided,
    ModelReplied,
    ToolRaised,
    ToolReturned,
    ToolStarted,
)
from detent.core.run.limits import Limits
from detent.core.run.refs import CallRef
from detent.core.run.run import (
    AwaitingDecision,
    BackingOff,
    Faulted,
    Ready,
    Run,
    Running,
    Slot,
    Status,
    Thinking,
)
from detent.core.run.spec import AgentSpec
from detent.core.state.state import State
from detent.core.tools.result import ToolFault, ToolResult
from detent.core.tools.retries import Retries
from detent.core.tools.tool import Tool, by_name
from detent.core.values.frozen import FrozenDict
from tests.core import asking

NOBODY = {"type": "object", "properties": {}}
PLAIN = Tool("plain", "", NOBODY, print)
TIMED = evolve(PLAIN, name="timed", timeout_s=10)
STUBBORN = evolve(PLAIN, name="stubborn", timeout_s=10, retries=Retries(2, backoff_s=4))
HASTY = evolve(PLAIN, name="hasty", retries=Retries(1, backoff_s=0))
SPEC = AgentSpec(state=State({}), tools=by_name([PLAIN, TIMED, STUBBORN, HASTY]))
FAULT = ToolFault("raised", "boom", retryable=True)
FIRST = CallRef(1, 0)


def calling(*names: str) -> Run[State]:
    """A run whose model has just called these tools."""
    calls = [ToolCall(name, id=f"c{place}") for place, name in enumerate(names)]
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=calls))
    begun = start(SPEC, [ChatMessage.from_user("go")], run_id="r")
    return step(SPEC, begun, ModelReplied(1, 1, reply))


def started(name: str, at: float = 100) -> Run[State]:
    return step(SPEC, calling(name), ToolStarted(FIRST, 1, at))


def answer(run: Run[State]) -> str:
    """What the model was told last."""
    (result,) = run.messages[-1].tool_call_results
    return result.text


def owed(run: Run[State]) -> list[Effect]:
    return [effect for effect in due(SPEC, run) if isinstance(effect, RunTool | WaitUntil)]


def test_a_tool_without_a_limit_needs_no_clock() -> None:
    """Nothing but its result is waited for."""
    run = step(SPEC, calling("plain"), ToolStarted(FIRST, 1))
    assert run.slots[0].status == Running(1)
    assert [type(effect) for effect in owed(run)] == [RunTool]


def test_a_limit_starts_with_the_tool() -> None:
    """The run is then owed to be told when it has passed."""
    run = started("timed")
    assert run.slots[0].status == Running(1, 110)
    tool, wait = owed(run)
    assert isinstance(tool, RunTool)
    assert wait == WaitUntil(FIRST, 1, "deadline", 110)


def test_too_late_is_a_fault() -> None:
    """The model is told, and what the tool gives later is not heard."""
    run = step(SPEC, started("timed"), ClockTicked(110))
    assert answer(run) == "Tool 'timed' gave no answer within 10 s"
    assert isinstance(run.phase, Thinking)
    assert step(SPEC, run, ToolReturned(FIRST, 1, ToolResult("late"))) == run


def test_too_late_is_a_fault_of_its_own_kind() -> None:
    """By which a program can tell it from others."""
    run = step(SPEC, calling("timed", "plain"), ToolStarted(FIRST, 1, at=100))
    status = step(SPEC, run, ClockTicked(110)).slots[0].status
    assert isinstance(status, Faulted)
    assert status.fault.kind == "timeout"


def test_in_time_is_in_time() -> None:
    """A clock that ticks too early changes nothing, nor does one that ticks too late."""
    run = started("timed")
    assert step(SPEC, run, ClockTicked(109.9)) is run
    done = step(SPEC, run, ToolReturned(FIRST, 1, ToolResult("fine")))
    assert answer(done) == "fine"
    assert step(SPEC, done, ClockTicked(111)) is done


def test_a_failed_attempt_is_followed_by_a_pause_and_another() -> None:
    """The pause doubles; chance makes it shorter."""
    run = step(SPEC, started("stubborn"), ToolRaised(FIRST, 1, FAULT, 101))
    assert run.slots[0].status == BackingOff(2, 105)
    assert owed(run) == [WaitUntil(FIRST, 2, "pause", 105)]

    run = step(SPEC, run, ClockTicked(105))
    assert run.slots[0].status == Ready(2)
    run = replay(SPEC, run, [ToolStarted(FIRST, 2, 105), ToolRaised(FIRST, 2, FAULT, 106, 0.5)])
    assert run.slots[0].status == BackingOff(3, 112)


def test_the_last_attempt_counts() -> None:
    """When there are no more, its fault is what the model is told."""
    run = started("stubborn")
    for attempt, at in ((1, 101), (2, 121)):
        run = step(SPEC, run, ToolRaised(FIRST, attempt, FAULT, at))
        run = replay(SPEC, run, [ClockTicked(at + 8), ToolStarted(FIRST, attempt + 1, at + 8)])
    run = step(SPEC, run, ToolRaised(FIRST, 3, ToolFault("raised", "last", retryable=True), 140))
    assert answer(run) == "last"


def test_a_time_out_is_tried_again() -> None:
    """It is what retries are for."""
    run = step(SPEC, started("stubborn"), ClockTicked(110))
    assert run.slots[0].status == BackingOff(2, 114)
    late = step(SPEC, run, ToolReturned(FIRST, 1, ToolResult("late")))
    assert late == run


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("hasty", ToolRaised(FIRST, 1, FAULT, 100)),
        ("stubborn", ToolRaised(FIRST, 1, FAULT)),
    ],
    ids=["no pause", "no clock"],
)
def test_without_a_pause_or_a_clock_the_next_attempt_is_at_once(name: str, event: Event) -> None:
    """A driver that knows no time can still try again."""
    assert step(SPEC, calling(name), event).slots[0].status == Ready(2)


def test_what_is_no_use_to_try_again_is_not() -> None:
    """Bad arguments stay bad."""
    fault = ToolFault("invalid_arguments", "bad")
    run = step(SPEC, started("stubborn"), ToolRaised(FIRST, 1, fault, 101))
    assert answer(run) == "bad"


def test_one_tick_serves_all_calls() -> None:
    """Each is looked at by its own time."""
    names = ("timed", "plain", "stubborn")
    run = replay(
        SPEC,
        calling(*names),
        [ToolStarted(CallRef(1, place), 1, 100 + place) for place in range(3)],
    )
    run = step(SPEC, run, ClockTicked(110))
    assert [type(slot.status).__name__ for slot in run.slots] == ["Faulted", "Running", "Running"]
    run = step(SPEC, run, ClockTicked(200))
    assert run.slots[2].status == BackingOff(2, 204)


def test_every_effect_has_a_key_of_its_own() -> None:
    """A deadline and the pause before the same attempt are two effects."""
    deadline = WaitUntil(FIRST, 2, "deadline", 1)
    pause = WaitUntil(FIRST, 2, "pause", 1)
    keys = {effect.key for effect in (*owed(started("timed")), deadline, pause)}
    assert len(keys) == 4


def test_a_call_at_rest_leaves_its_place_to_others() -> None:
    """The limit on tools at once counts those that run."""
    spec = evolve(SPEC, limits=Limits(parallel_tool_calls=1))
    run = replay(spec, calling("stubborn", "plain"), [ToolStarted(FIRST, 1, 100)])
    assert due(spec, run)[0].key.place == 0
    run = step(spec, run, ToolRaised(FIRST, 1, FAULT, 101))
    (tool,) = [effect for effect in due(spec, run) if isinstance(effect, RunTool)]
    assert tool.ref.place == 1


def test_faults_and_results_in_any_order_give_the_same_run() -> None:
    """Attempts and siblings may overtake each other."""
    events: list[list[Event]] = [
        [ToolRaised(CallRef(1, 0), 1, FAULT, 101), ClockTicked(105)],
        [ToolReturned(CallRef(1, 1), 1, ToolResult("one"))],
        [ToolRaised(CallRef(1, 2), 1, ToolFault("raised", "no"))],
    ]
    last = ToolReturned(CallRef(1, 0), 2, ToolResult("two"))
    begun = calling("stubborn", "plain", "plain")
    ends = [
        replay(SPEC, begun, [*chain.from_iterable(order), last]) for order in permutations(events)
    ]
    assert all(end == ends[0] for end in ends)
    answers = [one.text for message in ends[0].messages for one in message.tool_call_results]
    assert answers == ["two", "one", "no"]


def test_a_grant_says_who_gave_it_and_when() -> None:
    """As the decision does that it was given with."""
    spec = asking.spec_of()
    run = asking.waiting(spec, {"to": "Ann", "amount": 5})
    event = HumanDecided(FIRST, "", Confirmed("tool"), by="Ann", at=7)

    told = remember(spec, run, run.slots[0], event)

    assert [(one.ref, one.by, one.at) for one in told.decisions] == [(FIRST, "Ann", 7)]
    assert [(one.ref, one.by, one.at) for one in told.grants] == [(FIRST, "Ann", 7)]


TAKES = FrozenDict({"amount": 80.0, "calls of pay": 1.0})


@pytest.mark.parametrize(
    ("status", "was_begun", "back"),
    [
        (AwaitingDecision("d"), False, TAKES),
        (AwaitingDecision("d"), True, {"amount": 80.0}),
        (Ready(1), False, None),
        (Running(1), False, None),
    ],
)
def test_what_a_run_that_ends_gives_back_is_what_waits_for_a_human(
    status: Status, *, was_begun: bool, back: object
) -> None:
    """Not what may have begun: of that, no attempt is undone, nor that it is one call."""
    call = ToolCall("plain", {}, "c")
    slot = Slot(FIRST, call, status, spends=TAKES, was_begun=was_begun)

    assert [*held_by([slot])] == ([] if back is None else [back])
