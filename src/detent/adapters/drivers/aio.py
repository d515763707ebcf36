"""The asyncio driver: effects that are owed together run as tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from detent.adapters.drivers.session import Session
from detent.core.effects import Effect
from detent.core.events import Event
from detent.core.run import Run
from detent.core.spec import S

Flight: TypeAlias = "asyncio.Task[Event | None]"
AsyncInbox: TypeAlias = "asyncio.Queue[Event | Flight]"
"""Where events from outside reach a run that is being driven: ``inbox.put_nowait(…)``."""


async def drive_async(
    session: Session[S],
    pay: Callable[[Effect], Coroutine[Any, Any, Event | None]],
    *,
    inbox: AsyncInbox | None = None,
) -> Run[S]:
    """As `drive`, in the running event loop. Work on an effect that is no longer owed is cancelled."""
    mail: AsyncInbox = asyncio.Queue() if inbox is None else inbox
    flights: dict[Flight, Effect] = {}
    try:
        while True:
            fresh = session.take()
            if inbox is None and len(fresh) == len(session.under_way) == 1:
                session.land(fresh[0], await pay(fresh[0]))
                continue
            for effect in fresh:
                flight = asyncio.create_task(pay(effect))
                flight.add_done_callback(mail.put_nowait)
                flights[flight] = effect
            if not session.under_way:
                return session.run
            _receive(session, await mail.get(), flights)
    finally:
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)


def _receive(session: Session[S], item: Event | Flight, flights: dict[Flight, Effect]) -> None:
    if not isinstance(item, asyncio.Task):
        session.feed(item)
    elif item in flights:
        session.land(flights.pop(item), item.result())
