"""How long a page of runs takes: ``python benchmarks/run_lists.py [RUNS] [POSTGRES_URL]``.

It fills each store with runs of one entry each, by its own appends, and prints the median time of a
page of 50, in milliseconds: from the front, from the middle, and by status, agent and thread.
"""
# ruff: noqa: INP001, T201  # a script that talks to a terminal

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from detent.journals import (
    DirectoryJournal,
    Entry,
    Journal,
    Listing,
    MemoryJournal,
    PostgresJournal,
    RunQuery,
    SQLiteJournal,
)

PAGE, TIMES = 50, 21
STATUSES = ("done", "done", "done", "failed", "running", "waiting")


def stores(folder: Path, url: str | None) -> Iterator[tuple[str, Journal, int]]:
    """Each store, and by how much fewer runs it is measured: a file takes its time to make."""
    yield "memory", MemoryJournal(), 1
    yield "sqlite", SQLiteJournal(folder / "runs.db"), 1
    if url is not None:
        yield "postgres", PostgresJournal(url), 1
    yield "directory", DirectoryJournal(folder / "runs"), 20


def fill(journal: Journal, runs: int) -> None:
    """Runs of many agents and threads; one in six waits."""
    for number in range(runs):
        listing = Listing(f"agent-{number % 20}", f"thread-{number % 5000}")
        status = STATUSES[number % len(STATUSES)]
        journal.append(f"{number:08}", [Entry(0, number / 3, "Started", status, {}, listing)])


def took_ms(journal: Journal, query: RunQuery) -> float:
    """The median of some pages, after one that may have to bring an index up to date."""
    journal.runs(query)
    times: list[float] = []
    for _ in range(TIMES):
        start = time.perf_counter()
        journal.runs(query)
        times.append(1000 * (time.perf_counter() - start))
    return median(times)


def main() -> None:
    """Fill, ask and print."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    middle = (runs / 6, "")
    queries = {
        "first page": RunQuery(limit=PAGE),
        "a page in the middle": RunQuery(before=middle, limit=PAGE),
        "waiting": RunQuery("waiting", before=middle, limit=PAGE),
        "of an agent": RunQuery(agent="agent-7", before=middle, limit=PAGE),
        "of a thread": RunQuery(thread_id="thread-7", limit=PAGE),
        "waiting, of an agent": RunQuery("waiting", "agent-5", limit=PAGE),
    }
    print(f"| store | runs | {' | '.join(queries)} |\n|---|---:|{'---:|' * len(queries)}")
    with TemporaryDirectory() as folder:
        for name, journal, fewer in stores(Path(folder), *sys.argv[2:3] or [None]):
            fill(journal, runs // fewer)
            times = [f"{took_ms(journal, query):.2f}" for query in queries.values()]
            print(f"| {name} | {runs // fewer:,} | {' | '.join(times)} |", flush=True)


if __name__ == "__main__":
    main()
