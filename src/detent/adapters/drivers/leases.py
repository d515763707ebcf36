"""Leases: this process drives a run, says so in a store, and renews that as long as it does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Event, RLock, Thread
from typing import TypeVar
from weakref import ReferenceType, WeakValueDictionary, ref

from detent.adapters.system.chance import SystemChance
from detent.adapters.system.clocks import SystemClock
from detent.adapters.system.processes import has_ended, is_this_process, this_process
from detent.core.control.claims import (
    RENEWED,
    Claim,
    Owner,
    RunBusyError,
    given_back,
    is_held,
    is_sure,
    next_claim,
)
from detent.ports.claims import Claims, claims_of
from detent.ports.clock import Clock
from detent.ports.journal import Journal, JournalError

T = TypeVar("T")

CLAIM_S = 15.0
"""How long a claim holds unless it is renewed."""
FOREVER = float("inf")
FIRST_LOOK_S, LAST_LOOK_S = 0.05, 1.0
"""How far apart the looks are at a run that somebody else drives: at first, and at last."""


class Lease:
    """A run that this process drives."""

    def __init__(self, keeper: Keeper, run_id: str, claim: Claim) -> None:
        self._keeper = keeper
        self.run_id, self.claim = run_id, claim
        _DRIVEN[claim.owner, run_id] = self

    @property
    def epoch(self) -> int:
        """Grows each time that the run changes hands, or is claimed anew."""
        return self.claim.epoch

    @property
    def is_sure(self) -> bool:
        """Whether nobody can have taken up the run because its claim had lapsed."""
        return self._keeper.is_sure_of(self.claim)

    def require(self) -> None:
        """Make sure of the claim: after a pause it may have lapsed, and is then claimed anew.

        Raises:
            RunBusyError: somebody has taken up the run in the meantime.
            JournalError: the store cannot be asked.
        """
        if not self.is_sure:
            self._keeper.claim_anew(self)

    def release(self) -> None:
        """Give the run back: it is not driven any more. The second time, this does nothing."""
        self._keeper.release(self)


_DRIVEN: WeakValueDictionary[tuple[str, str], Lease] = WeakValueDictionary()
"""By owner and run, what this process drives: whoever has dropped a lease drives nothing."""


class Keeper:
    """Claims runs in one store for this process, and renews its claims in a thread of its own.

    Args:
        claims: the store.
        time_s: how long its claims hold unless they are renewed.
        clock: the time of day, which other processes see as well.
    """

    def __init__(self, claims: Claims, time_s: float = CLAIM_S, clock: Clock | None = None) -> None:
        self._claims = claims
        self._time_s = time_s if claims.is_shared else FOREVER
        self._clock = SystemClock() if clock is None else clock
        self._lock = RLock()
        self._held: dict[str, tuple[ReferenceType[Lease] | None, Claim]] = {}
        self._owner: Owner | None = None
        self._renewed = (-FOREVER, -FOREVER)
        self._thread: Thread | None = None
        self._pid = os.getpid()

    def take(self, run_id: str, *, take_over: bool = False) -> Lease:
        """Claim a run, with `take_over` even from a process that lives.

        Raises:
            RunBusyError: a process that lives drives it.
            JournalError: the store cannot be asked.
        """
        with self._lock:
            while True:
                found = self._claims.find(run_id)
                if not take_over:
                    self._require_free(run_id, found)
                claim = next_claim(found, self._sure_owner(), self._clock.now())
                if self._claims.swap(run_id, found, claim):
                    lease = Lease(self, run_id, claim)
                    self._hold(lease)
                    return lease

    def require_free(self, run_id: str) -> None:
        """Look whether a run may be claimed.

        Raises:
            RunBusyError: a process that lives drives it.
            JournalError: the store cannot be asked.
        """
        with self._lock:
            self._require_free(run_id, self._claims.find(run_id))

    def is_sure_of(self, claim: Claim) -> bool:
        """Whether nobody can have seen the claim lapse."""
        owner = self._owner
        is_ours = owner is not None and owner.id == claim.owner and self._pid == os.getpid()
        return is_ours and self._is_sure

    def claim_anew(self, lease: Lease) -> None:
        """As `Lease.require` says.

        RULE: the claim changes, and does not only last longer. So whoever has seen the old one
        lapse, and is about to take its place, finds another there, or we find theirs.
        """
        if self._pid != os.getpid():  # a fork, in which nobody gives back this lock
            raise RunBusyError(lease.run_id, lease.claim, self._owner)
        with self._lock:
            was = lease.claim
            if self.is_sure_of(was):  # another thread has been here
                return
            claim = next_claim(was, self._sure_owner(), was.since)
            if not self._claims.swap(lease.run_id, was, claim):
                self._held.pop(lease.run_id, None)
                now = self._claims.find(lease.run_id) or was
                raise RunBusyError(lease.run_id, now, self._claims.owner(now.owner))
            lease.claim = claim
            _DRIVEN[claim.owner, lease.run_id] = lease
            self._hold(lease)

    def release(self, lease: Lease) -> None:
        """As `Lease.release` says."""
        if self._pid != os.getpid():
            return
        with self._lock:
            held, _ = self._held.get(lease.run_id, (None, None))
            if held is None or held() is not lease:
                return
            self._held[lease.run_id] = (None, lease.claim)
            _DRIVEN.pop((lease.claim.owner, lease.run_id), None)
            with suppress(JournalError):  # the thread does it as soon as it can
                self._give_back(lease.run_id, lease.claim)

    def renew(self) -> bool:
        """Renew the claims, and give back what nobody drives any more; whether any is left."""
        with self._lock:
            with suppress(JournalError):  # the next time, or they lapse
                if self._held and self._owner is not None and self._is_sure:
                    self._keep(self._owner.id)
                for run_id, (lease, claim) in list(self._held.items()):
                    if lease is None or lease() is None:
                        self._give_back(run_id, claim)
            return bool(self._held)

    def _hold(self, lease: Lease) -> None:
        self._held[lease.run_id] = (ref(lease), lease.claim)
        if self._thread is None and self._time_s < FOREVER:
            self._thread = Thread(target=self._renew, name="detent claims", daemon=True)
            self._thread.start()

    def _renew(self) -> None:
        """Renew the claims until there is none."""
        pause = Event()
        while True:
            pause.wait(RENEWED * self._time_s)
            with self._lock:
                if not self.renew():
                    self._thread = None
                    return

    def _give_back(self, run_id: str, claim: Claim) -> None:
        self._claims.swap(run_id, claim, given_back(claim))
        del self._held[run_id]

    def _require_free(self, run_id: str, found: Claim | None) -> None:
        owner = None if found is None else self._claims.owner(found.owner)
        if found is None or owner is None or not is_held(found, owner, self._clock.now()):
            return
        is_dropped = is_this_process(owner) and (owner.id, run_id) not in _DRIVEN
        if not (is_dropped or has_ended(owner)):
            raise RunBusyError(run_id, found, owner)

    @property
    def _is_sure(self) -> bool:
        clock, run_time = self._renewed
        elapsed = max(self._clock.now() - clock, _run_time() - run_time)
        return is_sure(elapsed, self._time_s)

    def _sure_owner(self) -> Owner:
        """Who we are: somebody new where our claims may have lapsed."""
        owner = self._owner
        if owner is None or not self._is_sure:
            owner = self._keep(SystemChance().new_id())
        return owner

    def _keep(self, owner_id: str) -> Owner:
        """Renew our claims. Their time counts from before that is written, which may take long."""
        before = (self._clock.now(), _run_time())
        owner = this_process(owner_id, before[0] + self._time_s)
        self._claims.keep(owner)
        self._owner = owner  # first: without the lock, a lease may see the one without the other
        self._renewed = before
        return owner


_KEEPERS: WeakValueDictionary[tuple[int, float, int], Keeper] = WeakValueDictionary()


def keeper_of(journal: Journal | None, time_s: float) -> Keeper | None:
    """Who claims the runs of a journal for this process; None where it has no claims."""
    claims = None if journal is None else claims_of(journal)
    if claims is None:
        return None
    key = (id(claims), time_s, os.getpid())  # a fork begins anew
    keeper = _KEEPERS.get(key)  # it holds the store: no other has its id
    return _KEEPERS.setdefault(key, Keeper(claims, time_s)) if keeper is None else keeper


def when_free(attempt: Callable[[], T], clock: Clock, wait_s: float) -> T:
    """What `attempt` gives once the run is free.

    Raises:
        RunBusyError: after `wait_s` it was still driven by somebody else.
    """
    for look in _looks(clock.now(), wait_s):
        with suppress(RunBusyError):
            return attempt()
        clock.wait(look, Event())
    return attempt()


async def when_free_async(attempt: Callable[[], T], clock: Clock, wait_s: float) -> T:
    """As `when_free`, without blocking the event loop while it waits."""
    for look in _looks(clock.now(), wait_s):
        with suppress(RunBusyError):
            return attempt()
        await clock.wait_async(look)
    return attempt()


def _looks(now: float, wait_s: float) -> Iterator[float]:
    """When to look again, further and further apart; the last time is at the end."""
    at, pause, end = now, FIRST_LOOK_S, now + wait_s
    while at < end:
        at = min(at + pause, end)
        pause = min(2 * pause, LAST_LOOK_S)
        yield at


def _run_time() -> float:
    """A clock that nobody sets, and that goes on while the machine sleeps where there is one."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)
