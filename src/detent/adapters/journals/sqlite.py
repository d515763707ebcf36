"""A journal in an SQLite file: nothing to install, safe against a crash of process and machine.

SQLite sees when its pages make no sense, and not when they have lost a row or say something else.
So each row has the CRC-32 of the rest of it, and each run its length in a table of its own, which
is the index of lists as well.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any, TypeVar

from detent.adapters.journals.first_entry import first_and_rest
from detent.adapters.journals.lines import sync_directory
from detent.adapters.journals.polling import FOREIGN_S, wait_for_change
from detent.adapters.journals.sqlite_file import (
    Append,
    SQLiteClaims,
    SQLiteFile,
    are_inserted,
)
from detent.adapters.journals.sqlite_tables import (
    Row,
    checkpoint_checksum,
    entry_checksum,
    full_row,
    is_whole,
    listed_runs,
    require_all,
    text_of,
    unpack,
    version_of,
    written_behind,
)
from detent.adapters.journals.writer import Done, Writer
from detent.adapters.system.snapshot_files import OWN_FILE
from detent.ports.journal import OUTAGE_S, Checkpoint, Entry, JournalDamagedError, JournalError
from detent.ports.listing import ALL_RUNS, RunQuery, StoredRun

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

KNOWN = "SELECT length FROM runs WHERE run_id = ?"
ENTRIES = """
SELECT position, at, kind, status, data, crc32 FROM entries
WHERE run_id = ? AND position >= ? ORDER BY position
"""
FIRST = """
SELECT position, at, kind, status, data, crc32 FROM entries WHERE run_id = ? AND position = 0
"""
SNAPSHOTS = "SELECT position, data, crc32 FROM snapshots WHERE run_id = ? ORDER BY position"


class SQLiteJournal:
    """Keeps runs in the SQLite file at `path`, which is made when it is not there.

    It is in write-ahead mode, and every append is on the disk when it returns. Do not put the file
    on a network drive. Where the file, its folder or the disk may only be read, the runs can be.

    Args:
        path: the file.
        outage_s: for how long an append is begun again while the disk is full, or others hold the
            file.

    Raises:
        JournalError: the file cannot be opened, or is no SQLite database.
    """

    def __init__(self, path: str | Path, *, outage_s: float = OUTAGE_S) -> None:
        self._path, self.outage_s = str(path), outage_s
        if self._path == ":memory:":
            raise JournalError("runs that are to be in memory alone are kept by a MemoryJournal()")
        if not Path(self._path).parent.is_dir():
            folder = Path(self._path).parent
            raise JournalError(
                f"the journal {path} could not be opened: there is no folder {folder}; make it"
            )
        self._file = SQLiteFile(self._path)
        self._writer = Writer(partial(_together, self._file))
        self.claims = SQLiteClaims(self._file, self._writer)

    def __repr__(self) -> str:
        """By the whole path: a relative one is another file in another folder."""
        return f"{type(self).__name__}({str(Path(self._path).absolute())!r})"

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As `Journal.append` says. Where others write, it goes with the next of theirs."""
        rows = Append.of(self._path, run_id, entries, checkpoint)
        if self._writer.is_at_work:
            self._writer.submit(rows).result()
        elif not (rows.is_plain and self._file.do("written", partial(are_inserted, [rows]))):
            self._file.write_alone(rows)

    def submit(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> Future[None]:
        """As the port `SubmittingJournal` says; what many submit is on the disk by one wait."""
        return self._writer.submit(Append.of(self._path, run_id, entries, checkpoint))

    def read(self, run_id: str, start: int = 0) -> Iterator[Entry]:
        """As `Journal.read` says. What stands before damage is given before that is raised."""
        if start:
            return self._entries(run_id, start)
        return first_and_rest(run_id, self._first(run_id), partial(self._entries, run_id, 0))

    def _first(self, run_id: str) -> Entry | None:
        row = self._file.do("read", lambda db: db.execute(FIRST, (run_id,)).fetchone())
        if row is None or not is_whole(run_id, row := full_row(row), entry_checksum):
            return None
        position, at, kind, status, data, _ = row
        return Entry(position, at, kind, status, text_of(run_id, data))

    def _entries(self, run_id: str, start: int) -> Iterator[Entry]:
        rows: list[Any] = []
        damage: JournalDamagedError | None = None
        try:
            known = self._file.do("read", partial(_rows, rows, run_id, start))
            require_all(self._path, run_id, len(rows), known, start)
        except JournalDamagedError as error:
            damage = error
        for place, row in enumerate(map(full_row, rows), start):
            if row[0] != place or not is_whole(run_id, row, entry_checksum):
                told = f"the journal {self._path} is damaged: entry {place} of run {run_id!r}"
                raise JournalDamagedError(f"{told} is not what was written", run_id, place)
            position, at, kind, status, data, _ = row
            yield Entry(position, at, kind, status, text_of(run_id, data))
        if damage is not None:
            raise JournalDamagedError(str(damage), run_id, start + len(rows))

    def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """As `Journal.checkpoints` says."""
        packed = self._file.do("read", lambda db: db.execute(SNAPSHOTS, (run_id,)).fetchall())
        rows = [(position, unpack(data), checksum) for position, data, checksum in packed]
        if not all(is_whole(run_id, row, checkpoint_checksum) for row in rows):
            raise JournalDamagedError(
                f"the journal {self._path} is damaged: a checkpoint of run {run_id!r} is not what "
                "was written; delete the run's rows in the table snapshots to do without, which is "
                "slower"
            )
        return [Checkpoint(position, text_of(run_id, data)) for position, data, _ in rows]

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As `Journal.runs` says. One whose last entry is damaged has the status "damaged".

        A page takes a millisecond, however many runs there are.
        """
        return self._file.do("read", lambda db: listed_runs(db, query))

    def delete(self, run_id: str) -> None:
        """As `Journal.delete` says."""

        def delete(db: sqlite3.Connection) -> None:
            for table in ("entries", "snapshots", "runs", "claims"):
                db.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))  # noqa: S608 - ours

        self._file.write_alone(delete)

    def wait(self, run_id: str, length: int, timeout_s: float) -> bool:
        """As the port `Notices` says: by the version of the file, in a connection of its own."""

        def has_changed(db: sqlite3.Connection) -> bool:
            (known,) = db.execute(KNOWN, (run_id,)).fetchone() or (0,)
            return bool(known != length)

        with closing(self._file.twin()) as file:
            return wait_for_change(
                lambda: file.do("read", version_of),
                lambda: file.do("read", has_changed),
                timeout_s,
            )

    def from_others(
        self, run_ids: Callable[[], Collection[str]]
    ) -> Generator[Collection[str], None, None]:
        """As the port `ForeignNotices` says, four times a second.

        A connection does not see its own appends in the version of the file: a look is two
        questions where nobody else has written.
        """
        version: object = None
        last: Row | None = None
        while True:
            now = self._file.do("read", version_of)
            found: list[str] | None = []
            if now != version:
                last, found = self._file.do("read", partial(written_behind, last))
            yield run_ids() if found is None else found
            version = now
            time.sleep(FOREIGN_S)

    def backup(self, path: str | Path, *, replace: bool = False) -> None:
        """Copy all runs to the file at `path`, as they are at one instant; others may write on.

        With `replace` the copy takes the place of a file that is there, once it is whole and on the
        disk, and nobody has that file open.

        Raises:
            JournalError: it cannot be made; then what was at `path` is still there.
        """
        target = Path(path)
        if target.exists() and (not replace or target.samefile(self._path)):
            raise JournalError(
                f"there is a file at {path} already: name another one, or say replace=True; a "
                "journal is no copy of itself"
            )

        def copy(db: sqlite3.Connection) -> None:
            with closing(sqlite3.connect(part)) as other:
                db.backup(other)
            if target.exists():
                _end_log(target)

        # Each copy has a part of its own: two at once each become whole, and the last one stays.
        part = target.with_name(f"{target.name}.{os.getpid()}-{get_ident()}.part")
        try:
            part.touch(OWN_FILE)
            with closing(self._file.twin(is_copied=True)) as file:
                file.do(f"copied to {path}", copy)
            part.replace(target)
            sync_directory(target.parent)
        except OSError as error:
            reason = f"the journal {self._path} could not be copied to {path}: {error}"
            raise JournalError(reason) from error
        finally:
            part.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file. It is opened again when it is needed."""
        self._file.close()
        self.claims.close()


def _end_log(path: Path) -> None:
    """Have nothing wait beside a file that is about to be replaced: it would be read into the new.

    Raises:
        sqlite3.Error: somebody has it open.
    """
    with closing(sqlite3.connect(path, timeout=1)) as db:
        try:
            db.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorname != "SQLITE_NOTADB":
                raise
    for suffix in ("-wal", "-shm"):  # of what was no database, or has been deleted without them
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)


def _together(
    file: SQLiteFile, jobs: Sequence[Callable[[sqlite3.Connection], object]]
) -> list[Done]:
    """Do jobs in one transaction, each in a part of it that can be undone by itself."""
    plain = [job for job in jobs if isinstance(job, Append) and job.is_plain]

    def do(db: sqlite3.Connection) -> list[Done]:
        written = set(plain if plain and are_inserted(plain, db) else ())
        return [(None, None) if job in written else _done(file, job, db) for job in jobs]

    return file.write_alone(do)


def _done(
    file: SQLiteFile, job: Callable[[sqlite3.Connection], object], db: sqlite3.Connection
) -> Done:
    db.execute("SAVEPOINT job")
    try:
        return job(db), None
    except Exception as error:
        if not db.in_transaction or isinstance(error, sqlite3.OperationalError):
            raise  # it is the file's fault, and none of them can be done
        db.execute("ROLLBACK TO job")
        return None, file.fault("written", error) if isinstance(error, sqlite3.Error) else error
    finally:
        if db.in_transaction:
            db.execute("RELEASE job")


def _rows(rows: list[Any], run_id: str, start: int, db: sqlite3.Connection) -> object:
    """Fill in the rows of a run's entries; gives how many entries it has had, if that is known."""
    db.execute("BEGIN")
    rows.extend(db.execute(ENTRIES, (run_id, start)))
    (known,) = db.execute(KNOWN, (run_id,)).fetchone() or (None,)
    db.execute("COMMIT")
    return known
