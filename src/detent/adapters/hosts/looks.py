"""Looks: when a host looks in its store, for runs that nobody drives, and for what waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from threading import Lock
from time import monotonic

from attrs import evolve

from detent.adapters.drivers.company.writes import Writes
from detent.adapters.hosts.finder import Finder
from detent.adapters.hosts.reading import asked
from detent.adapters.system.failures import is_stop
from detent.adapters.system.threads_and_loops import NoThreadError, in_another_thread
from detent.adapters.telemetry.logs import LOGGER
from detent.core.errors import DetentError
from detent.ports.clock import Clock
from detent.ports.listing import StoredRun, WaitingQuestions

SHORTEST_S = 0.01
"""The store is not looked at again sooner."""
STALE_LOOKS = 5
"""A host is not ready when so many looks at the store have failed, one after the other.

A look fails as well where the store can be read, and does not take what is written.
"""
SILENT_S = 30.0
"""Nor when none has succeeded for so long. A look at a file that somebody holds waits for it, which
is no failure yet: a host that was not ready for that moment would be sent no request, and back."""


QUESTIONS_S = 2.0
"""So long whoever asks how many questions wait, waits for the store."""
QUESTIONS_MAX_S = 600.0
"""So old may be what is said instead, while the store does not say it."""


class Looks:
    """Looks every so often, when a known wait is over, and when somebody is in a hurry."""

    def __init__(self, finder: Finder, clock: Clock, look_s: float) -> None:
        self._finder, self._clock, self._look_s = finder, clock, look_s
        self._now = asyncio.Event()
        self._is_ended = False
        self._looked_at, self._is_writable = float("-inf"), True
        self._failures, self._failure = 0, ""

    async def found(self, here: Callable[[], AbstractSet[str]]) -> list[StoredRun]:
        """The runs to go on with, but for those that are here, or have come while it was looked."""
        found = await asked(partial(self._finder.look, here()))
        self._seen()
        known = here()
        return [run for run in found if run.run_id not in known]

    @property
    def unlisted(self) -> AbstractSet[str]:
        """Those that were here at the last look, and that the store did not list as at work."""
        return self._finder.unlisted

    async def reached(self) -> None:
        """Look whether the store is there, and for nothing: in a process that drives no runs."""
        await asked(self._finder.reach)
        self._seen()

    def _seen(self) -> None:
        if self._is_writable:
            self._looked_at, self._failures, self._failure = monotonic(), 0, ""

    def _failed(self, what: str) -> None:
        self._failures, self._failure = self._failures + 1, what

    async def for_ever(
        self,
        look: Callable[[], Awaitable[object]],
        also: Callable[[], object],
        writes: Writes,
    ) -> None:
        """Look, again and again; `also` is done then, in a thread.

        A look at a store to which a write has failed proves before that it can be written.

        RULE: what can be read is looked at also while the store cannot be written: where that has
        just come to an end, nobody waits for the next look.
        """
        while not self._is_ended:
            self._now.clear()
            try:
                self._is_writable = not writes.have_failed or await self._are_proven(writes)
                await look()
                await asked(also)
            except BaseException as error:
                if is_stop(error):
                    raise
                name = type(error).__name__  # a store that is away comes back
                self._failed(f"it could not be looked at ({name})")
                LOGGER.warning("the store of the runs could not be looked at: %s", name)
            pause_s = min(self._look_s, max(SHORTEST_S, self._finder.next_at - self._clock.now()))
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._now.wait()

    def hurry(self) -> None:
        """Look now."""
        self._now.set()

    def end(self) -> None:
        """Look no more."""
        self._is_ended = True
        self._now.set()

    async def _are_proven(self, writes: Writes) -> bool:
        try:
            await asked(writes.prove)
        except Exception as error:  # noqa: BLE001 - one that is full, or read-only, is so for a while
            name = type(error).__name__
            self._failed(f"it could not be written to ({name})")
            LOGGER.warning("the store of the runs could not be written to: %s", name)
            return False
        return True

    @property
    def trouble(self) -> str:
        """Why nobody knows how the store is by now, in a sentence; "" where one has succeeded.

        RULE: one place says when that is long enough to matter, for whoever sends requests here. It
        goes by a clock that nobody sets: by one that was set back, no store would have been away.
        """
        age_s, late_s = monotonic() - self._looked_at, STALE_LOOKS * max(self._look_s, 1.0)
        is_failing = self._failures >= STALE_LOOKS and age_s >= late_s
        if not is_failing and age_s < max(late_s, SILENT_S):
            return ""
        if self._failure:
            return f"the store of the runs is away: {self._failure}"
        if self._looked_at == float("-inf"):
            return "the store of the runs has not been looked at yet"
        return f"the store of the runs has not answered a look for {age_s:.0f} s"


class QuestionLooks:
    """Looks into the store for all who ask, in any thread and any event loop.

    RULE: one look at once. Those who watch ask again and again, also while a store hangs, and each
    look that waits for it holds a thread.

    RULE: a look that takes longer than anybody waits is not in vain. It goes on, and what it finds
    serves those who ask during the next one: else a store of very many questions never said any.

    Args:
        look: finds the questions; it blocks, and raises what the store does.
        clock: the time.
    """

    def __init__(self, look: Callable[[], WaitingQuestions], clock: Clock) -> None:
        self._look, self._clock, self._lock = look, clock, Lock()
        self._looking: Future[WaitingQuestions] | None = None
        self._known: WaitingQuestions | None = None

    def _future(self) -> Future[WaitingQuestions]:
        with self._lock:
            if self._looking is None or self._looking.done():
                self._looking = in_another_thread(self._seen)
            return self._looking

    def _seen(self) -> WaitingQuestions:
        at = self._clock.now()
        try:
            found = evolve(self._look(), at=at)
        except BaseException:
            self._known = None
            raise
        self._known = found
        return found

    def _last(self) -> WaitingQuestions | None:
        """What the last look has found, unless it has failed, or was long ago."""
        known, now = self._known, self._clock.now()
        if known is None or known.at is None or abs(now - known.at) > QUESTIONS_MAX_S:
            return None
        return known

    def now(self) -> WaitingQuestions | None:
        """What waits, or has when the store last said it; None where it does not. It blocks."""
        try:
            return self._future().result(QUESTIONS_S)
        except TimeoutError:
            return self._last()
        except (DetentError, NoThreadError):
            return None

    async def now_async(self) -> WaitingQuestions | None:
        """The same in an event loop."""
        try:
            async with asyncio.timeout(QUESTIONS_S):
                return await asyncio.wrap_future(self._future())
        except TimeoutError:
            return self._last()
        except (DetentError, NoThreadError):
            return None
