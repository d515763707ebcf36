"""A host with a million waiting runs: ``benchmarks/scale.py [RUNS] [FOLDER] [POSTGRES_URL]``.

It fills a store by its own appends, and then plays what `LocalHost` looks with, on a clock that
is moved by hand: the first look, which reads each waiting run, the looks after it, the waits that
end, runs that others drive, and who is next for a place. One run in ten waits for a time within an
hour, the others for a human alone. The folder should be on the disk that is to be measured.
"""
# ruff: noqa: INP001, T201  # a script that talks to a terminal

from __future__ import annotations

import gc
import sys
import time
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from resource import getpagesize
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias, TypeVar

from detent.adapters.drivers.leases import Keeper
from detent.adapters.drivers.steps import at_once
from detent.adapters.hosts.finder import WHOLE_S, Finder
from detent.adapters.hosts.places import Group, Places
from detent.hosts import HostLimits
from detent.journals import Entry, Listing, PostgresJournal, RunQuery, SQLiteJournal
from detent.testing import ManualClock

T = TypeVar("T")
Store: TypeAlias = SQLiteJournal | PostgresJournal

BEGAN, NOW = 1_000_000.0, 2_000_000.0
TIMED = 10
"""One run in so many waits for a time."""
HOUR_S = 3600.0
QUIET, PLAYED_S, RUNNING = 20, 60.0, 1000
TENANTS, PER_KEY = 1000, 4
WRITERS, WRITES = 8, 2000
PAYLOAD = {"text": "x" * 400}
"""About as much as a turn without long answers."""


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """The milliseconds that it takes, and what it gives."""
    began = time.perf_counter()
    given = work()
    return 1000 * (time.perf_counter() - began), given


def resident() -> int:
    """How many bytes of memory this process has."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()


def row(what: str, *figures: str) -> None:
    """A row of the table."""
    print(f"| {what} | {' | '.join(figures)} |", flush=True)


def fill(journal: Store, runs: int) -> None:
    """Runs that wait, the time of one in ten of them within the hour."""

    def begin(number: int) -> None:
        wake_at = NOW + HOUR_S * number / runs if number % TIMED == 0 else None
        listing = Listing("clerk", f"thread-{number % 5000}", wake_at, ("refund",))
        entry = Entry(0, BEGAN + number / 1000, "Asked", "waiting", {}, listing)
        journal.append(f"{number:08}", [entry])

    if isinstance(journal, SQLiteJournal):
        for number in range(runs):
            begin(number)
        return
    with ThreadPoolExecutor(WRITERS) as pool:
        deque(pool.map(begin, range(runs)), 0)


def writes(journal: Store) -> None:
    """What the store takes beside all that: entries of runs at work, and claims."""

    def work(writer: str, count: int) -> None:
        for number in range(count):
            entry = Entry(number, NOW, "Said", "running", PAYLOAD, Listing("clerk"))
            journal.append(writer, [entry])

    alone, _ = timed(lambda: work("alone", WRITES))

    def together() -> None:
        with ThreadPoolExecutor(WRITERS) as pool:
            each = WRITES // WRITERS
            deque(pool.map(lambda number: work(f"of-many-{number}", each), range(WRITERS)), 0)

    many, _ = timed(together)
    row(
        "appends a second, one after another",
        f"{1000 * WRITES / alone:.0f}",
        f"{1000 * WRITES / many:.0f} from {WRITERS} threads",
    )
    keeper = Keeper(journal.claims, renews=False)
    names = [f"alone-{number}" for number in range(RUNNING)]
    held: list[Any] = []
    taking, _ = timed(lambda: held.extend(at_once(keeper.take_steps(name)) for name in names))
    giving, _ = timed(lambda: [one.release() for one in held])
    row(
        "to take a claim, and to give it back",
        f"{1000 * taking / RUNNING:.0f} µs",
        f"{1000 * giving / RUNNING:.0f} µs",
    )


def size_of(journal: Store, folder: Path) -> int:
    """How many bytes the store has."""
    if isinstance(journal, SQLiteJournal):
        return sum(file.stat().st_size for file in folder.iterdir())
    import psycopg

    with psycopg.connect(sys.argv[3]) as base:
        found = base.execute("SELECT pg_database_size(current_database())").fetchone()
    assert found is not None  # noqa: S101 - it has a size
    return int(found[0])


def end(journal: Store, run_id: str, at: float) -> None:
    """What somebody who goes on with a run leaves of it."""
    journal.append(run_id, [Entry(1, at, "Ended", "done", {}, Listing("clerk"))])


def looks(journal: Store, runs: int) -> None:
    """The looks at a store of which nobody writes, and the waits that end in a minute."""
    clock = ManualClock(NOW - 1)
    finder = Finder(journal, Keeper(journal.claims, clock=clock), {"clerk"}, clock)
    before = resident()
    first, parts, longest = whole(finder, clock)
    bytes_each = (resident() - before) / (runs / TIMED)
    row(
        "to look at all, at the beginning", f"{first:.0f} ms", f"{1000 * first / runs:.2f} µs a run"
    )
    row("that is so many looks, the longest", f"{parts}", f"{longest:.0f} ms")
    row("memory of a run that waits for a time", f"{bytes_each:.0f} bytes", "")
    quiet: list[float] = []
    for _ in range(QUIET):
        clock.advance(0.01)
        quiet.append(timed(lambda: finder.look(()))[0])
    row("a look where nothing has come", f"{median(quiet):.2f} ms", "")
    play(journal, finder, clock)
    clock.advance(WHOLE_S)
    again, _, longest = whole(finder, clock)
    row(
        f"to look at all, each {WHOLE_S:.0f} s", f"{again:.0f} ms", f"{longest:.0f} ms, the longest"
    )


def whole(
    finder: Finder, clock: ManualClock, here: Collection[str] = ()
) -> tuple[float, int, float]:
    """Look until all have been seen: how long that takes, in how many looks, and the longest."""
    took: list[float] = []
    while not took or finder.next_at <= clock.now():
        took.append(timed(lambda: finder.look(here))[0])
    return sum(took), len(took), max(took)


def play(journal: Store, finder: Finder, clock: ManualClock) -> None:
    """Look when the next wait is over, and end what is found, for a minute."""
    took: list[float] = []
    woken, late = 0, 0.0
    while finder.next_at < NOW + PLAYED_S:
        clock.advance(max(0.0, finder.next_at - clock.now()))
        spent, found = timed(lambda: finder.look(()))
        took.append(spent)
        woken += len(found)
        for run in found:
            late = max(late, clock.now() - (run.wake_at or 0.0))
            end(journal, run.run_id, clock.now())
    slow = sorted(took)[int(0.99 * len(took))]
    row("a wait that ends: a look", f"{median(took):.2f} ms", f"{slow:.2f} ms, 99 of 100")
    row(
        f"waits that end in {PLAYED_S:.0f} s", f"{woken} in {len(took)} looks", f"{late:.3f} s late"
    )


def others(journal: Store) -> None:
    """What a look costs where other processes drive runs."""
    clock = ManualClock(NOW)
    theirs, ours = Keeper(journal.claims, renews=False), Keeper(journal.claims, clock=clock)
    held: list[object] = []
    for number in range(RUNNING):
        run_id = f"driven-{number}"
        journal.append(run_id, [Entry(0, NOW, "Asked", "running", {}, Listing("clerk"))])
        held.append(at_once(theirs.take_steps(run_id)))
    finder = Finder(journal, ours, {"clerk"}, clock)
    here = {f"driven-{number}" for number in range(RUNNING)}
    whole(finder, clock, here)
    own, _ = timed(lambda: finder.look(here))
    row(
        f"a look, {RUNNING:,} runs are driven here",
        f"{own:.1f} ms",
        f"{1000 * own / RUNNING:.1f} µs a run",
    )
    theirs_ms, found = timed(lambda: finder.look(()))
    each = f"{1000 * theirs_ms / RUNNING:.1f} µs a run"
    row(f"a look, {RUNNING:,} are driven elsewhere", f"{theirs_ms:.1f} ms", each)
    assert not found  # noqa: S101 - else it has measured something else
    del held


def pages(journal: Store) -> None:
    """What a person who looks for runs waits for."""
    first, _ = timed(lambda: journal.runs(RunQuery("waiting", limit=50)))
    middle = (BEGAN + 1.0, "")
    deep, _ = timed(lambda: journal.runs(RunQuery("waiting", before=middle, limit=50)))
    row("a page of 50 that wait", f"{first:.2f} ms", f"{deep:.2f} ms far down")


def places(runs: int) -> None:
    """Nine of ten runs are one tenant's, and came first: when the others have a place."""
    waiting = Places(HostLimits(per_key=PER_KEY, waiting=runs))
    small = runs // 10

    def add() -> None:
        for number in range(runs):
            is_small = number >= runs - small
            tenant = f"tenant-{number % TENANTS}" if is_small else "large"
            waiting.add(f"{number:08}", ("clerk", tenant))

    adding, _ = timed(add)
    large, others_gone = 0, 0
    going: deque[Group] = deque()

    def take() -> None:
        nonlocal large, others_gone
        while others_gone < small:
            taken = waiting.take()
            if taken is None:  # no place is left: who has gone on for longest ends
                waiting.release(going.popleft())
                continue
            going.append(taken[1])
            is_large = taken[1][1] == "large"
            large, others_gone = large + is_large, others_gone + (not is_large)

    taking, _ = timed(take)
    row("a run that waits for a place: add", f"{1000 * adding / runs:.2f} µs", "")
    row("and take, and give back", f"{1000 * taking / (large + others_gone):.2f} µs", "")
    row(
        "of the tenant with nine in ten, before the others have gone on",
        f"{large:,}",
        f"of {runs - small:,}",
    )


def main() -> None:
    """Print a table."""
    runs, folder, url = [*sys.argv[1:], *("1000000", "", "")[len(sys.argv) - 1 :]]
    count = int(runs)
    print(f"| {count:,} runs wait | | |\n|---|---:|---:|")
    with TemporaryDirectory(dir=folder or None) as name:
        journal = PostgresJournal(url) if url else SQLiteJournal(Path(name) / "runs.db")
        before = size_of(journal, Path(name))
        filling, _ = timed(lambda: fill(journal, count))
        size = size_of(journal, Path(name)) - before
        row("filling the store", f"{filling / 1000:.0f} s", f"{size / count:.0f} bytes a run")
        pages(journal)
        looks(journal, count)
        others(journal)
        writes(journal)
    places(count)


if __name__ == "__main__":
    main()
