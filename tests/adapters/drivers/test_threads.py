"""The blocking driver: whose thread does what, and what becomes of work that is in the air."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from queue import SimpleQueue
from threading import current_thread
from typing import Any

import pytest

from detent import ChatMessage, Confirmed, State, Tool, ToolCall
from detent.approvals import Ask
from detent.core.run.run import AwaitingDecision, Succeeded
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentSpec,
    AskHuman,
    AskModel,
    Cancelled,
    CancelRequested,
    Done,
    Effect,
    Event,
    Finished,
    FrozenDict,
    HumanDecided,
    Judge,
    Judged,
    ModelReplied,
    RunTool,
    Session,
    Thinking,
    ToolResult,
    ToolReturned,
    drive,
    start,
)
from detent.models import ChatReply

PATIENCE = 10
"""Seconds after which something that should have happened has not."""

EMPTY = {"type": "object"}
SPEC = AgentSpec(
    State({}),
    by_name([Tool("note", "", EMPTY, print), Tool("pay", "", EMPTY, print)]),
    policies=FrozenDict({"pay": lambda call, tool, run: Ask()}),
)
DONE = Done(Finished("text"))


def session(run_id: str = "r") -> Session[State]:
    return Session(SPEC, start(SPEC, [ChatMessage.from_user("hello")], run_id=run_id))


def replied(effect: AskModel, *calls: str) -> ModelReplied:
    """Calls of tools, or a text when there are none."""
    made = [ToolCall(name, {}, str(place)) for place, name in enumerate(calls)]
    message = ChatMessage.from_assistant(None if calls else "hi", tool_calls=made)
    return ModelReplied(effect.turn, 1, ChatReply(message))


def payer(
    *calls: str,
    tool: Callable[[RunTool], object] = lambda effect: None,
    human: Callable[[AskHuman], object] = lambda effect: None,
) -> Callable[[Effect], Event | None]:
    """Pays with `calls` in the first turn and a text in the next; tools return, humans confirm."""

    def pay(effect: Effect) -> Event:
        match effect:
            case AskModel():
                return replied(effect, *(calls if effect.turn == 1 else ()))
            case Judge():
                return Judged(effect.ref, Ask())
            case RunTool():
                tool(effect)
                return ToolReturned(effect.ref, 1, ToolResult("done"))
            case AskHuman():
                human(effect)
                return HumanDecided(effect.ref, effect.digest, Confirmed())
            case _:
                raise AssertionError(effect)

    return pay


def test_what_is_alone_is_done_in_the_callers_thread() -> None:
    """A model call and a single tool need no other."""
    threads: list[threading.Thread] = []
    pay = payer("note", tool=lambda effect: threads.append(current_thread()))

    assert drive(session(), pay).phase == DONE
    assert threads == [current_thread()]


def test_humans_are_asked_in_the_callers_thread_one_by_one_while_tools_go_on() -> None:
    """In the model's order. The first question ends only when the other call's tool has begun."""
    begun = threading.Event()
    questions: list[tuple[int, threading.Thread]] = []

    def ask(effect: AskHuman) -> None:
        assert begun.wait(PATIENCE)
        questions.append((effect.ref.place, current_thread()))

    def run(effect: RunTool) -> None:
        if effect.ref.place == 1:
            begun.set()

    assert drive(session(), payer("pay", "note", "pay", tool=run, human=ask)).phase == DONE
    assert questions == [(0, current_thread()), (2, current_thread())]


def test_an_approved_call_runs_while_the_next_question_is_asked() -> None:
    """Nobody waits for a human who is asked about something else."""
    ran = threading.Event()

    def ask(effect: AskHuman) -> None:
        assert effect.ref.place == 0 or ran.wait(PATIENCE)

    assert (
        drive(session(), payer("pay", "pay", tool=lambda effect: ran.set(), human=ask)).phase
        == DONE
    )


def test_threads_see_the_callers_context() -> None:
    """A tracer's current span, for one, is there in every tool."""
    span = ContextVar("span", default="none")
    seen: list[str] = []
    span.set("mine")

    drive(session(), payer("note", "note", tool=lambda effect: seen.append(span.get())))

    assert seen == ["mine", "mine"]


def test_a_cancellation_does_not_wait_for_what_cannot_be_stopped() -> None:
    """The driver returns while the tool is still at work, and what comes of it is not heard."""
    inbox: SimpleQueue[Any] = SimpleQueue()
    release, landed = threading.Event(), threading.Event()

    def run(effect: RunTool) -> None:
        inbox.put(CancelRequested("enough"))
        assert release.wait(PATIENCE)
        landed.set()

    mine = session()
    run_then = drive(mine, payer("note", tool=run), inbox=inbox)

    assert run_then.phase == Done(Cancelled("enough"))
    assert not landed.is_set()
    release.set()
    assert landed.wait(PATIENCE)
    assert mine.run == run_then


def test_events_that_are_there_already_are_heard_first() -> None:
    """A run that is cancelled before it begins asks no model."""
    inbox: SimpleQueue[Any] = SimpleQueue()
    inbox.put(CancelRequested("never mind"))
    asked: list[Effect] = []

    assert drive(session(), asked.append, inbox=inbox).phase == Done(Cancelled("never mind"))
    assert asked == []


def test_a_decision_that_came_while_nobody_drove_is_heard() -> None:
    """The run waits for a human; driven again, it finds the answer and asks nobody."""
    inbox: SimpleQueue[Any] = SimpleQueue()
    mine = session()
    asked: list[int] = []

    def pay(effect: Effect) -> Event | None:
        if not isinstance(effect, AskHuman):
            return payer("pay")(effect)
        asked.append(effect.ref.place)
        return None

    (slot,) = drive(mine, pay, inbox=inbox).slots
    assert isinstance(slot.status, AwaitingDecision)

    inbox.put(HumanDecided(slot.ref, slot.status.digest, Confirmed()))

    assert drive(mine, pay, inbox=inbox).phase == DONE
    assert asked == [0]


def test_what_another_run_left_in_the_inbox_is_not_taken_for_ours() -> None:
    """A tool of a cancelled run lands late, in an inbox that the next run uses too."""
    released, late = threading.Event(), threading.Event()

    class Announced(SimpleQueue[Any]):
        """Says when the tool of the first run lands."""

        def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:  # noqa: FBT001, FBT002 - the queue's own signature
            super().put(item)
            if released.is_set():
                late.set()

    inbox = Announced()

    def linger(effect: RunTool) -> None:
        inbox.put(CancelRequested("enough"))
        assert released.wait(PATIENCE)

    def pay(effect: Effect) -> Event | None:
        if not isinstance(effect, RunTool):
            return payer("note")(effect)
        released.set()
        assert late.wait(PATIENCE)
        return ToolReturned(effect.ref, 1, ToolResult("ours"))

    drive(session("first"), payer("note", tool=linger), inbox=inbox)
    run = drive(session("second"), pay, inbox=inbox)

    results = [result.text for message in run.messages for result in message.tool_call_results]
    assert results == ["ours"]


def test_an_exception_is_raised_when_nothing_is_under_way_any_more() -> None:
    """The sibling's result is kept, no thread is left behind, and no second question is asked."""
    hung_up = threading.Event()
    questions: list[int] = []

    def ask(effect: AskHuman) -> None:
        questions.append(effect.ref.place)
        hung_up.set()
        raise EOFError

    def run(effect: RunTool) -> None:
        assert hung_up.wait(PATIENCE)

    mine = session()
    with pytest.raises(EOFError):
        drive(mine, payer("pay", "note", "pay", tool=run, human=ask))

    assert questions == [0]
    assert [type(slot.status) for slot in mine.run.slots] == [
        AwaitingDecision,
        Succeeded,
        AwaitingDecision,
    ]


@pytest.mark.parametrize("stop", [EOFError, KeyboardInterrupt])
def test_a_session_can_be_driven_on_after_an_exception(stop: type[BaseException]) -> None:
    """Ctrl-C at a question leaves the call pending: it is asked again, and nothing is run twice."""
    ran: list[int] = []

    def give_up(effect: AskHuman) -> None:
        raise stop

    mine = session()
    with pytest.raises(stop):
        drive(mine, payer("note", "pay", tool=lambda e: ran.append(e.ref.place), human=give_up))

    run = drive(mine, payer("note", "pay", tool=lambda e: ran.append(e.ref.place)))

    assert run.phase == DONE
    assert ran == [0, 1]


def test_what_a_thread_raises_is_raised_here() -> None:
    """Whatever it is; the other call has its result."""

    def run(effect: RunTool) -> None:
        if effect.ref.place == 0:
            raise SystemExit(3)

    mine = session()
    with pytest.raises(SystemExit):
        drive(mine, payer("note", "note", tool=run))

    assert isinstance(mine.run.slots[1].status, Succeeded)


def test_what_nobody_can_pay_is_left() -> None:
    """The run comes back as it is, and the same session can go on with somebody who can."""
    mine = session()

    assert drive(mine, lambda effect: None).phase == Thinking()
    assert drive(mine, payer()).phase == DONE
