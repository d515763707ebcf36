"""An index of runs in memory: a page of a list without a look at every run."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import islice

from detent.ports.listing import Cursor, RunQuery, StoredRun, page_of


class RunIndex:
    """Runs in the order of lists, all of them and those of each status, agent, thread and label."""

    def __init__(self) -> None:
        self._runs: dict[str, StoredRun] = {}
        self._orders: dict[tuple[str, str], list[Cursor]] = {}

    def __getitem__(self, run_id: str) -> StoredRun | None:
        return self._runs.get(run_id)

    def put(self, run_id: str, run: StoredRun | None) -> None:
        """Take in a run as it is now; None when it is deleted."""
        if (old := self._runs.pop(run_id, None)) is not None:
            for key in _keys(old):
                order = self._orders[key]
                del order[bisect_left(order, old.cursor)]
                if not order:
                    del self._orders[key]
        if run is not None:
            self._runs[run_id] = run
            for key in _keys(run):
                insort(self._orders.setdefault(key, []), run.cursor)

    def page(self, query: RunQuery) -> list[StoredRun]:
        """The runs that a query asks for."""
        if query.run_id is not None:
            return page_of(filter(None, [self._runs.get(query.run_id)]), query)
        named = (
            *(("status", query.status), ("agent", query.agent)),
            *(("thread", query.thread_id), ("label", query.label)),
        )
        keys = [("", ""), *((kind, name) for kind, name in named if name is not None)]
        order = min((self._orders.get(key, []) for key in keys), key=len)
        return list(islice(filter(query.fits, self._behind(order, query.before)), query.limit))

    def _behind(self, order: list[Cursor], before: Cursor | None) -> Iterator[StoredRun]:
        end = len(order) if before is None else bisect_left(order, before)
        for place in range(end - 1, -1, -1):
            yield self._runs[order[place][1]]


def _keys(run: StoredRun) -> tuple[tuple[str, str], ...]:
    """The orders in which it stands."""
    named = (("", ""), ("status", run.status), ("agent", run.agent), ("thread", run.thread_id))
    return *named, *(("label", label) for label in run.labels)
