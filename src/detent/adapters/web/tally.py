"""A tally: how many runs there were on each day, of each agent and status, by the index alone.

A run that is written to moves to the front of the list. So what is known stays known, and only what
stands in front of it is looked at again.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from detent.ports.hosting import Host
from detent.ports.listing import Cursor, StoredRun

DAY_S = 86_400
PAGE = 1_000
"""So many runs are looked at together."""
BUDGET_S = 0.4
"""So long one look takes at most; the next one goes on where it has left off."""
RUNS_MAX = 500_000
"""So many runs are counted at most."""

Key: TypeAlias = tuple[int, str, str]
"""A day, counted from 1970 in UTC, an agent and a status."""


def day_of(at: float) -> int:
    """The day of a time in seconds since 1970, in UTC."""
    return int(at // DAY_S)


class Tally:
    """Counts the runs of a host. `clock` says how much time has gone by."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.counts = Counter[Key]()
        self.is_whole = False
        self._clock, self._alone = clock, asyncio.Lock()
        self._runs: dict[str, Key] = {}
        self._newest: Cursor | None = None
        self._oldest: Cursor | None = None

    def __len__(self) -> int:
        return len(self._runs)

    async def look(self, host: Host, first: int) -> None:
        """Take in what is new, and then what is older, back to the `first` day, as time allows.

        Raises:
            JournalError: the list cannot be read. What is known stays.
        """
        async with self._alone:
            end = self._clock() + BUDGET_S
            self._drop_before(first)
            if not await self._look_at_front(host, end):
                self._forget()  # so much is new that it is quicker to begin again
                await self._look_at_front(host, end)
            while not self.is_whole and len(self) < RUNS_MAX:  # a page at least: it must get on
                found = await host.runs(before=self._oldest, limit=PAGE)
                self._take(found)
                self.is_whole = len(found) < PAGE or day_of(found[-1].at) < first
                if self._clock() >= end:
                    break
            self._drop_before(first)

    async def _look_at_front(self, host: Host, end: float) -> bool:
        """Whether all that is new could be looked at."""
        before: Cursor | None = None
        known, fresh = self._newest, list[StoredRun]()
        while True:
            found = await host.runs(before=before, limit=PAGE)
            fresh += [run for run in found if known is None or run.cursor > known]
            if known is None or len(found) < PAGE or found[-1].cursor <= known:
                break
            if self._clock() >= end:
                return False
            before = found[-1].cursor
        self._take(fresh)
        self.is_whole = self.is_whole or (known is None and len(fresh) < PAGE)
        return True

    def _take(self, runs: Sequence[StoredRun]) -> None:
        for run in runs:
            key = (day_of(run.at), run.agent, run.status)
            if (old := self._runs.get(run.run_id)) is not None:
                self.counts[old] -= 1
            self._runs[run.run_id] = key
            self.counts[key] += 1
        if runs:
            ends = runs[0].cursor, runs[-1].cursor
            self._newest = max(ends[0], self._newest or ends[0])
            self._oldest = min(ends[1], self._oldest or ends[1])

    def _drop_before(self, first: int) -> None:
        if any(day < first for day, _, _ in self.counts):
            self._runs = {name: key for name, key in self._runs.items() if key[0] >= first}
            self.counts = Counter(self._runs.values())

    def _forget(self) -> None:
        self.counts, self._runs = Counter(), {}
        self.is_whole, self._newest, self._oldest = False, None, None
