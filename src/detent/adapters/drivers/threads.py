"""The blocking driver: effects that are owed together run in threads of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import TypeAlias

from detent.adapters.drivers.session import Halt, Landed, Session
from detent.adapters.system.threads_and_loops import run_in_a_thread
from detent.core.run.effects import AskHuman, Effect
from detent.core.run.events import Event
from detent.core.run.run import Run
from detent.core.state.typevars import S

Pay: TypeAlias = Callable[[Effect], Event | None]
Inbox: TypeAlias = SimpleQueue[Event | Landed | Halt]
"""Where events from outside reach a run, from any thread: ``inbox.put(CancelRequested("…"))``."""


def drive(
    session: Session[S],
    pay: Pay,
    *,
    drop: Callable[[Effect], object] = lambda effect: None,
    inbox: Inbox | None = None,
) -> Run[S]:
    """Perform what the run is owed until nothing more can be; the run as it is then.

    `pay` performs one effect and says what happened, or None to leave it owed. What it raises is
    raised here, once nothing else is under way. Without an `inbox`, humans are asked, one at a
    time, and effects that are alone are performed in the caller's own thread. A thread cannot be
    stopped: work that is no longer owed goes on unheard, and `drop` is told which it is.
    """
    mail: Inbox = SimpleQueue() if inbox is None else inbox
    session.open()
    try:
        while True:
            if not mail.empty():
                session.hear(_arrived(mail))
            mine = _begin(session, pay, mail, has_inbox=inbox is not None)
            for effect in session.void():
                drop(effect)
            if mine is not None:
                session.land(mine, _performed(pay, mine))
            elif session.under_way:
                session.hear(_arrived(mail, mail.get()))
            else:
                return session.close()
    except Exception:
        while session.running():
            with suppress(Exception):  # the first one is on its way
                session.hear([mail.get()])
        raise
    finally:
        for effect in (*session.void(), *session.under_way.values()):
            drop(effect)


def _begin(session: Session[S], pay: Pay, mail: Inbox, *, has_inbox: bool) -> Effect | None:
    """Begin what is new, each in a thread; the one that is for the caller's own is given back."""
    fresh = session.take()
    alone = len(session.under_way) == 1
    mine: Effect | None = None
    for effect in fresh:
        if has_inbox or not (alone or isinstance(effect, AskHuman)):
            run_in_a_thread(partial(_fly, pay, effect, mail))
        elif mine is None:
            mine = effect
        else:  # humans are asked one at a time
            session.put_back(effect)
    return mine


def _arrived(mail: Inbox, *first: Event | Landed | Halt) -> Iterator[Event | Landed | Halt]:
    """All that has come by now."""
    yield from first
    while not mail.empty():
        yield mail.get()


def _fly(pay: Pay, effect: Effect, mail: Inbox) -> None:
    mail.put((effect, _performed(pay, effect)))


def _performed(pay: Pay, effect: Effect) -> Event | BaseException | None:
    """What came of `effect`, as `Session.land` takes it."""
    try:
        return pay(effect)
    except BaseException as error:  # noqa: BLE001 - it is kept, and raised by `Session.close`
        return error
