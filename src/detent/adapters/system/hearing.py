"""Hearing: who drives or watches a run is told when others write to it, in whatever process."""

from __future__ import annotations

import os
from asyncio import AbstractEventLoop
from collections.abc import Callable, Collection, KeysView
from contextlib import closing, suppress
from threading import Event, Lock, Thread
from typing import TypeAlias
from weakref import WeakValueDictionary

from detent.ports.journal import ForeignNotices, Journal, foreign_notices_of

FIRST_S = 0.05
"""Nobody listens to other processes for a run that is left sooner: most are."""
FAILED_S = 1.0
"""How long after a failure the store is listened to again."""

Listen: TypeAlias = "Callable[[Callable[[], object]], Ear]"
"""Has a function called, in any thread, when others have written to a run, until the ear closes."""

_lock = Lock()
_EARS: dict[str, tuple[Ear, ...]] = {}
"""By run, who is told in this process. RULE: it is told of a run of that name in any store."""
_LISTENERS: WeakValueDictionary[tuple[int, int], _Listener] = WeakValueDictionary()


class Ear:
    """Somebody who is told that others have written to a run, until they close it."""

    def __init__(
        self, run_id: str, tell: Callable[[], object], besides: object, listener: _Listener | None
    ) -> None:
        self.run_id, self.tell, self.besides = run_id, tell, besides
        self._listener = listener
        self.is_alone = False  # nobody else in this process listens to the run

    @property
    def hears_others(self) -> bool:
        """Whether it is told of what other processes write."""
        return self._listener is not None

    def close(self) -> None:
        """Be told no more.

        RULE: it holds nobody from then on: who has been told may hold it, and is to be freed at
        once.
        """
        with _lock:
            _set_ears(self.run_id, *(ear for ear in _EARS.get(self.run_id, ()) if ear is not self))
            self.is_alone, self.tell, self.besides = False, _tell_nobody, None
            if self._listener is not None:
                self._listener.remove(self.run_id)


def _tell_nobody() -> None:
    """What a closed ear calls, where an announcement was on its way."""


def listen(
    journal: Journal, run_id: str, tell: Callable[[], object], besides: object = None
) -> Ear:
    """Have `tell` called, in any thread, when anybody has written to a run but `besides`.

    It may be called for nothing. What this process writes it is told at once; what others write, as
    soon as the store tells.
    """
    listener = _listener_of(journal)
    ear = Ear(run_id, tell, besides, listener)
    with _lock:
        _set_ears(run_id, *_EARS.get(run_id, ()), ear)
        if listener is not None:
            listener.add(run_id)
    return ear


def _set_ears(run_id: str, *ears: Ear) -> None:
    """Have these be told of a run. `_lock` is held."""
    _EARS[run_id] = ears
    for ear in ears:
        ear.is_alone = len(ears) == 1
    if not ears:
        del _EARS[run_id]


def tell_loop(loop: AbstractEventLoop, callback: Callable[[], object]) -> None:
    """Have `told` called in an event loop, from any thread."""
    with suppress(RuntimeError):  # it is closed: nobody drives or watches a run there
        loop.call_soon_threadsafe(callback)


def announce(run_id: str, writer: object = None) -> None:
    """Tell all in this process who listen that `writer` has written to a run."""
    if _EARS:  # most often it is the driver's own alone
        for ear in _EARS.get(run_id, ()):
            if writer is None or ear.besides is not writer:
                ear.tell()


class _Listener:
    """Listens to one store for this process, in a thread of its own, while anybody wants it."""

    def __init__(self, notices: ForeignNotices) -> None:
        self._notices = notices
        self._counts: dict[str, int] = {}
        self._is_at_work = False

    def add(self, run_id: str) -> None:
        """Listen for a run as well. `_lock` is held, as for `remove`."""
        self._counts[run_id] = self._counts.get(run_id, 0) + 1
        if not self._is_at_work:
            self._is_at_work = True
            Thread(target=self._listen, name="detent notices", daemon=True).start()

    def remove(self, run_id: str) -> None:
        """Listen for it no more."""
        self._counts[run_id] -= 1
        if not self._counts[run_id]:
            del self._counts[run_id]

    def _run_ids(self) -> KeysView[str]:
        with _lock:
            return self._counts.copy().keys()

    def _listen(self) -> None:
        pause, pause_s, known = Event(), FIRST_S, frozenset[str]()
        while True:
            pause.wait(pause_s)
            with _lock:
                stay = known & self._counts.keys()
                known = frozenset(self._counts)
                if not known:
                    self._is_at_work = False
                    return
            pause_s = FIRST_S
            try:
                if stay:
                    self._follow()
            except Exception:  # noqa: BLE001 - of any store: a driver's next append meets it, too
                pause_s = FAILED_S

    def _follow(self) -> None:
        """Tell what the store tells, until nobody listens."""
        with closing(self._notices.from_others(self._run_ids)) as news:
            for run_ids in news:
                _announce_all(run_ids)
                if not self._counts:
                    return


def _announce_all(run_ids: Collection[str]) -> None:
    for run_id in run_ids:
        announce(run_id)


def _listener_of(journal: Journal) -> _Listener | None:
    notices = foreign_notices_of(journal)
    if notices is None:
        return None
    key = id(notices), os.getpid()  # a fork begins anew
    found = _LISTENERS.get(key)  # it holds the store: no other has its id
    return _LISTENERS.setdefault(key, _Listener(notices)) if found is None else found


def _forget() -> None:
    """After a fork: the threads that have listened, and whoever was told, are the parent's."""
    global _lock  # noqa: PLW0603 - another thread may have held it
    _lock = Lock()
    for run_id in [*_EARS]:
        for ear in _EARS.pop(run_id):
            ear.is_alone = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
