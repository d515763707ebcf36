"""The asyncio driver: what runs as a task, and what becomes of tasks that nobody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import pytest

from detent import ChatMessage, Confirmed, State, Tool, ToolCall
from detent.adapters.drivers.asyncio import _begun  # pyright: ignore[reportPrivateUsage]  # a race that no test can time
from detent.approvals import Ask
from detent.core.run.run import AwaitingDecision, Running, Succeeded
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
    Run,
    RunTool,
    Session,
    Thinking,
    ToolResult,
    ToolReturned,
    ToolStarted,
    drive_async,
    start,
)
from detent.models import ChatReply

Pay: TypeAlias = Callable[[Effect], Coroutine[Any, Any, Event | None]]

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


def play(coroutine: Coroutine[Any, Any, object]) -> None:
    """Run it to its end, which is near."""
    asyncio.run(asyncio.wait_for(coroutine, 10))


async def at_once(effect: object) -> None:
    """Nothing to wait for."""


def payer(
    *calls: str,
    tool: Callable[[RunTool], Awaitable[object]] = at_once,
    human: Callable[[AskHuman], Awaitable[object]] = at_once,
) -> Pay:
    """Pays with `calls` in the first turn and a text in the next; tools return, humans confirm."""

    async def pay(effect: Effect) -> Event:
        match effect:
            case AskModel():
                return replied(effect, *(calls if effect.turn == 1 else ()))
            case Judge():
                return Judged(effect.ref, Ask())
            case RunTool():
                await tool(effect)
                return ToolReturned(effect.ref, 1, ToolResult("done"))
            case AskHuman():
                await human(effect)
                return HumanDecided(effect.ref, effect.digest, Confirmed())
            case _:
                raise AssertionError(effect)

    return pay


def test_what_is_owed_together_runs_together() -> None:
    """Each call and the question wait for the others to begin."""

    async def main() -> None:
        barrier = asyncio.Barrier(3)

        async def meet(effect: RunTool | AskHuman) -> None:
            if effect.ref.place < 2 or isinstance(effect, AskHuman):
                await barrier.wait()

        pay = payer("note", "note", "pay", tool=meet, human=meet)
        assert (await drive_async(session(), pay)).phase == DONE

    play(main())


def test_what_is_alone_needs_no_task() -> None:
    """A model call and a single tool are awaited by the caller's own task."""
    tasks: list[object] = []

    async def run(effect: RunTool) -> None:
        tasks.append(asyncio.current_task())

    async def main() -> None:
        await drive_async(session(), payer("note", tool=run))
        assert tasks == [asyncio.current_task()]

    play(main())


def test_a_cancellation_stops_the_work() -> None:
    """What is no longer owed is cancelled before the driver returns."""
    stopped: list[int] = []

    async def main() -> None:
        inbox: asyncio.Queue[Any] = asyncio.Queue()

        async def run(effect: RunTool) -> None:
            inbox.put_nowait(CancelRequested("enough"))
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append(effect.ref.place)

        run_then = await drive_async(session(), payer("note", "note", tool=run), inbox=inbox)
        assert run_then.phase == Done(Cancelled("enough"))

    play(main())
    assert sorted(stopped) == [0, 1]


def test_a_question_that_was_answered_elsewhere_is_withdrawn() -> None:
    """The decision comes by the inbox; the prompt is cancelled while the run goes on."""
    withdrawn: list[str] = []

    async def main() -> None:
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        gone = asyncio.Event()

        async def ask(effect: AskHuman) -> None:
            inbox.put_nowait(HumanDecided(effect.ref, effect.digest, Confirmed()))
            try:
                await asyncio.Event().wait()
            finally:
                withdrawn.append("question")
                gone.set()

        async def run(effect: RunTool) -> None:
            await gone.wait()

        pay = payer("pay", tool=run, human=ask)
        assert (await drive_async(session(), pay, inbox=inbox)).phase == DONE

    play(main())
    assert withdrawn == ["question"]


def test_events_that_are_there_already_are_heard_first() -> None:
    """A call that is approved and then cancelled, before anybody drives on, is not even started."""
    events: list[Event] = []

    async def no_human(effect: Effect) -> Event | None:
        return None if isinstance(effect, AskHuman) else await payer("pay")(effect)

    async def main() -> None:
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        mine = Session(
            SPEC, session().run, observers=[lambda before, event, after: events.append(event)]
        )
        (slot,) = (await drive_async(mine, no_human, inbox=inbox)).slots
        assert isinstance(slot.status, AwaitingDecision)

        inbox.put_nowait(HumanDecided(slot.ref, slot.status.digest, Confirmed()))
        inbox.put_nowait(CancelRequested("never mind"))

        ended = await drive_async(mine, no_human, inbox=inbox)
        assert ended.phase == Done(Cancelled("never mind"))

    play(main())
    assert [type(event) for event in events] == [
        ModelReplied,
        Judged,
        HumanDecided,
        CancelRequested,
    ]


def test_what_another_run_left_in_the_inbox_is_not_taken_for_ours() -> None:
    """Its cancelled tasks lie there when the next run begins."""

    async def main() -> None:
        inbox: asyncio.Queue[Any] = asyncio.Queue()

        async def run(effect: RunTool) -> None:
            inbox.put_nowait(CancelRequested("enough"))
            await asyncio.Event().wait()

        await drive_async(session("first"), payer("note", tool=run), inbox=inbox)
        await asyncio.sleep(0)
        assert not inbox.empty()

        second = await drive_async(session("second"), payer("note"), inbox=inbox)
        assert second.phase == DONE

    play(main())


def test_cancelling_the_driver_keeps_what_has_landed_and_can_be_driven_on() -> None:
    """One call is done, the other is cut off: that one alone is run again."""
    ran: list[int] = []

    async def main() -> None:
        first_done = asyncio.Event()

        async def run(effect: RunTool) -> None:
            ran.append(effect.ref.place)
            if effect.ref.place == 0:
                first_done.set()
            else:
                await asyncio.Event().wait()

        mine = session()
        driver = asyncio.create_task(drive_async(mine, payer("note", "note", tool=run)))
        await first_done.wait()
        driver.cancel()
        with pytest.raises(asyncio.CancelledError):
            await driver
        assert [type(slot.status) for slot in mine.run.slots] == [Succeeded, Running]

        async def again(effect: RunTool) -> None:
            ran.append(effect.ref.place)

        assert (await drive_async(mine, payer(tool=again))).phase == DONE

    play(main())
    assert ran == [0, 1, 1]


def test_an_exception_is_raised_when_nothing_is_under_way_any_more() -> None:
    """The sibling's result is kept, and the session can be driven on."""

    async def main() -> None:
        hung_up = asyncio.Event()

        async def ask(effect: AskHuman) -> None:
            hung_up.set()
            raise EOFError

        async def run(effect: RunTool) -> None:
            await hung_up.wait()

        mine = session()
        with pytest.raises(EOFError):
            await drive_async(mine, payer("pay", "note", tool=run, human=ask))
        assert [type(slot.status) for slot in mine.run.slots] == [AwaitingDecision, Succeeded]

        assert (await drive_async(mine, payer())).phase == DONE

    play(main())


@pytest.mark.parametrize("calls", [("note",), ("note", "note")], ids=["alone", "together"])
def test_a_tool_cannot_keep_a_cancellation_to_itself(calls: tuple[str, ...]) -> None:
    """What it gives is kept, and the run stops. In a clean-up one can be driven all the same."""

    async def main() -> None:
        begun = asyncio.Event()

        async def run(effect: RunTool) -> None:
            begun.set()
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

        mine = session()

        async def drive() -> Run[State]:
            with pytest.raises(asyncio.CancelledError):
                await drive_async(mine, payer(*calls, tool=run))
            assert mine.run.turn == 2
            return await drive_async(mine, payer())

        driver = asyncio.create_task(drive())
        await begun.wait()
        driver.cancel()
        assert (await driver).phase == DONE

    play(main())


@pytest.mark.parametrize("calls", [("note",), ("note", "note")], ids=["alone", "together"])
def test_a_payment_that_cancels_itself_is_no_result(calls: tuple[str, ...]) -> None:
    """Nobody hears that the run was fine."""

    async def run(effect: RunTool) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        play(drive_async(session(), payer(*calls, tool=run)))


def test_what_nobody_can_pay_is_left() -> None:
    """The run comes back as it is, and the same session can go on with somebody who can."""

    async def nobody(effect: Effect) -> None:
        return None

    async def main() -> None:
        mine = session()
        assert (await drive_async(mine, nobody)).phase == Thinking()
        assert (await drive_async(mine, payer())).phase == DONE

    play(main())


def test_what_has_ended_together_is_recorded_together() -> None:
    """In one append, as a durable store takes its time for each."""
    appends: list[list[type[Event]]] = []

    async def main() -> None:
        barrier = asyncio.Barrier(3)

        async def meet(effect: RunTool) -> None:
            await barrier.wait()

        mine = Session(
            SPEC,
            session().run,
            record=lambda happened: appends.append([type(event) for event, _ in happened]),
        )
        assert (await drive_async(mine, payer("note", "note", "note", tool=meet))).phase == DONE

    play(main())
    assert appends == [[ModelReplied, *[ToolStarted] * 3], [ToolReturned] * 3, [ModelReplied]]


def test_what_was_said_before_a_breakpoint_fails_is_recorded() -> None:
    """A function of the user's that raises loses nothing."""
    events: list[type[Event]] = []

    def hold(run: object, effect: Effect) -> bool:
        return isinstance(effect, RunTool) and 1 // 0 > 0

    mine = Session(
        SPEC,
        session().run,
        hold=hold,
        record=lambda happened: events.extend(type(event) for event, _ in happened),
    )
    with pytest.raises(ZeroDivisionError):
        play(drive_async(mine, payer("note")))
    assert events == [ModelReplied]


@pytest.mark.parametrize("inbox", [False, True], ids=["alone", "with an inbox"])
def test_a_reply_that_has_come_is_recorded_although_the_run_is_cancelled(*, inbox: bool) -> None:
    """Its model has swallowed the cancellation: nobody need ask, and pay, again."""
    appends: list[list[type[Event]]] = []

    async def main() -> None:
        begun = asyncio.Event()

        async def stubborn(effect: Effect) -> Event:
            begun.set()
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            assert isinstance(effect, AskModel)
            return effect.replied(ChatReply(ChatMessage.from_assistant("bye")))

        def record(happened: Sequence[tuple[Event, Run[Any]]]) -> None:
            appends.append([type(event) for event, _ in happened])

        mine = Session(SPEC, start(SPEC, [ChatMessage.from_user("hi")], run_id="r"), record=record)
        mail: asyncio.Queue[Any] | None = asyncio.Queue() if inbox else None
        driver = asyncio.create_task(drive_async(mine, stubborn, inbox=mail))
        await begun.wait()
        driver.cancel()
        with pytest.raises(asyncio.CancelledError):
            await driver
        assert appends == [[ModelReplied]]

    play(main())


def test_what_is_given_up_before_it_begins_is_not_asked_for() -> None:
    """A coroutine that nobody ever waits for would be one that Python warns of."""
    asked = list[object]()

    async def performed(effect: object) -> None:
        asked.append(effect)

    def pay(effect: object) -> Coroutine[Any, Any, None]:
        asked.append("asked for")
        return performed(effect)

    async def main() -> None:
        mail = asyncio.Queue[Any]()
        (flight,) = _begun(pay, [AskModel(1, 1, (), (), FrozenDict())], mail)
        flight.cancel()
        assert await mail.get() is flight

    asyncio.run(main())
    assert asked == []
