"""The asyncio driver: effects that are owed together run as tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Generic, NoReturn, TypeAlias, cast

from attrs import define, field

from detent.adapters.drivers.session import Landed, Session
from detent.adapters.drivers.shared_run import NEWS, Halt, News
from detent.adapters.drivers.steps import NO_STEPS, in_event_loop
from detent.adapters.system.failures import failing_silently, is_stop, outcome_of
from detent.adapters.system.hearing import Listen, tell_loop
from detent.core.run.effects import Effect, RunTool
from detent.core.run.events import Event
from detent.core.run.run import Run
from detent.core.state.typevars import S

PayAsync: TypeAlias = Callable[[Effect], Coroutine[Any, Any, Event | None]]
Flight: TypeAlias = asyncio.Future[Event | BaseException | None]
AsyncInbox: TypeAlias = asyncio.Queue[Event | Halt | News | Flight]
"""Where events from outside reach a run: ``inbox.put_nowait(…)``, in the event loop's own thread;
from another one by ``loop.call_soon_threadsafe``."""


async def drive_async(
    session: Session[S],
    pay: PayAsync,
    *,
    inbox: AsyncInbox | None = None,
    listen: Listen | None = None,
) -> Run[S]:
    """As `drive`, in the running event loop. Work on what is no longer owed is cancelled."""
    task = asyncio.current_task()
    cancelled = 0 if task is None else task.cancelling()
    desk = _Desk(session, pay, asyncio.Queue() if inbox is None else inbox, task)
    mail, flights = desk.mail, desk.flights
    session.open()
    ear = (
        None
        if listen is None
        else listen(partial(tell_loop, asyncio.get_running_loop(), desk.told))
    )
    try:
        while True:
            if not mail.empty():
                await in_event_loop(session.hear_steps(_arrived(mail, flights)))
            fresh = await _taken(session)
            if inbox is None and len(fresh) == len(session.under_way) == 1:
                await desk.perform(fresh[0])
                if task is not None and task.cancelling() > cancelled:
                    await _end_cancelled(session)
                continue
            if not session.under_way:
                await in_event_loop(session.settle_steps())
                return session.close()
            await desk.tend(fresh)
    except BaseException as error:
        working = [] if is_stop(error) else _working_on(session.running(), flights)
        await asyncio.gather(*working, return_exceptions=True)
        raise
    finally:
        if ear is not None:
            ear.close()
        if flights:  # nothing to wait for is no reason to give up the event loop
            await _ended(session, flights)


class _Own(asyncio.Future[Event | BaseException | None]):
    """Stands for the effect that the driver's own task performs: what is cancelled is that task."""

    driver: asyncio.Task[Any]
    is_dropped = False

    def cancel(self, msg: object = None) -> bool:
        """Cancel what the task awaits."""
        if not (self.is_dropped or self.done()):
            self.is_dropped = True
            self.driver.cancel(msg)
        return self.is_dropped


@define(eq=False)
class _Desk(Generic[S]):
    """A run that is driven, and who tends it.

    That is the task which drives it. While that one performs an effect itself, and others have
    written to the run, another one does: it begins what is owed, and hears what comes of it.
    """

    session: Session[S]
    pay: PayAsync
    mail: AsyncInbox
    task: asyncio.Task[Any] | None
    flights: dict[Flight, Effect] = field(factory=dict)
    _away: Effect | None = None
    _own: _Own | None = None
    _beside: asyncio.Task[BaseException | None] | None = None

    def told(self) -> None:
        """Others have written to the run."""
        self.mail.put_nowait(NEWS)
        if self._away is not None and self._beside is None:
            self._have_tended(self._away)

    def _have_tended(self, away: Effect) -> None:
        assert self.task is not None  # noqa: S101 - a coroutine that awaits is in one
        own = self._own = _Own()
        own.driver = self.task
        own.add_done_callback(self.mail.put_nowait)
        self.flights[own] = away
        self._beside = asyncio.create_task(outcome_of(self._tend_until(own)))

    async def perform(self, effect: Effect) -> None:
        """Perform an effect in this task, and hear what came of it."""
        self._away = effect
        came: Event | BaseException | None
        if not self.mail.empty():  # told since we last looked
            self._have_tended(effect)
        try:
            came = await self.pay(effect)
        except BaseException as error:
            if self._own is None and is_stop(error):
                raise
            came = error  # the session raises it
        finally:
            self._away = None
        if self._own is not None:
            self._own.set_result(came)
            del came  # an error in it holds this frame
            await self._back(self._own)
            return
        steps = self.session.land_steps(effect, came)
        if steps is not NO_STEPS:
            await in_event_loop(steps, is_paced=self.session.waits)
        del came, steps  # as above

    async def _back(self, own: _Own) -> None:
        """Take the run back from who has tended it meanwhile.

        RULE: a cancellation waits for that, and is not lost.
        """
        beside, self._beside, self._own = self._beside, None, None
        assert beside is not None  # noqa: S101 - see `_have_tended`
        while not beside.done():
            with suppress(asyncio.CancelledError):  # the task still knows
                await asyncio.wait([beside])
        if own.is_dropped:
            own.driver.uncancel()
        if isinstance(beside.result(), BaseException):
            raise cast(BaseException, beside.result())

    async def _tend_until(self, own: _Own) -> None:
        fresh: list[Effect] = []
        while not own.done():
            await self.tend(fresh)
            if not own.done():
                fresh = await _taken(self.session)

    async def tend(self, fresh: Iterable[Effect]) -> None:
        """Begin effects, cancel what is void, and hear what comes next."""
        session, flights = self.session, self.flights
        flights |= _begun(self.pay, fresh, self.mail)
        _cancel(_working_on(session.void(), flights))
        arrived = _arrived(self.mail, flights, await self.mail.get())
        await in_event_loop(session.hear_steps(arrived), is_paced=session.waits)


async def _taken(session: Session[S]) -> list[Effect]:
    """What is to be begun. Who is cancelled by then begins none of it, and says so."""
    known, steps = tuple(session.under_way), session.take_steps()
    try:
        try:
            wait = next(steps)
        except StopIteration as end:  # nothing is waited for: the usual case, and the quick one
            taken: list[Effect] = end.value
            return taken
        return await in_event_loop(steps, wait)
    except asyncio.CancelledError:
        fresh = [one for key, one in session.under_way.items() if key not in known]
        never = [(one, session.never_ran(one)) for one in fresh if isinstance(one, RunTool)]
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
        with failing_silently():
            await in_event_loop(session.hear_steps(came))
        with failing_silently():
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
        flight: Flight = asyncio.create_task(_came_of(pay, effect))
        flight.add_done_callback(mail.put_nowait)
        flights[flight] = effect
    return flights


async def _came_of(pay: PayAsync, effect: Effect) -> Event | BaseException | None:
    """RULE: it is asked for in the task: one cancelled before it begins asks for nothing."""
    return await outcome_of(pay(effect))


def _working_on(effects: Iterable[Effect], flights: dict[Flight, Effect]) -> list[Flight]:
    """RULE: on these very effects: one that is owed anew has the key of one that was dropped."""
    those = set(map(id, effects))
    return [flight for flight, effect in flights.items() if id(effect) in those]


def _arrived(
    mail: AsyncInbox, flights: dict[Flight, Effect], *first: Event | Halt | News | Flight
) -> Iterator[Event | Landed | Halt | News]:
    """All that has come by now."""
    for item in first:
        yield from _came(item, flights)
    while not mail.empty():
        yield from _came(mail.get_nowait(), flights)


def _came(
    item: Event | Halt | News | Flight, flights: dict[Flight, Effect]
) -> Iterator[Event | Landed | Halt | News]:
    if not isinstance(item, asyncio.Future):
        yield item
    elif item in flights:
        came = asyncio.CancelledError() if item.cancelled() else item.result()
        yield flights.pop(item), came
