"""The file of an SQLite journal, and what is written to it: appends, and the claims on its runs.

Claims are not waited for until they are on the disk: one that a power cut loses was that of a
process which the same cut has ended.
"""

from __future__ import annotations

import atexit
import os
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from weakref import WeakSet

from attrs import astuple, frozen

from detent.adapters.journals.sqlite_opening import (
    IS_FOLDER,
    READ_ONLY,
    WAIT_S,
    is_damage,
    is_passing,
    is_read_only,
    opened,
    readable,
)
from detent.adapters.journals.sqlite_tables import (
    checkpoint_row,
    entry_row,
    list_anew,
    open_run,
    require_all,
)
from detent.adapters.journals.writer import Writer
from detent.ports.claims import FORGOTTEN_S, Claim, Owner
from detent.ports.journal import (
    Checkpoint,
    Entry,
    JournalConflictError,
    JournalDamagedError,
    JournalError,
    JournalUnavailableError,
    require_claim,
    require_next,
    texts_of,
)

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

Statement: TypeAlias = tuple[str, tuple[Any, ...]]

LENGTHEN = "UPDATE runs SET length = ? WHERE run_id = ?"
LENGTHS = """
SELECT COALESCE(MAX(position) + 1, 0), (SELECT length FROM runs WHERE run_id = ?)
FROM entries WHERE run_id = ?
"""
AT_ONCE = 8
"""So many entries of one append can be inserted by one statement. A turn seldom has more."""
INSERT = "INSERT INTO entries "
ROW = "(?, ?, ?, ?, ?, ?, ?)"
CLAIM = "SELECT owner, epoch, since FROM claims WHERE run_id = ?"
IS_CLAIMED = """EXISTS (
    SELECT 1 FROM claims WHERE run_id = ? AND owner = ? AND epoch = ? AND since = ?
)"""
FIRST = "INSERT OR IGNORE INTO claims VALUES (?, ?, ?, ?)"
NEXT = """
UPDATE claims SET owner = ?, epoch = ?, since = ?
WHERE run_id = ? AND owner = ? AND epoch = ? AND since = ?
"""
OWNER = "SELECT id, host, pid, started, until FROM owners WHERE id = ?"
KEEP = "INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?, ?)"
FORGET = "DELETE FROM owners WHERE until < ?"


_OF_PARENTS: list[object] = []
"""Connections that came with a fork, which nobody here uses or closes."""
_FILES: WeakSet[SQLiteFile] = WeakSet()
_KNOWN = Lock()
"""Whoever has it may change which files there are."""
_HELD: list[Lock] = []
"""What a fork holds while it lasts."""


class SQLiteFile:
    """The file at `path`, made when it is not there: one connection, for one caller at a time.

    It is in write-ahead mode, and what is written is on the disk then. Where it may only be read,
    it can be.

    Raises:
        JournalError: the file cannot be opened, or is no SQLite database of this layout.
    """

    def __init__(self, path: str, *, is_twin: bool = False, is_copied: bool = False) -> None:
        self._path = path
        self._is_copied = is_copied
        self._pid = os.getpid()
        self._lock = Lock()
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._only_reads = False
        with _KNOWN:
            _FILES.add(self)
        if not is_twin:
            self.do("opened", lambda db: None)

    def twin(self, *, is_copied: bool = False) -> SQLiteFile:
        """The same file by a connection of its own, which is opened when it is needed.

        While one is at work that is copied whole, a fork waits for as long as that takes.
        """
        twin = SQLiteFile(self._path, is_twin=True, is_copied=is_copied)
        twin._file = self._file  # it makes no new one where this has gone away
        return twin

    def close(self) -> None:
        """Close the file. It is opened again when it is needed."""
        if self._pid != os.getpid():
            self._leave_to_parent()
        with self._lock:
            self._drop()

    def __del__(self) -> None:
        if self._db is not None:  # during a fork, which holds the lock, there is nothing to close
            self.close()

    def do(self, done: str, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do it with the connection, one caller at a time. A transaction that fails is undone."""
        if self._pid != os.getpid():
            self._leave_to_parent()
        with self._lock:
            try:
                return work(self._connection())
            except (sqlite3.Error, UnicodeDecodeError) as error:
                self._drop()
                raise self.fault(done, error) from error
            finally:
                if self._db is not None and self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                if self._only_reads:  # others may write, or we soon: look anew each time
                    self._drop()

    def write_alone(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Do a job in a transaction of its own."""

        def alone(db: sqlite3.Connection) -> T:
            db.execute("BEGIN IMMEDIATE")
            result = job(db)
            db.execute("COMMIT")
            return result

        return self.do("written", alone)

    def fault(self, done: str, error: Exception) -> JournalError:
        """What an error of SQLite means for a journal."""
        kind: type[JournalError] = JournalError
        if is_damage(error):
            kind = JournalDamagedError
        elif is_passing(error):
            kind = JournalUnavailableError
        why = f"{error}{READ_ONLY if is_read_only(error) else ''}"
        if "not a database" in why:
            why = f"{why}; name one that Detent has written, or a path at which nothing stands yet"
        if Path(self._path).is_dir():
            kind, why = JournalError, IS_FOLDER
        return kind(f"the journal {self._path} could not be {done}: {why}")

    def _leave_to_parent(self) -> None:
        """Go on with a connection of one's own after a fork: SQLite forbids to share one.

        That of the parent, if it could not be closed before, is not closed here, which might take
        away what the parent relies on.
        """
        _OF_PARENTS.append(self._db)
        self._db, self._lock, self._pid = None, Lock(), os.getpid()

    def _connection(self) -> sqlite3.Connection:
        """The connection, as long as the file is where it was: SQLite would go on elsewhere."""
        if self._file is not None and _identity(self._path) != self._file:
            self._drop()
        if self._db is None:
            self._db = self._open()
            self._file = _identity(self._path)
        return self._db

    def _open(self) -> sqlite3.Connection:
        try:
            db = opened(self._path, "rwc" if self._file is None else "rw")
        except sqlite3.OperationalError as error:
            if is_read_only(error) and _identity(self._path):
                self._only_reads = True
                return readable(self._path)
            raise
        self._only_reads = False
        return db

    def _drop(self) -> None:
        """Close the connection: the next call makes a new one, by then perhaps with success."""
        if self._db is not None:
            self._db.close()
            self._db = None


def _close_all() -> None:
    """Before a fork: close every connection, once nobody is at work with it.

    INVARIANT: no connection of ours is open in two processes. SQLite keeps count of the locks that
    a process has on a file. A child gets that count and not the locks, so that the parent, as it
    closes, takes itself for the last one and deletes the log that the child is writing to.
    """
    _KNOWN.acquire()
    _HELD.append(_KNOWN)
    for file in [*_FILES]:
        lock = file._lock  # noqa: SLF001 - of this module's own class
        if lock.acquire(timeout=-1 if file._is_copied else WAIT_S):  # noqa: SLF001 - as above
            _HELD.append(lock)
            file._drop()  # noqa: SLF001 - as above


def _go_on() -> None:
    """After a fork, in both processes: each opens what it needs."""
    while _HELD:
        _HELD.pop().release()


@atexit.register
def _close_at_exit() -> None:
    """At the end of the program, so that the last one to close the file leaves no log beside it.

    SQLite takes all into the file then: people copy that alone, and nothing could tell them.
    """
    for file in [*_FILES]:
        file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_all, after_in_parent=_go_on, after_in_child=_go_on)


def _identity(path: str) -> tuple[int, int] | None:
    """Which file is there, if any."""
    try:
        found = os.stat(path)  # noqa: PTH116 - at each append: 3 µs, by a Path 20
    except OSError:
        return None
    return found.st_dev, found.st_ino


@frozen(eq=False)
class Append:
    """The rows of an append, and how they are written to the journal at `path`."""

    path: str
    run_id: str
    entries: Sequence[Entry]
    rows: Sequence[tuple[object, ...]]
    snapshot: tuple[object, ...] | None
    claim: Claim | None
    is_plain: bool

    @classmethod
    def of(
        cls, path: str, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None
    ) -> Append:
        """Makes them. It raises what there is to say against the entries by themselves."""
        start = entries[0].position if entries else 0
        require_next(run_id, entries, start)
        rows = [*map(partial(entry_row, run_id), entries, texts_of(entries))]
        snapshot = None if checkpoint is None else checkpoint_row(run_id, checkpoint)
        is_few = start > 0 and snapshot is None and len(rows) <= AT_ONCE
        is_plain = is_few and all(one.listing is None for one in entries)
        claim = entries[0].claim if entries else None
        return cls(path, run_id, entries, rows, snapshot, claim, is_plain)

    def __call__(self, db: sqlite3.Connection) -> None:
        """Write them in the transaction that has begun."""
        if self.is_plain and are_inserted([self], db):
            return
        run_id, start = self.run_id, self.entries[0].position
        length, known = db.execute(LENGTHS, (run_id, run_id)).fetchone()
        require_all(self.path, run_id, length, known)
        if length != start:
            raise JournalConflictError(run_id, start, length)
        if self.claim is not None:
            require_claim(run_id, self.entries, claim_on(db, run_id))
        if start:
            db.execute(LENGTHEN, (length, run_id))  # damage may have made it shorter
            list_anew(db, run_id, self.entries)
        else:
            open_run(db, run_id, self.entries)
        db.executemany(f"{INSERT}VALUES {ROW}", self.rows)
        if self.snapshot is not None:
            db.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?)", self.snapshot)


def are_inserted(appends: Sequence[Append], db: sqlite3.Connection) -> bool:
    """Whether plain rows could all be inserted as the next ones of their runs, by one statement.

    A thread gives up the interpreter with each statement, and waits for it behind a busy loop.
    """
    rows = [row for append in appends for row in append.rows]
    claims = [(one.run_id, *astuple(one.claim)) for one in appends if one.claim is not None]
    values = f"VALUES {', '.join(len(rows) * [ROW])}"
    if claims:  # and their claims are there, or nothing is
        values = f"SELECT * FROM ({values}) WHERE {' AND '.join(len(claims) * [IS_CLAIMED])}"  # noqa: S608 - ours
    try:
        done = db.execute(INSERT + values, [*chain(*rows, *claims)])
    except sqlite3.IntegrityError:
        return False
    return done.rowcount == len(rows)


def claim_on(db: sqlite3.Connection, run_id: str) -> Claim | None:
    """The claim on a run, in the transaction that has begun."""
    row = db.execute(CLAIM, (run_id,)).fetchone()
    return None if row is None else Claim(*row)


class SQLiteClaims:
    """Keeps claims in the file of a journal."""

    is_shared = True
    guards_appends = True

    def __init__(self, file: SQLiteFile, writer: Writer[sqlite3.Connection]) -> None:
        self._file = file
        self._writer = writer
        self._reader = file.twin()  # which need not wait until others have written

    def close(self) -> None:
        """Close what is read by. It is opened again when it is needed."""
        self._reader.close()

    def find(self, run_id: str) -> Claim | None:
        """As `Claims.find` says."""
        return self._reader.do("read", lambda db: claim_on(db, run_id))

    def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
        """As `Claims.swap` says."""
        return self._written([_swap(run_id, was, now)]) == 1

    def submit_swap(self, run_id: str, was: Claim | None, now: Claim) -> Future[bool]:
        """As `swap`, without waiting."""
        swap = _swap(run_id, was, now)
        return self._writer.submit(lambda db: db.execute(*swap).rowcount == 1)

    def owner(self, owner_id: str) -> Owner | None:
        """As `Claims.owner` says."""
        row = self._reader.do("read", lambda db: db.execute(OWNER, (owner_id,)).fetchone())
        return None if row is None else Owner(*row)

    def keep(self, owner: Owner) -> None:
        """As `Claims.keep` says."""
        row = (owner.id, owner.host, owner.pid, owner.started, owner.until)
        self._written([(FORGET, (owner.until - FORGOTTEN_S,)), (KEEP, row)])

    def _written(self, statements: list[Statement]) -> int:
        """Carry out statements, and give how many rows the last one has changed."""

        def write(db: sqlite3.Connection) -> int:
            return [db.execute(*one).rowcount for one in statements][-1]

        def write_soon(db: sqlite3.Connection) -> int:
            db.execute("PRAGMA synchronous = NORMAL")
            try:
                return write(db)
            finally:
                db.execute("PRAGMA synchronous = FULL")

        if self._writer.is_at_work:
            return self._writer.submit(write).result()
        return self._file.do("written", write_soon)


def _swap(run_id: str, was: Claim | None, now: Claim) -> Statement:
    new = (now.owner, now.epoch, now.since)
    if was is None:
        return FIRST, (run_id, *new)
    return NEXT, (*new, run_id, was.owner, was.epoch, was.since)
