"""Rebasing: what people may say to a run that others drive, and what comes behind it."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from detent import ChatMessage, Confirmed, Rejected, State, Tool, ToolCall, on_exit
from detent.approvals import Ask
from detent.core.control.rebase import is_from_others, rebase, still_heard
from detent.core.machine.delegation import ANSWER, PARAMETERS
from detent.core.run.events import AnswerRejected, ToolNeverRan
from detent.core.run.run import AwaitingDecision, Delegated, Ready, Running, with_slot
from detent.core.run.spec import Delegate
from detent.core.tools.tool import by_name
from detent.core.tools.version import hash_of
from detent.machine import (
    AgentSpec,
    CallRef,
    CancelRequested,
    Event,
    FrozenDict,
    GrantRevoked,
    HappenedInside,
    HumanDecided,
    Judged,
    ModelReplied,
    Resumed,
    Run,
    ToolFault,
    ToolRaised,
    ToolResult,
    ToolReturned,
    ToolStarted,
    replay,
    start,
    step,
)
from detent.models import ChatReply
from tests.core.asking import agent_tool, judged, spec_of, waiting

SPEC = AgentSpec(
    State({}),
    by_name([Tool(name, "", {"type": "object", "properties": {}}, print) for name in ("a", "b")]),
    policies=FrozenDict({"b": lambda call, tool, run: Ask("money")}),
)
START = start(SPEC, [ChatMessage.from_user("hello")], run_id="r")
A, B = CallRef(1, 0), CallRef(1, 1)
CALLS = [ToolCall("a", {}, "1"), ToolCall("b", {}, "2")]
CALLED = ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=CALLS)))
ANSWERED = ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant("hi")))
ASKED = replay(SPEC, START, [CALLED, ToolStarted(A, 1), Judged(B, Ask("money"))])
RETURNED = ToolReturned(A, 1, ToolResult("done"))
DIGEST: str = ASKED.slots[1].status.digest  # type: ignore[union-attr]  # it waits
REJECTED = HumanDecided(B, DIGEST, Rejected("no"))
CANCELLED = CancelRequested("enough")


@pytest.mark.parametrize(
    ("event", "is_theirs"),
    [
        (REJECTED, True),
        (GrantRevoked(B), True),
        (CANCELLED, True),
        (HappenedInside(A, "a", HappenedInside(B, "b", REJECTED)), True),
        (HappenedInside(A, "a", RETURNED), True),
        (RETURNED, True),
        (CALLED, False),
        (ToolStarted(A, 1), False),
        (Resumed("another"), False),
        (AnswerRejected(1, "more"), False),
    ],
)
def test_who_may_add_what_to_a_run_of_somebody_else(event: Event, is_theirs: bool) -> None:  # noqa: FBT001 - a case
    """In whichever agent it is; all else is a driver's."""
    assert is_from_others(event) is is_theirs


LOST = replay(SPEC, ASKED, [REJECTED, Resumed("another", 5.0)])
"""Somebody else has taken up the run while the call of `a` was at work."""


@pytest.mark.parametrize("came", [RETURNED, ToolRaised(A, 1, ToolFault("raised", "no"))])
def test_what_a_lost_driver_knows_is_heard_while_nobody_else_does(came: Event) -> None:
    """The human is no longer asked; what else it held is not its to say."""
    assert isinstance(LOST.slots[0].status, AwaitingDecision)

    ((event, after),) = still_heard(SPEC, LOST, [ToolStarted(B, 1), came, came])

    assert event == came
    assert after.turn == 2
    assert after == step(SPEC, LOST, came)


def test_what_the_run_has_moved_past_is_not_heard() -> None:
    """A human has decided that the call runs again, or the model has been told long ago."""
    slot = LOST.slots[0]
    assert isinstance(slot.status, AwaitingDecision)
    again = replay(SPEC, LOST, [HumanDecided(A, slot.status.digest, Confirmed(), at=6.0)])
    begun = step(SPEC, again, ToolStarted(A, 2))
    ended = step(SPEC, LOST, CANCELLED)

    for run in (again, begun, ended, START):
        assert still_heard(SPEC, run, [RETURNED]) == []
    # an attempt that nobody lost is none of its answers
    assert still_heard(SPEC, LOST, [ToolReturned(A, 2, ToolResult("done"))]) == []
    # who looked it up in vain knows no more than the human who is asked
    assert still_heard(SPEC, LOST, [ToolRaised(A, 1, ToolFault("unknown_outcome", "?"))]) == []
    assert still_heard(SPEC, ASKED, [ToolReturned(B, 0, ToolResult("done"))]) == []


def test_what_never_ran_is_said_while_nobody_else_has_begun_it() -> None:
    """A tool that may run again is begun by the next driver as the same attempt."""
    never = ToolNeverRan(A, 1)
    ((_, after),) = still_heard(SPEC, LOST, [never])
    assert isinstance(after.slots[0].status, Ready)
    assert after.slots[0].status.attempt == 2

    assert still_heard(SPEC, ASKED, [never]) == []
    waiting = replay(SPEC, START, [CALLED, Judged(B, Ask("money"))])
    assert still_heard(SPEC, waiting, [never]) == []  # it has not begun at all
    assert still_heard(SPEC, ASKED, [HappenedInside(A, "a", never)]) == []


def test_the_same_of_a_call_inside_an_agent() -> None:
    """However deep."""
    helper = Delegate("helper", "", PARAMETERS, lambda task, **_: {ANSWER: task}, agent=SPEC)
    outer = AgentSpec(State({}), by_name([helper]))
    asks = [ToolCall("helper", {"task": "go"}, "1")]
    replied = ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=asks)))
    begun = start(outer, [ChatMessage.from_user("hello")], run_id="r")
    begun = replay(outer, begun, [replied, ToolStarted(A, 1)])
    inside = [HappenedInside(A, "helper", one) for one in (CALLED, ToolStarted(A, 1))]
    at_work = replay(outer, begun, inside)
    never = HappenedInside(A, "helper", ToolNeverRan(A, 1))

    assert still_heard(outer, at_work, [never]) == []
    lost = step(outer, at_work, Resumed("another", 5.0))
    assert len(still_heard(outer, lost, [never])) == 1


def test_what_is_still_owed_counts() -> None:
    """Behind a decision about another call."""
    decided = replay(SPEC, ASKED, [REJECTED])

    folded = rebase(SPEC, decided, [RETURNED])

    after = replay(SPEC, ASKED, [REJECTED, RETURNED])
    assert folded == [(decided, RETURNED, after)]


def test_what_is_late_changes_nothing() -> None:
    """The run has ended; each event is told all the same."""
    ended = replay(SPEC, ASKED, [CANCELLED])

    assert rebase(SPEC, ended, [RETURNED, REJECTED]) == [
        (ended, RETURNED, ended),
        (ended, REJECTED, ended),
    ]


def hooks_that(text: str | None, asked: list[Run[Any]]) -> list[Any]:
    """A hook that keeps what it is asked about."""

    def spoken_about(run: Run[Any]) -> str | None:
        asked.append(run)
        return text

    return [on_exit(spoken_about)]


def test_hooks_are_asked_about_an_end() -> None:
    """Of which they may not have known: with the other words it is another."""
    asked: list[Run[Any]] = []

    (one, back) = rebase(SPEC, START, [ANSWERED], hooks_that("say more", asked))

    assert asked == [one[2]]
    assert one[1] is ANSWERED
    assert back[1] == AnswerRejected(1, "say more")
    assert back[2].outcome is None


def test_hooks_that_are_content_are_heard_as_well() -> None:
    """Then the run has ended."""
    asked: list[Run[Any]] = []

    ((_, _, after),) = rebase(SPEC, START, [ANSWERED], hooks_that(None, asked))

    assert asked == [after]


def test_hooks_are_not_asked_again_about_what_they_have_rejected() -> None:
    """What they have said stands behind it already."""
    asked: list[Run[Any]] = []
    back = AnswerRejected(1, "say more")

    folded = rebase(SPEC, START, [ANSWERED, back], hooks_that("say more", asked))

    assert [event for _, event, _ in folded] == [ANSWERED, back]
    assert folded[-1][2].outcome is None
    assert asked == []


def test_hooks_are_asked_about_an_end_that_people_have_made() -> None:
    """As if a driver had heard it from them."""
    asked: list[Run[Any]] = []
    ended = replay(SPEC, START, [ANSWERED])

    folded = rebase(SPEC, ended, [CANCELLED], hooks_that("say more", asked))

    assert asked == [ended]
    assert [event for _, event, _ in folded] == [AnswerRejected(1, "say more"), CANCELLED]
    assert folded[-1][2].outcome is not None


def granted() -> tuple[AgentSpec[State], Run[State]]:
    """Two calls of which a yes to the first has let the other one run as well."""
    spec = spec_of()
    run = waiting(spec, {"to": "Ann", "amount": 1}, {"to": "Bob", "amount": 2})
    yes = HumanDecided(A, run.slots[0].status.digest, Confirmed("tool"), "Ada")  # type: ignore[union-attr]  # it waits
    return spec, judged(spec, step(spec, run, yes))


def test_a_call_does_not_begin_by_what_was_revoked_before_that_was_recorded() -> None:
    """Its start comes behind the word, and is none; that of what has a yes of its own is one."""
    spec, run = granted()
    assert [type(slot.status) for slot in run.slots] == [Ready, Ready]
    starts = [ToolStarted(A, 1), ToolStarted(B, 1)]
    revoked = step(spec, run, GrantRevoked(A, "Ada"))

    assert [event for _, event, _ in rebase(spec, run, starts)] == starts
    folded = rebase(spec, revoked, starts)
    assert [event for _, event, _ in folded] == [ToolStarted(A, 1)]
    assert [type(slot.status) for slot in folded[-1][2].slots] == [Running, Ready]


def test_nor_does_one_of_an_agent_inside() -> None:
    """It is the same there; and of one that has ended, nothing begins."""
    inner, within = granted()
    desk = AgentSpec(State({}), by_name([agent_tool(inner)]))
    run = start(desk, [ChatMessage.from_user("go")], run_id="r")
    task = ChatMessage.from_assistant(tool_calls=[ToolCall("ask", {"task": "pay"}, "c")])
    run = step(desk, run, ModelReplied(1, 1, ChatReply(task)))
    run = step(desk, run, ToolStarted(A, 1))
    begun = HappenedInside(A, "ask", ToolStarted(B, 1))

    def at_work(inside: Run[Any]) -> Run[State]:
        return with_slot(run, evolve(run.slots[0], status=Delegated("ask", inside)))

    bound = hash_of(within.id, within.nonce)
    assert within.grants[0].binding.run == bound
    assert [event for _, event, _ in rebase(desk, at_work(within), [begun])] == [begun]
    revoked = step(inner, within, GrantRevoked(A, "Ada"))
    assert rebase(desk, at_work(revoked), [begun]) == []
    ended = step(desk, at_work(within), CANCELLED)
    assert [after for _, _, after in rebase(desk, ended, [begun])] == [ended]


def test_a_call_that_no_policy_has_judged_begins_if_none_guards_it() -> None:
    """What is not guarded needs nobody's word; what is guarded has none."""
    free = replay(SPEC, START, [CALLED])
    assert [event for _, event, _ in rebase(SPEC, free, [ToolStarted(A, 1)])] == [ToolStarted(A, 1)]
    bare = with_slot(free, evolve(free.slots[1], status=Ready()))
    assert rebase(SPEC, bare, [ToolStarted(B, 1)]) == []


def test_a_start_that_comes_twice_changes_nothing() -> None:
    """The call is at work already; whether it may begin is no question any more."""
    begun = replay(SPEC, START, [CALLED, ToolStarted(A, 1)])
    assert rebase(SPEC, begun, [ToolStarted(A, 1)]) == [(begun, ToolStarted(A, 1), begun)]
