"""The blocking driver: effects that are owed together run in threads of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import TypeAlias

from attrs import frozen

from detent.adapters.drivers.session import Session
from detent.adapters.functions import run_in_a_thread
from detent.core.effects import AskHuman, Effect, EffectKey
from detent.core.events import Event
from detent.core.run import Run
from detent.core.spec import S

Pay: TypeAlias = Callable[[Effect], Event | None]


@frozen(eq=False)
class Landed:
    """An effect that has been performed, and what came of it."""

    effect: Effect
    came: Event | BaseException | None


Inbox: TypeAlias = SimpleQueue[Event | Landed]
"""Where events from outside reach a run, from any thread: ``inbox.put(CancelRequested("…"))``."""


def drive(
    session: Session[S],
    pay: Pay,
    *,
    drop: Callable[[Effect], object] | None = None,
    inbox: Inbox | None = None,
) -> Run[S]:
    """Pay what the run is owed until nothing more can be paid; the run as it is then.

    `pay` performs one effect and says what happened, or None to leave it owed. What it raises is
    raised here, once nothing else is under way. Without an `inbox`, humans are asked, one at a
    time, and effects that are alone are performed in the caller's own thread. A thread cannot be
    stopped: work that is no longer owed goes on unheard, and `drop` is told which it is.
    """
    mail: Inbox = SimpleQueue() if inbox is None else inbox
    flying: dict[EffectKey, Effect] = {}
    session.open()
    try:
        while True:
            while not mail.empty():
                _receive(session, mail.get(), flying)
            mine: list[Effect] = []
            for effect in session.take():
                alone = len(session.under_way) == 1
                if inbox is None and (alone or isinstance(effect, AskHuman)):
                    mine.append(effect)
                else:
                    flying[effect.key] = effect
                    run_in_a_thread(partial(_fly, pay, effect, mail))
            for effect in mine[1:]:
                session.put_back(effect)
            _drop(flying, flying.keys() - session.under_way.keys(), drop)
            if mine:
                session.land(mine[0], _performed(pay, mine[0]))
            elif session.under_way:
                _receive(session, mail.get(), flying)
            else:
                return session.close()
    except Exception:
        _wait_for(flying, session, mail)
        raise
    finally:
        _drop(flying, flying.keys(), drop)


def _performed(pay: Pay, effect: Effect) -> Event | BaseException | None:
    try:
        return pay(effect)
    except BaseException as error:  # noqa: BLE001 - the driver raises it again
        return error


def _fly(pay: Pay, effect: Effect, mail: Inbox) -> None:
    mail.put(Landed(effect, _performed(pay, effect)))


def _drop(
    flying: dict[EffectKey, Effect],
    unheard: Iterable[EffectKey],
    drop: Callable[[Effect], object] | None,
) -> None:
    for key in list(unheard):
        effect = flying.pop(key)
        if drop is not None:
            drop(effect)


def _wait_for(flying: dict[EffectKey, Effect], session: Session[S], mail: Inbox) -> None:
    """Hear the work out that cannot be stopped, and keep what can be kept.

    Whoever goes on with the run, because its journal could not be written, would do it again.
    """
    while flying:
        with suppress(Exception):  # the first one is on its way
            _receive(session, mail.get(), flying)


def _receive(session: Session[S], item: Event | Landed, flying: dict[EffectKey, Effect]) -> None:
    if isinstance(item, Landed):
        flying.pop(item.effect.key, None)
        session.land(item.effect, item.came)
    else:
        session.feed(item)
