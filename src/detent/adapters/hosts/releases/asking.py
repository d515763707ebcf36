"""Asking anew: a run that waits by a question of another release asks by the tools that are here.

RULE: one release at a time. Whoever has a question put anew holds a claim on the version of its
tool, as long as it lives; another release that is up finds that, and leaves the question alone.
Else each would have the questions of the other put anew: people answer twice, and the runs grow. So
nobody has to guess whether the other release is gone, and how long to be silent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from threading import Lock

from attrs import frozen

from detent.adapters.drivers.leases import Keeper, Lease
from detent.adapters.drivers.steps import at_once
from detent.adapters.system.threads_and_loops import NoThreadError, in_another_thread
from detent.adapters.telemetry.logs import LOGGER
from detent.core.machine.binding import OutdatedQuestion
from detent.core.tools.version import hash_of
from detent.ports.claims import RunBusyError
from detent.ports.clock import Clock
from detent.ports.journal import JournalError
from detent.ports.listing import StoredRun

FIRST_PAUSE_S, LAST_PAUSE_S = 5.0, 30.0
"""After how long the same run is asked anew again: at first, and at most. An engine may give it to
a worker of the release that has asked, for which it asks nothing anew."""
LOOK_S = 2.0
"""How often it is looked whether another release still lives."""
WHOLE_S = 60.0
"""How often it is looked whether a run that is held back still waits, though that one lives."""
PART = 20
"""How many of the runs that are held back one look reads at most."""
KEPT = 1000
"""Of so many runs it is known that they are held back, and when they were asked anew."""


@frozen
class _Asked:
    next_at: float = float("-inf")
    pause_s: float = FIRST_PAUSE_S


@frozen
class _Held:
    """A run that another release keeps, with the claims that say so."""

    names: tuple[str, ...]
    read_at: float


class AskingAnew:
    """Has runs ask once more, unless a release that lives has put their question itself.

    Any thread may tell it of runs.

    Args:
        ask: has a run go on, so that it asks.
        keeper: has the claims of this process.
        clock: the time.
        read: reads a run, and tells of it again if its question still fits no longer.
    """

    def __init__(
        self,
        ask: Callable[[StoredRun], Awaitable[object]],
        keeper: Keeper,
        clock: Clock,
        read: Callable[[str], object],
    ) -> None:
        self._ask, self._keeper, self._clock, self._read = ask, keeper, clock, read
        self._lock, self._claiming = Lock(), Lock()
        self._asked: dict[str, _Asked] = {}
        self._held: dict[str, _Held] = {}
        self._found: dict[str, tuple[str, float]] = {}  # by claim, who has it, and seen when
        self._own: dict[str, Lease | None] = {}  # None: another process of this release has it
        self._looked_at = float("-inf")
        self._is_closed = False
        self._loop = asyncio.get_running_loop()

    def tell(self, run: StoredRun, questions: Sequence[OutdatedQuestion]) -> str:
        """Have a run ask anew whose questions fit no longer, unless that was done lately.

        It blocks. It says which release keeps the run, where that is not to be done; else "".

        Raises:
            JournalError: the store cannot be asked.
        """
        others = [one for one in questions if one.was != one.now]
        theirs = tuple(_claim_name(run, one.was) for one in others)
        if holder := self._holder_of(theirs):
            with self._lock:
                self._asked.pop(run.run_id, None)
                if run.run_id in self._held or len(self._held) < KEPT:
                    self._held[run.run_id] = _Held(theirs, self._clock.now())
            return holder
        self.drop(run.run_id)
        if self._is_time(run.run_id) and not self._is_closed:
            ours = {_claim_name(run, one.now) for one in others}
            asyncio.run_coroutine_threadsafe(self._go(run, ours), self._loop)
        return ""

    def drop(self, run_id: str) -> None:
        """A run is not held back any more."""
        with self._lock:
            self._held.pop(run_id, None)

    def held(self) -> frozenset[str]:
        """The runs that are held back."""
        with self._lock:
            return frozenset(self._held)

    def look(self) -> None:
        """Look whether those that keep runs still live, and have runs asked anew where they do not.

        It blocks, and is for one thread at a time.

        Raises:
            JournalError: the store cannot be asked.
        """
        now = self._clock.now()
        if self._is_closed or self._looked_at <= now < self._looked_at + LOOK_S:
            return
        self._looked_at = now
        self._claim(list(self._own))
        with self._lock:
            held = list(self._held.items())
        for run_id, one in islice((one for one in held if self._is_to_be_read(one[1], now)), PART):
            self.drop(run_id)  # unless it is told of again
            try:
                self._read(run_id)
            except JournalError:
                with self._lock:
                    self._held.setdefault(run_id, one)  # to be read once the store is back
                raise

    def _is_to_be_read(self, held: _Held, now: float) -> bool:
        is_late = not held.read_at <= now < held.read_at + WHOLE_S
        return is_late or not self._holder_of(held.names)

    def _is_time(self, run_id: str) -> bool:
        """Whether it is to be asked anew now. RULE: ever more rarely, as it may come to nothing."""
        with self._lock:
            last, now = self._asked.pop(run_id, _Asked()), self._clock.now()
            if now < last.next_at <= now + LAST_PAUSE_S:
                self._asked[run_id] = last
                return False
            pause_s = min(2 * last.pause_s, LAST_PAUSE_S)
            self._asked[run_id] = _Asked(now + last.pause_s, pause_s)
            while len(self._asked) > KEPT:
                del self._asked[next(iter(self._asked))]
            return True

    async def _go(self, run: StoredRun, names: Iterable[str]) -> None:
        """RULE: the claim first, so that whoever finds the new question leaves it alone."""
        await asyncio.wrap_future(in_another_thread(partial(self._claim, names)))
        await self._ask(run)

    def _claim(self, names: Iterable[str]) -> None:
        """Hold these claims, unless another process of this release does: then once it is gone."""
        with self._claiming:
            for name in () if self._is_closed else names:
                lease = self._own.setdefault(name, None)
                if lease is None or not lease.is_sure:
                    with suppress(RunBusyError, JournalError):  # the next look tries again
                        self._own[name] = at_once(self._keeper.take_steps(name))

    def _holder_of(self, names: Iterable[str]) -> str:
        """Who lives and has one of these claims; "" where nobody else has."""
        now = self._clock.now()
        for name in names:
            if self._own.get(name) is not None:
                continue
            text, at = self._found.get(name, ("", now))
            if not (text and at <= now < at + LOOK_S):
                text = self._look_for(name)
                self._found[name] = text, now
            if text:
                return text
        return ""

    def _look_for(self, name: str) -> str:
        try:
            at_once(self._keeper.require_free(name))
        except RunBusyError as busy:
            owner = busy.owner
            return "another process" if owner is None else owner.text
        return ""

    async def close(self) -> None:
        """Ask nothing anew any more, and leave that to another release.

        Where no thread can be begun, that finds out by itself, as if this process had died.
        """
        self._is_closed = True
        try:
            await asyncio.wrap_future(in_another_thread(self._leave))
        except NoThreadError:  # RULE: what is at work is to be heard out all the same
            LOGGER.warning("no thread can be begun: what this release has asked anew is left to it")

    def _leave(self) -> None:
        with self._claiming:
            leases = [lease for lease in self._own.values() if lease is not None]
            self._own.clear()
        for lease in leases:
            lease.release()


def _claim_name(run: StoredRun, version: str) -> str:
    """What is claimed. RULE: nothing new may be called so: no run is kept by it."""
    return f"release\n{hash_of(run.agent, version)}"
