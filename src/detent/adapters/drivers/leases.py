"""Leases: this process drives a run, says so in a store, and renews that as long as it does."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import inf, nextafter
from queue import SimpleQueue
from threading import RLock, Thread
from typing import TypeVar
from weakref import ReferenceType, WeakValueDictionary, finalize, ref

from detent.adapters.drivers.company.renewing import renew_for_ever
from detent.adapters.drivers.company.writes import Writes
from detent.adapters.drivers.steps import Steps, Wait, at_once
from detent.adapters.system.chance import SystemChance
from detent.adapters.system.clocks import SystemClock, run_time
from detent.adapters.system.processes import LateOwners, has_ended, is_this_process, this_process
from detent.ports.claims import (
    RENEWED,
    Claim,
    Claims,
    Owner,
    RunBusyError,
    claims_of,
    given_back,
    guards_appends,
    is_held,
    next_claim,
    stands_of,
    submit_swap_of,
    sure_for,
)
from detent.ports.clock import Clock
from detent.ports.journal import Journal, JournalError

T = TypeVar("T")

CLAIM_S = 15.0
"""How long a claim holds unless it is renewed."""
FOREVER = inf


class Lease:
    """A run that this process drives."""

    def __init__(self, keeper: Keeper, run_id: str, claim: Claim) -> None:
        self._keeper = keeper
        self.run_id, self.claim = run_id, claim
        self.guards_appends = keeper.guards_appends
        self.is_released = False
        self.lock = RLock()  # whoever claims it anew; it is held while the store is asked
        self.is_claimed_anew = False  # just now
        self.is_left = False  # it is to be given back as soon as that is known

    @property
    def is_sure(self) -> bool:
        """Whether the run is ours, and nobody can have seen its claim lapse."""
        if self.is_released or _DRIVEN.get((self.claim.owner, self.run_id)) is not self:
            return False
        return self._keeper.is_sure_of(self.claim)

    @property
    def may_begin(self) -> bool:
        """Whether a tool may begin without more ado: `is_sure`, and nobody has removed the claim.

        Raises:
            JournalError: the store cannot be asked.
        """
        stands = self._keeper.stands
        return self.is_sure and (stands is None or stands(self.run_id, self.claim))

    def require(self) -> None:
        """Make sure of the claim: it may have lapsed, or been given back, and is then taken anew.

        One that somebody has removed from the store is lost: others may have had the run since.

        Raises:
            RunBusyError: somebody has taken up the run in the meantime.
            JournalError: the store cannot be asked.
        """
        if not self.may_begin:
            self._keeper.claim_anew(self)

    def release(self) -> None:
        """As `release_steps`, blocking."""
        at_once(self.release_steps())

    def release_steps(self) -> Steps[None]:
        """Give the run back: it is not driven any more. The second time, this does nothing."""
        return self._keeper.release_steps(self)


_DRIVEN: WeakValueDictionary[tuple[str, str], Lease] = WeakValueDictionary()
"""By owner and run, what this process drives: whoever has dropped a lease drives nothing."""
_CLAIMING = Counter[tuple[str, str]]()
"""How many are just claiming a run for an owner: its claim may be there, and nobody drives it yet.
RULE: where two claim a run at once, the one that loses takes nothing of the other's from here."""


class Keeper:
    """Claims runs in one store for this process, and renews its claims in a thread of its own.

    Args:
        claims: the store.
        time_s: how long its claims hold unless they are renewed.
        clock: the time of day, which other processes see as well.
        renews: whether there is such a thread; else somebody must call `renew` in time.
    """

    def __init__(
        self,
        claims: Claims,
        time_s: float = CLAIM_S,
        clock: Clock | None = None,
        *,
        renews: bool = True,
    ) -> None:
        self._claims = claims
        self.stands = stands_of(claims)
        """Whether a claim is in the store, where that costs nothing to see."""
        self._submit_swap = submit_swap_of(claims)
        self.is_shared, self.guards_appends = claims.is_shared, guards_appends(claims)
        self._time_s = time_s if claims.is_shared else FOREVER
        self._sure_s = sure_for(self._time_s)
        self._renews = renews and claims.is_shared
        self._clock = SystemClock() if clock is None else clock
        self.writes = Writes(claims, self._clock)
        self._last = -inf
        self._lock = RLock()  # what is held; nobody asks the store behind it
        self._renewing = RLock()  # who we are; nobody waits for it who is sure
        self._held: dict[str, tuple[ReferenceType[Lease] | None, Claim]] = {}
        self._known: tuple[Owner, float, float] | None = None  # who we are, and how long
        self._late = LateOwners(self._time_s)
        self._thread: Thread | None = None
        self.pid = os.getpid()

    def take_steps(
        self, run_id: str, *, take_over: bool = False, is_new: bool = False
    ) -> Steps[Lease]:
        """Claim a run, with `take_over` even from a process that lives.

        Of one that `is_new` nobody is expected to have heard.

        Raises:
            RunBusyError: a process that lives drives it.
            JournalError: the store cannot be asked.
        """
        found = None if is_new else (yield from self._ask(partial(self._claims.find, run_id)))
        while True:
            if not (found is None or take_over):
                yield from self._ask(partial(self._require_free, run_id, found))
            owner = yield from self._sure_owner_steps()
            claim = next_claim(found, owner, self._instant())
            lease = Lease(self, run_id, claim)
            if (yield from self._swap(lease, found, claim)):
                return lease
            found = yield from self._ask(partial(self._claims.find, run_id))

    def require_free(self, run_id: str) -> Steps[None]:
        """Look whether a run may be claimed.

        Raises:
            RunBusyError: a process that lives drives it.
            JournalError: the store cannot be asked.
        """
        return self._ask(lambda: self._require_free(run_id, self._claims.find(run_id)))

    def _instant(self) -> float:
        """Now, and never twice the same: two who claim at once can tell their claims apart."""
        with self._lock:
            self._last = max(self._clock.now(), nextafter(self._last, inf))
            return self._last

    def _ask(self, call: Callable[[], T]) -> Steps[T]:
        """What the store says; nobody waits for one in memory."""
        return (yield Wait(call)) if self.is_shared else call()

    def _sure_owner_steps(self) -> Steps[Owner]:
        return self._owner() or (yield from self._ask(self._sure_owner))

    def is_sure_of(self, claim: Claim) -> bool:
        """Whether nobody can have seen the claim lapse."""
        owner = self._owner() if self.pid == os.getpid() else None
        return owner is not None and owner.id == claim.owner

    def claim_anew(self, lease: Lease, *, is_renewal: bool = False) -> None:
        """As `Lease.require` says; one that was given back stays so if `is_renewal`.

        RULE: the claim changes, and does not only last longer. So whoever has seen the old one
        lapse, and is about to take its place, finds another there, or we find theirs.
        """
        if self.pid != os.getpid():  # a fork, in which nobody gives back these locks
            raise RunBusyError(lease.run_id, lease.claim, self._known and self._known[0])
        with lease.lock:
            if lease.may_begin:  # another thread has been here
                return
            with self._lock:
                if is_renewal and lease.is_released:  # since it was seen to be held
                    return
                lease.is_claimed_anew = True
            try:
                self._claim_anew(lease)
            finally:
                with self._lock:
                    is_left, lease.is_left = lease.is_left, False
                    lease.is_claimed_anew = False
                if is_left:
                    lease.release()

    def _claim_anew(self, lease: Lease) -> None:
        was = given_back(lease.claim) if lease.is_released else lease.claim
        claim = next_claim(was, self._sure_owner(), was.since)
        is_ours = _DRIVEN.get((claim.owner, lease.run_id), lease) is lease  # or another lease's
        if not (is_ours and at_once(self._swap(lease, was, claim))):
            self._unhold(lease)
            now = self._claims.find(lease.run_id)
            owner = None if now is None else self._claims.owner(now.owner)
            raise RunBusyError(lease.run_id, now or was, owner)

    def release_steps(self, lease: Lease) -> Steps[None]:
        """As `Lease.release_steps` says.

        RULE: it waits for nobody who claims the run anew: that one gives it back.
        """
        if self.pid != os.getpid():
            return
        with self._lock:
            if lease.is_claimed_anew or lease.is_released:
                lease.is_left = lease.is_claimed_anew
                return
            lease.is_released = True
            _drop((lease.claim.owner, lease.run_id), lease)
            held, _ = self._held.get(lease.run_id, (None, None))
            if held is None or held() is not lease:
                return
            self._held[lease.run_id] = (None, lease.claim)
        with suppress(JournalError):  # the thread does it as soon as it can
            yield from self._give_back(lease.run_id, lease.claim)

    def renew(self) -> None:
        """Renew the claims, and give back what nobody drives any more.

        Where they may have lapsed, each is claimed anew; it is lost where somebody was faster.

        Raises:
            JournalError: the store cannot be asked.
        """
        with self._renewing:
            if self._held and (owner := self._owner()) is not None:
                self._keep(owner.id)
        for run_id, (held, claim) in list(self._held.items()):
            lease = None if held is None else held()
            if lease is None:
                at_once(self._give_back(run_id, claim))
            elif not (lease.is_sure or lease.is_claimed_anew):  # nobody waits for who does it
                with suppress(RunBusyError):  # it is told right before its next tool
                    self.claim_anew(lease, is_renewal=True)

    def rest(self) -> bool:
        """Whether there is nothing to renew; if so, the thread that asks ends, and nobody else."""
        with self._lock:
            if not self._held:
                self._thread = None
            return not self._held

    @property
    def pause_s(self) -> float:
        """How long after renewing claims they are to be renewed again."""
        return RENEWED * self._time_s

    def _swap(self, lease: Lease, was: Claim | None, now: Claim) -> Steps[bool]:
        """Put a claim into the store, as that of the lease. A lease that fails is driven no more.

        Where nobody knows whether it was written, it is given back as soon as that can be done.
        """
        key = now.owner, lease.run_id
        with self._lock:
            _CLAIMING[key] += 1
        try:
            is_ours = yield from self._put(lease.run_id, was, now)
            if not is_ours:
                found = yield from self._ask(partial(self._claims.find, lease.run_id))
                is_ours = found == now  # written, but not told
            if is_ours:
                _DRIVEN[key] = lease
                lease.claim, lease.is_released = now, False  # only now may anybody be sure of it
                self._hold(lease)
            else:
                _drop(key, lease)
        except BaseException:
            _drop(key, lease)
            with self._lock:
                self._held.setdefault(lease.run_id, (None, now))
            raise
        finally:
            with self._lock:
                _CLAIMING[key] -= 1
                if not _CLAIMING[key]:
                    del _CLAIMING[key]
        return is_ours

    def _hold(self, lease: Lease) -> None:
        with self._lock:
            self._held[lease.run_id] = (ref(lease), lease.claim)
            if self._renews and self._thread is None:
                wake = SimpleQueue[None]()  # whose `put` may be called in a finalizer
                thread = Thread(
                    target=renew_for_ever, args=(ref(self), wake), name="detent claims", daemon=True
                )
                thread.start()
                self._thread = thread
                finalize(self, wake.put, None)

    def _unhold(self, lease: Lease) -> None:
        with self._lock:
            held, _ = self._held.get(lease.run_id, (None, None))
            if held is not None and held() is lease:
                del self._held[lease.run_id]

    def _put(self, run_id: str, was: Claim | None, now: Claim) -> Steps[bool]:
        swap: tuple[str, Claim | None, Claim] = (run_id, was, now)
        if not self.is_shared:
            return self._claims.swap(*swap)
        begin = None if self._submit_swap is None else partial(self._submit_swap, *swap)
        try:
            return bool((yield Wait(partial(self._claims.swap, *swap), begin)))
        except Exception as error:
            self.writes.note(error)
            raise

    def _give_back(self, run_id: str, claim: Claim) -> Steps[None]:
        yield from self._put(run_id, claim, given_back(claim))
        with self._lock:
            if self._held.get(run_id) == (None, claim) or not _is_driven(self._held.get(run_id)):
                self._held.pop(run_id, None)

    def _require_free(self, run_id: str, found: Claim | None) -> None:
        owner = None if found is None or not found.owner else self._claims.owner(found.owner)
        if found is None or owner is None:
            return
        now = self._clock.now()  # a silence counts from the first look, before a claim is over
        if self._late.has_stood_still(owner, now) and not is_held(found, owner, now):
            return
        key = owner.id, run_id
        is_dropped = is_this_process(owner) and key not in _DRIVEN and key not in _CLAIMING
        if not (is_dropped or has_ended(owner)):
            raise RunBusyError(run_id, found, owner)

    def _owner(self) -> Owner | None:
        """Who we are; None where our claims may have lapsed, as they never do in memory."""
        if self._known is None:
            return None
        owner, until, ran_until = self._known
        is_sure = not self.is_shared or (self._clock.now() < until and run_time() < ran_until)
        return owner if is_sure else None

    def _sure_owner(self) -> Owner:
        """Who we are: somebody new where our claims may have lapsed."""
        if (owner := self._owner()) is None:
            with self._renewing:
                owner = self._owner() or self._keep(SystemChance().new_id())
        return owner

    def _keep(self, owner_id: str) -> Owner:
        """Renew our claims. Their time counts from before that is written, which may take long."""
        at, ran = self._clock.now(), run_time()
        owner = this_process(owner_id, at + self._time_s)
        try:
            self._claims.keep(owner)
        except Exception as error:
            self.writes.note(error)
            raise
        self._known = owner, at + self._sure_s, ran + self._sure_s
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


def _drop(key: tuple[str, str], lease: Lease) -> None:
    if _DRIVEN.get(key) is lease:
        del _DRIVEN[key]


def _is_driven(held: tuple[ReferenceType[Lease] | None, Claim] | None) -> bool:
    return held is not None and held[0] is not None and held[0]() is not None
