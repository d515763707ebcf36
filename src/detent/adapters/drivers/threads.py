"""The blocking driver: effects that are owed together run in threads of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from queue import SimpleQueue
from threading import Event as Flag
from threading import Lock
from typing import Generic, TypeAlias

from attrs import define, field

from detent.adapters.drivers.company.forks import ForkedRunError
from detent.adapters.drivers.session import Landed, Session
from detent.adapters.drivers.shared_run import NEWS, Halt, News
from detent.adapters.system.failures import failing_silently
from detent.adapters.system.hearing import Listen
from detent.adapters.system.threads_and_loops import run_in_a_thread
from detent.core.errors import is_halt
from detent.core.run.effects import AskHuman, Effect
from detent.core.run.events import Event
from detent.core.run.run import Run
from detent.core.state.typevars import S

Pay: TypeAlias = Callable[[Effect], Event | None]
Inbox: TypeAlias = SimpleQueue[Event | Landed | Halt | News]
"""Where events from outside reach a run, from any thread: ``inbox.put(CancelRequested("…"))``."""


def drive(
    session: Session[S],
    pay: Pay,
    *,
    drop: Callable[[Effect], object] = lambda effect: None,
    inbox: Inbox | None = None,
    listen: Listen | None = None,
) -> Run[S]:
    """Perform what the run is owed until nothing more can be; the run as it is then.

    `pay` performs one effect and says what happened, or None to leave it owed. What it raises is
    raised here, once nothing else is under way. Without an `inbox`, humans are asked, one at a
    time, and effects that are alone are performed in the caller's own thread. A thread cannot be
    stopped: work that is no longer owed goes on unheard, and `drop` is told which it is.
    `listen` has it told what others write to the run.
    """
    mail: Inbox = SimpleQueue() if inbox is None else inbox
    desk = _Desk(session, pay, drop, mail)
    session.open()
    ear = None if listen is None else listen(desk.tell)
    try:
        while True:
            if not mail.empty():
                session.hear(_arrived(mail))
            mine = desk.begin(has_inbox=inbox is not None)
            if mine is not None:
                desk.perform(mine)
            elif session.under_way:
                session.hear(_arrived(mail, mail.get()))
            else:
                return session.close()
    except BaseException as error:
        while session.running() and not is_halt(error):
            with failing_silently():
                session.hear([mail.get()])
        raise
    finally:
        if ear is not None and desk.is_ours:  # what it locks may be locked for ever in a fork
            ear.close()
        for effect in (*session.void(), *session.under_way.values()):
            drop(effect)


@define(eq=False)
class _Desk(Generic[S]):
    """A run that is driven, and who tends it.

    That is the thread which drives it. While that one performs an effect itself, and others have
    written to the run, another one does: it begins what is owed, and hears what comes of it.
    """

    session: Session[S]
    pay: Pay
    drop: Callable[[Effect], object]
    mail: Inbox
    _lock: Lock = field(factory=Lock)
    _is_away: bool = False
    _tended: Flag | None = None
    _raised: BaseException | None = None
    _pid: int = field(factory=os.getpid)

    @property
    def is_ours(self) -> bool:
        """Whether this is the process that drives the run, and no fork of it."""
        return self._pid == os.getpid()

    def tell(self) -> None:
        """Others have written to the run; in any thread."""
        self.mail.put(NEWS)
        self._have_tended()

    def _have_tended(self) -> None:
        with self._lock:
            if self._is_away and self._tended is None:
                self._tended = Flag()
                run_in_a_thread(partial(self._tend, self._tended))

    def perform(self, effect: Effect) -> None:
        """Perform an effect in this thread, and hear what came of it."""
        self._is_away = True
        if not self.mail.empty():  # told since we last looked
            self._have_tended()
        came: Event | BaseException | None
        try:
            came = self.pay(effect)
        except BaseException as error:  # noqa: BLE001 - as in `_performed`
            came = error
        if self._tended is not None and not self.is_ours:
            self.session.open()  # what is under way is so in another process, and so is who tends
            raise ForkedRunError(self.session.run.id, self._pid)
        with self._lock:
            self._is_away = False
            tended, self._tended = self._tended, None
        if tended is None:
            self.session.land(effect, came)
            del came  # an error in it holds this frame
            return
        self.mail.put((effect, came))
        del came  # for the same reason
        tended.wait()
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised

    def begin(self, *, has_inbox: bool, is_beside: bool = False) -> Effect | None:
        """Begin what is new, each in a thread; the one for the caller's own is given back.

        What is void is dropped.
        """
        session = self.session
        fresh = session.take()
        alone = len(session.under_way) == 1
        mine: Effect | None = None
        for effect in fresh:
            if has_inbox or not ((alone and not is_beside) or isinstance(effect, AskHuman)):
                run_in_a_thread(partial(_fly, self.pay, effect, self.mail))
            elif mine is None and not is_beside:
                mine = effect
            else:  # humans are asked one at a time
                session.put_back(effect)
        if session.has_void:
            for effect in session.void():
                self.drop(effect)
        return mine

    def _tend(self, tended: Flag) -> None:
        """Drive the run until the thread that does so is back."""
        try:
            while self._is_away:
                self.session.hear(_arrived(self.mail, self.mail.get()))
                self.begin(has_inbox=False, is_beside=True)
        except BaseException as error:  # noqa: BLE001 - it is raised by `perform`
            self._raised = error
        finally:
            tended.set()


def _arrived(
    mail: Inbox, *first: Event | Landed | Halt | News
) -> Iterator[Event | Landed | Halt | News]:
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
