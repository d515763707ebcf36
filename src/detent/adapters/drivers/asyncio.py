"""The asyncio driver: effects that are owed together run as tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from typing import Any, NoReturn, TypeAlias

from detent.adapters.drivers.session import Halt, Landed, Session
from detent.adapters.drivers.steps import in_event_loop
from detent.core.run.effects import Effect, RunTool
from detent.core.run.events import Event, ToolNeverRan
from detent.core.run.run import Run
from detent.core.state.typevars import S

PayAsync: TypeAlias = Callable[[Effect], Coroutine[Any, Any, Event | None]]
Flight: TypeAlias = asyncio.Task[Event | Exception | None]
AsyncInbox: TypeAlias = asyncio.Queue[Event | Halt | Flight]
"""Where events from outside reach a run: ``inbox.put_nowait(…)``, in the event loop's own thread;
from another one by ``loop.call_soon_threadsafe``."""


async def drive_async(
    session: Session[S], pay: PayAsync, *, inbox: AsyncInbox | None = None
) -> Run[S]:
    """As `drive`, in the running event loop. Work on what is no longer owed is cancelled."""
    mail, task = inbox, asyncio.current_task()
    cancelled = 0 if task is None else task.cancelling()
    flights: dict[Flight, Effect] = {}
    session.open()
    try:
        while True:
            if mail is not None:
                await in_event_loop(session.hear_steps(_arrived(mail, flights)))
            fresh = await _taken(session)
            if inbox is None and len(fresh) == len(session.under_way) == 1:
                try:
                    came: Event | Exception | None = await pay(fresh[0])
                except Exception as error:  # noqa: BLE001 - the session raises it
                    came = error
                steps = session.land_steps(fresh[0], came)
                await in_event_loop(steps, is_paced=session.waits)
                del came, steps  # an error in it holds this frame
                if task is not None and task.cancelling() > cancelled:
                    await _end_cancelled(session)
                continue
            if not session.under_way:
                await in_event_loop(session.settle_steps())
                return session.close()
            if mail is None:  # most runs never need one
                mail = asyncio.Queue()
            flights |= _begun(pay, fresh, mail)
            _cancel(_working_on(session.void(), flights))
            arrived = _arrived(mail, flights, await mail.get())
            await in_event_loop(session.hear_steps(arrived), is_paced=session.waits)
    except Exception:
        await asyncio.gather(*_working_on(session.running(), flights), return_exceptions=True)
        raise
    finally:
        if flights:  # nothing to wait for is no reason to give up the event loop
            await _ended(session, flights)


async def _taken(session: Session[S]) -> list[Effect]:
    """What is to be begun. Who is cancelled by then begins none of it, and says so."""
    known = set(session.under_way)
    try:
        return await in_event_loop(session.take_steps())
    except asyncio.CancelledError:
        fresh = [one for key, one in session.under_way.items() if key not in known]
        never = [
            (one, ToolNeverRan(one.ref, one.attempt)) for one in fresh if isinstance(one, RunTool)
        ]
        await in_event_loop(session.hear_steps(never))
        raise


async def _ended(session: Session[S], flights: dict[Flight, Effect]) -> None:
    """Cancel what is still under way, wait for its end, and hear it."""
    _cancel(flights)
    try:
        await asyncio.gather(*flights, return_exceptions=True)
    finally:  # who is cancelled once more waits for no other, and hears those that have ended
        came = [
            item for flight in list(flights) if flight.done() for item in _came(flight, flights)
        ]
        with suppress(Exception):  # the first one is on its way
            await in_event_loop(session.hear_steps(came))
        with suppress(Exception):  # as above
            await in_event_loop(session.settle_steps())


async def _end_cancelled(session: Session[Any]) -> NoReturn:
    """Raise as the task was cancelled: what was at work may have swallowed that."""
    await in_event_loop(session.settle_steps())  # what it gave is recorded
    raise asyncio.CancelledError


def _cancel(flights: Iterable[Flight]) -> None:
    for flight in flights:
        flight.cancel()


def _begun(pay: PayAsync, effects: Iterable[Effect], mail: AsyncInbox) -> dict[Flight, Effect]:
    flights: dict[Flight, Effect] = {}
    for effect in effects:
        flight = asyncio.create_task(_performed(pay, effect))
        flight.add_done_callback(mail.put_nowait)
        flights[flight] = effect
    return flights


async def _performed(pay: PayAsync, effect: Effect) -> Event | Exception | None:
    try:
        return await pay(effect)
    except Exception as error:  # noqa: BLE001 - the driver raises it again
        return error


def _working_on(effects: Iterable[Effect], flights: dict[Flight, Effect]) -> list[Flight]:
    keys = {effect.key for effect in effects}
    return [flight for flight, effect in flights.items() if effect.key in keys]


def _arrived(
    mail: AsyncInbox, flights: dict[Flight, Effect], *first: Event | Halt | Flight
) -> Iterator[Event | Landed | Halt]:
    """All that has come by now."""
    for item in first:
        yield from _came(item, flights)
    while not mail.empty():
        yield from _came(mail.get_nowait(), flights)


def _came(
    item: Event | Halt | Flight, flights: dict[Flight, Effect]
) -> Iterator[Event | Landed | Halt]:
    if not isinstance(item, asyncio.Task):
        yield item
    elif item in flights:
        came = asyncio.CancelledError() if item.cancelled() else item.result()
        yield flights.pop(item), came
