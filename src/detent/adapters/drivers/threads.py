"""The blocking driver: effects that are owed together run in threads of their own."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue
from threading import Thread
from typing import TypeAlias

from attrs import frozen

from detent.adapters.drivers.session import Session
from detent.core.effects import AskHuman, Effect
from detent.core.events import Event
from detent.core.run import Run
from detent.core.spec import S


@frozen
class Landed:
    """An effect that has been performed: what came of it, or what was raised."""

    effect: Effect
    event: Event | None
    error: BaseException | None = None


Inbox: TypeAlias = "SimpleQueue[Event | Landed]"
"""Where events from outside reach a run that is being driven: ``inbox.put(CancelRequested("…"))``."""


def drive(
    session: Session[S], pay: Callable[[Effect], Event | None], *, inbox: Inbox | None = None
) -> Run[S]:
    """Pay what the run is owed until nothing more can be paid; the run as it is then.

    `pay` performs one effect and says what happened, or None to leave it owed. What it raises is raised
    here. Without an `inbox`, effects that nobody can interrupt are performed in the caller's own thread.
    """
    mail: Inbox = SimpleQueue() if inbox is None else inbox
    while True:
        fresh = session.take()
        mine = None if inbox is not None else _for_this_thread(session, fresh)
        for effect in fresh:
            if effect is not mine:
                run = copy_context().run
                Thread(target=run, args=(_fly, pay, effect, mail), daemon=True).start()
        if mine is not None:
            session.land(mine, pay(mine))
        elif session.under_way:
            _receive(session, mail.get())
        else:
            return session.run


def _for_this_thread(session: Session[S], fresh: list[Effect]) -> Effect | None:
    """A question to the human, or an effect that is alone: nothing else can happen meanwhile."""
    if len(fresh) == 1 and len(session.under_way) == 1:
        return fresh[0]
    return next((effect for effect in fresh if isinstance(effect, AskHuman)), None)


def _fly(pay: Callable[[Effect], Event | None], effect: Effect, mail: Inbox) -> None:
    try:
        mail.put(Landed(effect, pay(effect)))
    except BaseException as error:  # noqa: BLE001  # it is raised again in the caller's thread
        mail.put(Landed(effect, None, error))


def _receive(session: Session[S], item: Event | Landed) -> None:
    if not isinstance(item, Landed):
        session.feed(item)
    elif item.error is not None:
        raise item.error
    else:
        session.land(item.effect, item.event)
