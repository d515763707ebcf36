"""Where a simulated run is kept: a real store, in a place of its own, with ways to die in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Literal, TypeAlias

from attrs import frozen

from detent.adapters.journals.directory import DirectoryJournal
from detent.adapters.journals.memory import MemoryJournal
from detent.adapters.journals.sqlite import SQLiteJournal
from detent.adapters.testing.simulation.damage import damage
from detent.ports.journal import (
    Checkpoint,
    Entry,
    Journal,
    JournalError,
    JournalUnavailableError,
)
from detent.ports.listing import ALL_RUNS, RunQuery, StoredRun

Fate: TypeAlias = Literal["before", "torn", "half", "after", "refused", "away", "unheard"]
"""What befalls an append: the process dies before it, in it, before the checkpoint that goes with
it, or before it hears that all is safe; or the store refuses it, is away for a moment, or goes away
before it has said that all is safe."""


QUICK = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - a folder of its own in it
"""Where files are in memory, if anywhere: what dies here is a process and never the machine."""


class Died(BaseException):
    """The process is gone, in the middle of what it was doing."""


class DiskFullError(JournalError):
    """The store cannot write now."""


@frozen
class SharedStore:
    """A store, as several processes open it one after the other.

    Of an append made within `tear` there is what a process leaves that dies while it writes;
    without it, the store never shows half an append. `damage` changes what is stored, and says how;
    without it, nothing ever does.
    """

    open: Callable[[], Journal]
    tear: Callable[[], AbstractContextManager[object]] | None = None
    damage: Callable[[Random], str] | None = None


@contextmanager
def memory_store() -> Generator[SharedStore, None, None]:
    """A journal in memory, which survives the simulated processes."""
    journal = MemoryJournal()
    yield SharedStore(lambda: journal)


@contextmanager
def directory_store() -> Generator[SharedStore, None, None]:
    """A journal in a directory. The last line is cut where the process died."""
    with TemporaryDirectory(dir=QUICK) as folder:

        @contextmanager
        def tear() -> Generator[None, None, None]:
            before = {path: path.read_bytes() for path in Path(folder).glob("*.jsonl")}
            yield
            for path in Path(folder).glob("*.jsonl"):
                if path not in before:  # its head is written last: it would say too much
                    path.unlink()
                    continue
                old, new = before[path], path.read_bytes()
                path.write_bytes(old + new[len(old) : (len(old) + len(new)) // 2])

        def harm(rng: Random) -> str:
            return damage(sorted(Path(folder).iterdir()), rng)

        yield SharedStore(lambda: DirectoryJournal(folder), tear, harm)


@contextmanager
def sqlite_store() -> Generator[SharedStore, None, None]:
    """A journal in an SQLite file."""
    with TemporaryDirectory(dir=QUICK) as folder:
        path = Path(folder) / "runs.db"

        def harm(rng: Random) -> str:
            with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as db:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # a log that is cut is cut in silence
            return damage([path], rng)

        yield SharedStore(lambda: SQLiteJournal(path), damage=harm)


@frozen
class ShakyJournal:
    """A process's handle on a store.

    `fate` says what befalls the next append, `wrote` hears of entries that are safe.
    """

    store: SharedStore
    journal: Journal
    fate: Callable[[], Fate | None]
    wrote: Callable[[Sequence[Entry]], object]

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As `Journal.append` says, unless something befalls it."""
        fate = self.fate()
        if fate == "refused":
            raise DiskFullError("the disk is full")
        if fate == "away":
            raise JournalUnavailableError("the store is away")
        if fate == "before" or (fate == "torn" and self.store.tear is None):
            raise Died
        torn = self.store.tear() if fate == "torn" and self.store.tear else nullcontext()
        with torn:
            self.journal.append(run_id, entries, None if fate in ("half", "torn") else checkpoint)
        if fate not in (None, "unheard"):
            raise Died
        self.wrote(entries)
        if fate == "unheard":
            raise JournalUnavailableError("the store has gone away")

    def read(self, run_id: str, start: int = 0) -> Iterable[Entry]:
        """As `Journal.read` says."""
        return self.journal.read(run_id, start)

    def checkpoints(self, run_id: str) -> Iterable[Checkpoint]:
        """As `Journal.checkpoints` says."""
        return self.journal.checkpoints(run_id)

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As `Journal.runs` says."""
        return self.journal.runs(query)

    def delete(self, run_id: str) -> None:
        """As `Journal.delete` says."""
        self.journal.delete(run_id)


OpenStore: TypeAlias = Callable[[], AbstractContextManager[SharedStore]]
