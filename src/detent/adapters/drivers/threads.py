"""The blocking driver: effects that are owed together run in threads of their own."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import TypeAlias

from attrs import frozen

from detent.adapters.drivers.session import Session
from detent.core.effects import AskHuman, Effect
from detent.core.events import Event
from detent.core.run import Run
from detent.core.spec import S

Pay: TypeAlias = Callable[[Effect], Event | None]


@frozen(eq=False)
class Landed:
    """An effect that has been performed, and what came of it."""

    effect: Effect
    came: Event | BaseException | None


Inbox: TypeAlias = "SimpleQueue[Event | Landed]"
"""Where events from outside reach a run that is being driven: ``inbox.put(CancelRequested("…"))``."""


def drive(session: Session[S], pay: Pay, *, inbox: Inbox | None = None) -> Run[S]:
    """Pay what the run is owed until nothing more can be paid; the run as it is then.

    `pay` performs one effect and says what happened, or None to leave it owed. What it raises is
    raised here, once nothing else is under way. Without an `inbox`, humans are asked, one at a
    time, and effects that are alone are performed in the caller's own thread. A thread cannot be
    stopped: work that is no longer owed goes on unheard.
    """
    mail: Inbox = SimpleQueue() if inbox is None else inbox
    session.open()
    while True:
        while not mail.empty():
            _receive(session, mail.get())
        mine: list[Effect] = []
        for effect in session.take():
            alone = len(session.under_way) == 1
            if inbox is None and (alone or isinstance(effect, AskHuman)):
                mine.append(effect)
            else:
                fly = partial(copy_context().run, _fly, pay, effect, mail)
                Thread(target=fly, daemon=True).start()
        for effect in mine[1:]:
            session.put_back(effect)
        if mine:
            session.land(mine[0], _performed(pay, mine[0]))
        elif session.under_way:
            _receive(session, mail.get())
        else:
            return session.close()


def _performed(pay: Pay, effect: Effect) -> Event | BaseException | None:
    try:
        return pay(effect)
    except BaseException as error:  # noqa: BLE001 - the driver raises it again
        return error


def _fly(pay: Pay, effect: Effect, mail: Inbox) -> None:
    mail.put(Landed(effect, _performed(pay, effect)))


def _receive(session: Session[S], item: Event | Landed) -> None:
    if isinstance(item, Landed):
        session.land(item.effect, item.came)
    else:
        session.feed(item)
