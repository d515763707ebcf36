"""Each invariant holds for a good trace, and can fail: something in the trace is made wrong."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from detent import NEVER_RAN, ChatMessage, Confirmed, Limits, Retries, State, Tool, ToolCall
from detent.adapters.testing.simulation import (
    approval_invariants,
    call_invariants,
    company_invariants,
    invariants,
)
from detent.adapters.testing.simulation.company_invariants import INVARIANTS_IN_COMPANY
from detent.adapters.testing.simulation.invariants import INVARIANTS as ALONE
from detent.adapters.testing.simulation.nested_runs import Invariant
from detent.adapters.testing.simulation.trace import (
    Broke,
    Folded,
    Happening,
    Offered,
    Opened,
    Performed,
    Rested,
    Ruled,
    Said,
    Wrote,
)
from detent.approvals import Allow, Ask
from detent.core.machine.delegation import wrap_event
from detent.core.run.events import ToolNeverRan
from detent.core.run.run import (
    AwaitingDecision,
    AwaitingPolicy,
    Faulted,
    Ready,
    Running,
    Slot,
    Succeeded,
    with_labels,
)
from detent.core.tools.tool import by_name
from detent.journals import Entry
from detent.machine import (
    Acting,
    AgentRef,
    AgentSpec,
    AskHuman,
    CallRef,
    ClockTicked,
    Done,
    Event,
    Finished,
    FrozenDict,
    HumanDecided,
    Judge,
    Judged,
    MessageReceived,
    ModelReplied,
    Resumed,
    Run,
    RunTool,
    Thinking,
    ToolFault,
    ToolRaised,
    ToolReturned,
    ToolStarted,
    Write,
    due,
    result_of,
    start,
    step,
)
from detent.models import ChatReply, Usage
from detent.ports.listing import Listing

INVARIANTS = tuple(dict.fromkeys((*ALONE, *INVARIANTS_IN_COMPANY)))
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}}
OUT: dict[str, dict[str, object]] = {"log": {}}
LOOK = Tool("look", "looks", NUMBER, print, outputs_to_state=OUT, retries=Retries(1, backoff_s=0))
PAY = Tool("pay", "pays", NUMBER, print, outputs_to_state=OUT)
SPEC = AgentSpec(
    state=State({"log": {"type": list[str]}}),
    tools=by_name([LOOK, PAY]),
    policies=FrozenDict({"pay": lambda call, tool, run: Ask()}),
    limits=Limits(3, 2),
)
LOOKED, PAID = CallRef(1, 0), CallRef(1, 1)
CALLS = [ToolCall("look", {"n": 1}, "a"), ToolCall("pay", {"n": 2}, "b")]
START = start(SPEC, [ChatMessage.from_user("go")], run_id="run")
SAID = ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=CALLS), "tool_calls"))
TEXT = ModelReplied(2, 1, ChatReply(ChatMessage.from_assistant("done")))


def entry(position: int, kind: str, ref: CallRef | None = None, attempt: int = 1) -> Entry:
    """An entry, as far as invariants read it."""
    data = {} if ref is None else {"ref": list(ref), "attempt": attempt}
    return Entry(position, 1.0, kind, "running", data)


def returned(ref: CallRef, text: str, attempt: int = 1) -> ToolReturned:
    """A tool gave a text."""
    return ToolReturned(ref, attempt, result_of(LOOK, text))


def effect_of(run: Run[Any], kind: type[Any], ref: CallRef) -> Any:
    """The effect that is owed to a call."""
    owed: list[Any] = [effect for effect in due(SPEC, run) if isinstance(effect, kind)]
    return next(effect for effect in owed if effect.ref == ref)


class Scenario:
    """A trace in the making, of a run of `SPEC`."""

    def __init__(self) -> None:
        self.run: Run[Any] = START
        self.trace: list[Happening] = [Opened(1, (), START, START), Wrote((entry(0, "Started"),))]
        self.entries = [entry(0, "Started")]

    def hear(self, event: Event) -> None:
        """The run hears of something, which is stored first."""
        after = step(SPEC, self.run, event)
        if after is not self.run:
            ref = event.ref if isinstance(event, ToolStarted) else None
            new = entry(len(self.entries), type(event).__name__, ref)
            self.entries.append(new)
            self.trace.append(Wrote((new,)))
        self.trace.append(Folded(1, self.run, event, after))
        self.run = after

    def perform(self, ref: CallRef, came: ToolReturned | ToolRaised) -> None:
        """A tool runs, and the run hears of it."""
        self.hear(ToolStarted(ref, came.attempt))
        self.trace.append(Performed(1, effect_of(self.run, RunTool, ref), came))
        self.hear(came)

    def rest(self) -> list[Happening]:
        """Nothing more happens."""
        self.trace.append(Rested(self.run, due(SPEC, self.run), tuple(self.entries)))
        return self.trace


def good() -> list[Happening]:
    """A run in which all is well: a look, which fails once, and a payment that is approved."""
    scenario = Scenario()
    scenario.hear(SAID)
    scenario.hear(Judged(PAID, Ask()))
    scenario.perform(LOOKED, ToolRaised(LOOKED, 1, ToolFault("raised", "no", retryable=True)))
    scenario.entries.append(entry(len(scenario.entries), "ToolStarted", LOOKED, 2))
    scenario.trace.append(Wrote((scenario.entries[-1],)))
    scenario.perform(LOOKED, returned(LOOKED, "seen", 2))
    asked = effect_of(scenario.run, AskHuman, PAID)
    scenario.trace.append(Said(asked, Confirmed()))
    scenario.hear(HumanDecided(PAID, asked.digest, Confirmed()))
    scenario.perform(PAID, returned(PAID, "paid"))
    scenario.hear(TEXT)
    return scenario.rest()


def faults(invariant: Invariant, trace: list[Happening]) -> list[str]:
    """What an invariant has to say."""
    return list(invariant(SPEC, trace))


def acting(*slots: Slot) -> Run[Any]:
    """A run whose first turn stands so."""
    return evolve(START, phase=Acting(SAID.reply, slots))


def slot(ref: CallRef, status: Any) -> Slot:
    """The slot of one of the calls."""
    return Slot(ref, CALLS[ref.place], status)


TICK = ClockTicked(1.0)


def change(before: Run[Any], after: Run[Any], event: Event = TICK) -> Folded:
    """A change that the core would not make."""
    return Folded(1, before, event, after)


TOLD = step(SPEC, START, MessageReceived(ChatMessage.from_user("more")))
SEEN = Succeeded(result_of(LOOK, "seen"))
RAN = Performed(1, effect_of(step(SPEC, START, SAID), RunTool, LOOKED), returned(LOOKED, "seen"))
LOOKABLE = evolve(
    RAN,
    effect=evolve(RAN.effect, tool=evolve(LOOK, on_unknown=lambda arguments, key: NEVER_RAN)),
)
QUESTION = step(SPEC, step(SPEC, START, SAID), Judged(PAID, Ask()))
APPROVED = step(
    SPEC,
    QUESTION,
    HumanDecided(PAID, effect_of(QUESTION, AskHuman, PAID).digest, Confirmed()),
)
PAYS = Performed(1, effect_of(APPROVED, RunTool, PAID), returned(PAID, "paid"))
FAILED = Faulted(ToolFault("raised", "no"))
OTHER = evolve(START, turn=2)

ASKED_AFTER = AwaitingDecision("d", attempt=2, after="p")
OFFERED = Offered(1, RAN.effect, RAN.came, acting(slot(LOOKED, ASKED_AFTER)))
USED = ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant("ok"), usage=Usage(10)))
AT = AgentRef(1, 0, "ask")

BAD: dict[str, list[Happening]] = {
    "nothing_breaks": [Broke(ValueError("oh"))],
    "a_settled_call_stays_settled": [
        change(acting(slot(LOOKED, SEEN)), acting(slot(LOOKED, FAILED))),
    ],
    "an_answer_belongs_to_its_call": [
        RAN,
        change(
            acting(slot(LOOKED, Running())),
            acting(slot(LOOKED, SEEN)),
            returned(LOOKED, "something else"),
        ),
    ],
    "each_reply_is_counted_once": [
        change(START, evolve(START, usage=Usage(20)), wrap_event((AT,), USED)),
    ],
    "settled_work_is_not_repeated": [
        change(acting(slot(LOOKED, Running())), acting(slot(LOOKED, SEEN))),
        RAN,
    ],
    "begun_work_is_not_repeated_unasked": [RAN, RAN],
    "what_a_crash_cuts_off_waits_for_a_human": [
        change(acting(slot(PAID, Running())), acting(slot(PAID, Ready(2))), Resumed("p")),
        change(acting(slot(PAID, Ready(2))), acting(slot(PAID, Running(2))), ToolStarted(PAID, 2)),
    ],
    "no_call_ends_one_process_after_the_other": [
        *(
            [change(acting(slot(LOOKED, Running())), acting(slot(LOOKED, Ready())), Resumed("p"))]
            * 3
        ),
        change(
            acting(slot(LOOKED, Ready())), acting(slot(LOOKED, Running())), ToolStarted(LOOKED, 1)
        ),
    ],
    "what_can_be_looked_up_is_not_repeated": [LOOKABLE, RAN, LOOKABLE],
    "an_intent_is_stored_first": [RAN],
    "each_call_has_a_key_of_its_own": [
        RAN,
        evolve(RAN, effect=evolve(RAN.effect, ref=PAID)),
    ],
    "nothing_guarded_runs_unapproved": [change(START, QUESTION), PAYS],
    "a_policy_is_heeded": [
        change(START, acting(slot(PAID, Ready())), SAID),
    ],
    "limits_hold": [change(START, evolve(START, phase=Thinking(4)))],
    "what_is_spent_is_spent": [change(evolve(START, turn=3), evolve(START, turn=4))],
    "a_conversation_is_valid": [
        change(START, evolve(START, state=START.state.update([Write("messages", CALLS[:0])]))),
        change(
            START,
            evolve(START, state=START.state.update([Write("messages", [SAID.reply.message])])),
        ),
    ],
    "what_is_said_is_read_once": [change(TOLD, evolve(TOLD, unread=()), TICK)],
    "a_settled_answer_is_told": [change(acting(slot(LOOKED, SEEN)), OTHER)],
    "writes_are_folded_in_call_order": [change(acting(slot(LOOKED, SEEN)), OTHER)],
    "a_replay_is_the_run": [Opened(2, (), START, OTHER)],
    "what_is_safe_is_never_lost": [
        Wrote((entry(0, "Started"), entry(1, "ModelReplied"))),
        Opened(2, (entry(0, "Started"),), START, START),
    ],
    "an_end_has_its_reason": [change(START, evolve(START, phase=Done(Finished("text"))))],
    "who_waits_asks_somebody": [
        Wrote((evolve(entry(0, "Judged"), status="waiting", listing=Listing(pending=("pay",))),)),
        Wrote((evolve(entry(1, "Resumed"), status="waiting", listing=Listing()),)),
    ],
    "a_run_ends_or_waits": [Rested(START, due(SPEC, START), ())],
    "what_is_answered_is_not_repeated": [
        change(acting(slot(LOOKED, Running())), acting(slot(LOOKED, SEEN))),
        RAN,
    ],
    "no_outcome_is_lost": [OFFERED],
    "nobody_is_asked_what_is_known": [OFFERED, Rested(OFFERED.run, (), ())],
    "no_tool_begins_for_a_lost_driver": [
        evolve(change(START, OTHER, Resumed("p")), process=2),
        RAN,
    ],
}


@pytest.mark.parametrize("invariant", INVARIANTS, ids=lambda one: one.__name__)
def test_an_invariant_holds_where_all_is_well(invariant: Invariant) -> None:
    """A good trace has no fault."""
    assert faults(invariant, good()) == []


@pytest.mark.parametrize("invariant", INVARIANTS, ids=lambda one: one.__name__)
def test_an_invariant_can_fail(invariant: Invariant) -> None:
    """It says so where something is wrong."""
    assert len(faults(invariant, BAD[invariant.__name__])) == 1


def other_trace(name: str, *trace: Happening) -> Any:
    """A further trace that an invariant finds fault with."""
    invariant = next(one for one in INVARIANTS if one.__name__ == name)
    return pytest.param(invariant, list(trace), id=f"{name}-{len(trace)}")


HEARD = change(START, QUESTION)
WAITS = Wrote((evolve(entry(1, "X"), status="waiting", listing=Listing(pending=("pay",))),))
TAKEN_UP = change(QUESTION, evolve(QUESTION, turn=2), Resumed("p"))
RETURNED = returned(LOOKED, "a page")


LATER = acting(slot(LOOKED, SEEN), slot(PAID, AwaitingPolicy()))


@pytest.mark.parametrize(
    ("invariant", "trace"),
    [
        other_trace("no_outcome_is_lost", evolve(OFFERED, run=acting(slot(LOOKED, Running())))),
        other_trace("limits_hold", change(START, acting(*[slot(LOOKED, Running())] * 3))),
        other_trace(
            "what_is_said_is_read_once",
            change(START, START, TICK),
            change(TOLD, step(SPEC, TOLD, Resumed("p")), TICK),
        ),
        other_trace("what_is_said_is_read_once", change(TOLD, evolve(TOLD, phase=Thinking(2)))),
        other_trace(
            "what_is_spent_is_spent",
            change(evolve(START, deadline=0.5), evolve(START, phase=Thinking(2))),
        ),
        other_trace(
            "limits_hold",
            *[change(acting(slot(LOOKED, Running())), acting(slot(LOOKED, Ready(2))))] * 2,
        ),
        other_trace(
            "a_policy_is_heeded",
            change(LATER, QUESTION),
            change(LATER, QUESTION, Judged(PAID, Ask())),
        ),
        other_trace(
            "a_policy_is_heeded",
            change(LATER, QUESTION, Judged(PAID, Allow())),
        ),
        other_trace(
            "what_is_safe_is_never_lost",
            Wrote((entry(0, "Started"), entry(1, "ModelReplied"))),
            Wrote((entry(1, "ModelFailed"),)),
            Opened(2, (entry(0, "Started"), entry(1, "ModelReplied")), START, START),
        ),
        other_trace(
            "a_replay_is_the_run",
            Opened(1, (), START, START),
            Wrote((entry(0, "Started"), entry(1, "ModelReplied"))),
            HEARD,
            Opened(2, (entry(0, "Started"), entry(1, "ModelReplied")), START, START),
        ),
        other_trace("who_waits_asks_somebody", HEARD, WAITS, TAKEN_UP),
        other_trace(
            "who_waits_asks_somebody",
            Opened(1, (), START, START),
            HEARD,
            WAITS,
            change(QUESTION, with_labels(QUESTION, ("web",)), RETURNED),
        ),
        other_trace(
            "who_waits_asks_somebody",
            Opened(2, WAITS.entries, QUESTION, QUESTION),
            Folded(2, QUESTION, Resumed("p"), QUESTION),
        ),
        other_trace(
            "nothing_guarded_runs_unapproved",
            HEARD,
            Said(effect_of(QUESTION, AskHuman, PAID), Confirmed()),
            change(QUESTION, acting(slot(PAID, AwaitingDecision("another")))),
            PAYS,
        ),
    ],
)
def test_an_invariant_fails_in_other_ways(invariant: Invariant, trace: list[Happening]) -> None:
    """Each part of what it promises is looked at."""
    assert len(faults(invariant, trace)) == 1


def test_who_waits_may_be_asked_what_was_judged_anew() -> None:
    """By a policy of the process that goes on with the run, or by what it has said before."""
    invariant = approval_invariants.who_waits_asks_somebody
    judged = change(QUESTION, evolve(QUESTION, turn=1), Judged(PAID, Ask()))
    going_on = Wrote((evolve(entry(1, "Resumed"), status="running"),))

    assert not faults(invariant, [HEARD, going_on, TAKEN_UP, WAITS, judged])
    ruled = Ruled(effect_of(acting(slot(PAID, AwaitingPolicy())), Judge, PAID), Ask())
    assert not faults(invariant, [HEARD, going_on, TAKEN_UP, ruled, WAITS, change(QUESTION, START)])
    ticked = change(QUESTION, evolve(QUESTION, turn=1))
    assert faults(invariant, [HEARD, going_on, TAKEN_UP, WAITS, ticked])


def test_what_a_human_changes_is_what_may_run() -> None:
    """An approval is for the arguments that the human has seen, or has given."""
    asked = effect_of(QUESTION, AskHuman, PAID)
    seen = Said(evolve(asked, call=evolve(asked.call, arguments={"n": 99})), Confirmed())

    assert faults(approval_invariants.nothing_guarded_runs_unapproved, [HEARD, seen, PAYS])
    assert not faults(
        approval_invariants.nothing_guarded_runs_unapproved, [HEARD, Said(asked, Confirmed()), PAYS]
    )


def test_what_can_be_looked_up_may_be_tried_again_after_a_failure() -> None:
    """A retry is asked for; that it is the next attempt is not enough."""
    invariant = call_invariants.what_can_be_looked_up_is_not_repeated
    running, ready = (acting(slot(LOOKED, one)) for one in (Running(), Ready(2)))

    assert not faults(invariant, [LOOKABLE, change(running, ready), LOOKABLE])
    assert faults(invariant, [LOOKABLE, change(running, ready, Resumed("p2")), LOOKABLE])
    assert faults(invariant, [LOOKABLE, change(ready, ready), LOOKABLE])
    assert not faults(invariant, [LOOKABLE, Opened(2, (), ready, ready), LOOKABLE])
    assert faults(invariant, [LOOKABLE, Opened(2, (), running, running), LOOKABLE])


def test_a_yes_from_before_a_crash_is_none_after_it() -> None:
    """The question is put anew, though it may look the same."""
    asked = effect_of(QUESTION, AskHuman, PAID)
    running = acting(slot(PAID, Running()))
    trace: list[Happening] = [HEARD, Said(asked, Confirmed()), PAYS]
    trace += [change(running, QUESTION), PAYS]

    assert len(faults(approval_invariants.nothing_guarded_runs_unapproved, trace)) == 1


def test_who_does_not_know_has_nothing_to_tell() -> None:
    """A lookup that has failed says nothing of the call; nor does an attempt of another one."""
    lost = company_invariants.no_outcome_is_lost
    unknown = ToolRaised(LOOKED, 1, ToolFault("unknown_outcome", "nobody answers"))

    assert not faults(lost, [evolve(OFFERED, came=unknown)])
    assert not faults(lost, [evolve(OFFERED, run=acting(slot(LOOKED, Running(2))))])


def test_a_tool_that_may_run_again_has_begun_when_its_call_is_answered() -> None:
    """By a driver that had lost the run; without company that cannot be."""
    settled = BAD["what_is_answered_is_not_repeated"][0]
    again = evolve(RAN, effect=evolve(RAN.effect, tool=evolve(LOOK, on_unknown="rerun")))

    assert not faults(company_invariants.what_is_answered_is_not_repeated, [settled, again])
    assert faults(call_invariants.settled_work_is_not_repeated, [settled, again])


def test_an_attempt_that_never_ran_leaves_what_was_said_before() -> None:
    """The question that a crash has left goes away, and with it nothing that a human has said."""
    asked = effect_of(QUESTION, AskHuman, PAID)
    running, begun = acting(slot(PAID, Running())), acting(slot(PAID, Ready(2)))
    crash = acting(slot(PAID, AwaitingDecision("d2", attempt=2, after="p2")))
    trace: list[Happening] = [HEARD, Said(asked, Confirmed()), change(running, crash)]
    again = evolve(PAYS, effect=evolve(PAYS.effect, attempt=2))

    invariant = approval_invariants.nothing_guarded_runs_unapproved
    assert faults(invariant, [*trace, change(crash, begun), again])
    assert not faults(invariant, [*trace, change(crash, begun, ToolNeverRan(PAID, 1)), again])


def test_a_run_may_wait_for_a_human() -> None:
    """A run that is owed nothing but decisions rests."""
    waiting = acting(slot(LOOKED, SEEN), QUESTION.slots[1])

    assert not faults(invariants.a_run_ends_or_waits, [Rested(waiting, due(SPEC, waiting), ())])
