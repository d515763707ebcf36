"""The finder: looks in a store for runs that somebody should go on with, and for times that come.

A run is found where it is owed something and nobody drives it: its driver has died, somebody has
decided, or what it waits for is over. Waiting runs cost nothing here but those that wait for a
time, of which two numbers are kept.

RULE: a clock that is set back delays nothing here by more than `BUSY_S`: a time that is further
away than it was when it was noted is noted anew.

RULE: no look takes longer because more runs wait. All of them are read at the beginning and each
ten minutes, but a part at a time, so that a wait which ends meanwhile is not late.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush, merge
from itertools import chain, islice
from typing import Protocol

from attrs import evolve

from detent.adapters.drivers.steps import Steps, at_once
from detent.ports.claims import RunBusyError
from detent.ports.clock import Clock
from detent.ports.journal import Journal
from detent.ports.listing import RunQuery, StoredRun

PAGES = (20, 500)
"""How many runs the first page of a look has, and each one behind: mostly there is little news."""
PART = 5000
"""How many of the runs that wait one look reads at most, of those that nobody has written to."""
BUSY_S = 2.0
"""How long a run that another process drives is left alone before its claim is looked at again."""
SLACK_S = 15.0
"""By how much clocks of processes may differ."""
WHOLE_S = 600.0
"""After how long all runs that wait are looked at, and not those alone that were written to."""


def runs_of(
    journal: Journal,
    agents: Collection[str],
    query: RunQuery,
    pages: tuple[int, int],
    since: float = float("-inf"),
) -> Iterator[StoredRun]:
    """The runs of some agents, the one last written to first, as far as they are as new; it blocks.

    RULE: they cost no more where very many runs are of other agents. A page of all of them is one
    question, however many agents there are, and serves as long as most of it is asked for; behind
    one of which less is, each agent is asked for by itself.

    Args:
        journal: where they are.
        agents: whose runs.
        query: which of these; its limit counts for nothing.
        pages: how many runs the first page has, and each one behind.
        since: the oldest time, in seconds since 1970, of a run's last entry.
    """
    if len(agents) == 1:
        query = evolve(query, agent=next(iter(agents)))
    limit, later = pages
    while True:
        page = journal.runs(evolve(query, limit=limit))
        own = [run for run in page if run.agent in agents]
        yield from (run for run in own if run.at >= since)
        if len(page) < limit or page[-1].at < since:
            return
        query, limit = evolve(query, before=page[-1]), later
        if len(agents) > 1 and 2 * len(own) < len(page):
            break
    ways = [runs_of(journal, {agent}, query, pages, since) for agent in agents]
    yield from merge(*ways, key=lambda run: run.cursor, reverse=True)


class Claimed(Protocol):
    """Knows which runs somebody drives."""

    def require_free(self, run_id: str) -> Steps[None]:
        """Raise RunBusyError where somebody does."""
        ...


class Finder:
    """Looks for runs of some agents in one store. It blocks, and is for one thread at a time."""

    def __init__(
        self, journal: Journal, keeper: Claimed, agents: Collection[str], clock: Clock
    ) -> None:
        self._journal = journal
        self._keeper = keeper
        self._agents = agents
        self._clock = clock
        self._busy: dict[str, float] = {}
        self._wakes: list[tuple[float, str]] = []
        self._known: dict[str, float] = {}  # by run, the wake that counts
        self._whole: Iterator[StoredRun] | None = None  # what is left of a look at all that wait
        self._whole_at = float("-inf")
        self._seen_at = clock.now()
        self.next_at = float("inf")
        """When the next wait that is known is over."""
        self.unlisted: AbstractSet[str] = frozenset()
        """Those that were here at the last look and were not listed as "running"."""

    def look(self, here: Collection[str]) -> list[StoredRun]:
        """The runs to go on with, but for those that are here; who was written to first, first.

        Raises:
            JournalError: the store cannot be read.
        """
        now = self._clock.now()
        self.next_at = float("inf")
        running = list(self._runs("running"))
        self.unlisted = set(here) - {run.run_id for run in running}
        found = [run for run in running if self._is_owed(run, now, here)]
        self._look_at_waits(now)
        found += [run for run in self._over(now) if run.run_id not in here]
        free = [run for run in found if self._is_free(run.run_id, now) and self._is_as_listed(run)]
        self._busy = {run_id: at for run_id, at in self._busy.items() if at > now}
        if self._wakes:
            self.next_at = min(self.next_at, self._wakes[0][0])
        return sorted(free, key=lambda run: run.cursor)

    def reach(self) -> None:
        """Look whether the store can be read. Raises JournalError where it cannot."""
        self._journal.runs(RunQuery(limit=1))

    def _runs(self, status: str, since: float = float("-inf")) -> Iterator[StoredRun]:
        """The runs of these agents, the one last written to first, as far as they are as new."""
        return runs_of(self._journal, self._agents, RunQuery(status), PAGES, since)

    def _is_owed(self, run: StoredRun, now: float, here: Collection[str]) -> bool:
        """Whether something is owed to a run that is "running", now."""
        if run.wake_at is not None and run.wake_at > now:
            self.next_at = min(self.next_at, run.wake_at)
            return False
        return run.run_id not in here

    def _look_at_waits(self, now: float) -> None:
        """Take in the times that runs which wait for a human wait for as well."""
        news = self._runs("waiting", self._seen_at - SLACK_S)
        for run in chain(news, self._part_of_all(now)):
            if run.wake_at is not None and run.wake_at > now:
                self._keep(run.run_id, run.wake_at)
            elif run.wake_at is not None and not self._is_soon(run.run_id, now):
                self._keep(run.run_id, now)
        self._seen_at = now

    def _part_of_all(self, now: float) -> list[StoredRun]:
        """The next part of all the runs that wait, when it is time to look at them."""
        if self._whole is None and 0 <= now - self._whole_at < WHOLE_S:
            return []
        if self._whole is None:
            self._whole, self._whole_at = self._runs("waiting"), now
        try:
            part = list(islice(self._whole, PART))
        except BaseException:
            self._whole, self._whole_at = None, float("-inf")  # from the front, next time
            raise
        if len(part) < PART:
            self._whole = None
        else:
            self.next_at = now
        return part

    def _over(self, now: float) -> Iterator[StoredRun]:
        """The runs whose wait is over, as they are now."""
        while self._wakes and self._wakes[0][0] <= now:
            at, run_id = heappop(self._wakes)
            if self._known.get(run_id) == at:
                del self._known[run_id]
                for run in self._journal.runs(RunQuery("waiting", run_id=run_id)):
                    if run.wake_at is not None:  # whoever goes on with it may die
                        self._keep(run_id, max(run.wake_at, now + BUSY_S))
                    if run.wake_at is not None and run.wake_at <= now:
                        yield run

    def _keep(self, run_id: str, at: float) -> None:
        if self._known.get(run_id) != at:
            self._known[run_id] = at
            heappush(self._wakes, (at, run_id))

    def _is_soon(self, run_id: str, now: float) -> bool:
        """Whether the wake that counts for a run that could be woken comes soon enough."""
        return self._known.get(run_id, float("inf")) <= now + BUSY_S

    def _is_as_listed(self, run: StoredRun) -> bool:
        """Whether a run that nobody drives has not just been left by who did.

        RULE: one that waits by now is not gone on with: its question would be gone for a moment.
        """
        found = self._journal.runs(RunQuery(run_id=run.run_id))
        return any(listed.status == run.status for listed in found)

    def _is_free(self, run_id: str, now: float) -> bool:
        if now < self._busy.get(run_id, now) <= now + BUSY_S:
            return False
        try:
            at_once(self._keeper.require_free(run_id))
        except RunBusyError:
            self._busy[run_id] = now + BUSY_S
            return False
        return True
