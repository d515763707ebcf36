"""The file of an SQLite journal: how it is made, opened, and found to be of another layout."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TypeVar
from weakref import WeakSet

from detent.adapters.journals.sqlite_tables import RUNS_SCHEMA
from detent.adapters.system.snapshot_files import OWN_FILE
from detent.ports.journal import (
    JournalDamagedError,
    JournalError,
    JournalUnavailableError,
)

T = TypeVar("T")

LAYOUT = 1
"""Which tables there are, and what stands in them: the file's `user_version`."""
SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    run_id TEXT NOT NULL, position INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL,
    status TEXT NOT NULL, data TEXT NOT NULL, crc32 INTEGER NOT NULL, PRIMARY KEY (run_id, position)
);
CREATE TABLE IF NOT EXISTS snapshots (
    run_id TEXT NOT NULL, position INTEGER NOT NULL, data TEXT NOT NULL, crc32 INTEGER NOT NULL,
    PRIMARY KEY (run_id, position)
);
CREATE TABLE IF NOT EXISTS claims (
    run_id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, epoch INTEGER NOT NULL,
    since REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS owners (
    id TEXT NOT NULL PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL,
    until REAL NOT NULL
) WITHOUT ROWID;
"""
TRIGGER = """
CREATE TEMP TRIGGER lengthen AFTER INSERT ON main.entries BEGIN
    UPDATE runs SET length = NEW.position + 1, at = NEW.at, status = NEW.status
    WHERE run_id = NEW.run_id AND length = NEW.position AND (length = 0 OR EXISTS (
        SELECT 1 FROM entries WHERE run_id = NEW.run_id AND position = NEW.position - 1
    ));
    SELECT RAISE(ABORT, 'it does not follow the last entry') WHERE changes() = 0;
END
"""
"""An entry that does not follow is refused. So one statement is all that most appends need, and a
transaction by itself: with a check before it, an append takes half as many instructions again."""
WAIT_S = 30.0
"""How long a write waits for other processes that write to the same file."""
PAUSE_S = 0.005
"""How long after a refusal a new file is tried again."""
READ_ONLY = (
    ": it, its folder or the disk may only be read here, or it is not there; what a writer that "
    "crashed has left beside it, in a file -wal, can be read where its folder may be written"
)
IS_FOLDER = (
    "it is a folder; name a file in it, such as runs.db, or keep runs in the folder itself by a "
    "DirectoryJournal"
)
TEXT = partial(str, encoding="utf-8", errors="replace")
"""What is no text any more is read as another one, and so found to be damaged."""


_OF_PARENTS: list[object] = []
"""Connections that came with a fork, which nobody here uses or closes."""
_FILES: WeakSet[SQLiteFile] = WeakSet()
_KNOWN = Lock()
"""Whoever has it may change which files there are."""
_HELD: list[Lock] = []
"""What a fork holds while it lasts."""
PASSING = tuple(
    f"SQLITE_{why}" for why in ["BUSY", "LOCKED", "FULL", "IOERR", "CANTOPEN", "READONLY"]
)


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

    def fault(self, done: str, error: Exception) -> JournalError:
        """What an error of SQLite means for a journal."""
        kind: type[JournalError] = JournalError
        if _is_damage(error):
            kind = JournalDamagedError
        elif _is_passing(error):
            kind = JournalUnavailableError
        why = f"{error}{READ_ONLY if _is_read_only(error) else ''}"
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
            db = _opened(self._path, "rwc" if self._file is None else "rw")
        except sqlite3.OperationalError as error:
            if _is_read_only(error) and _identity(self._path):
                self._only_reads = True
                return _readable(self._path)
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


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_all, after_in_parent=_go_on, after_in_child=_go_on)


def _identity(path: str) -> tuple[int, int] | None:
    """Which file is there, if any."""
    try:
        found = os.stat(path)  # noqa: PTH116 - at each append: 3 µs, by a Path 20
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _opened(path: str, mode: str) -> sqlite3.Connection:
    """A connection; the file is made when it is not there, and `mode` has a "c"."""
    if "c" in mode:
        with suppress(OSError):  # SQLite says better why it cannot be
            Path(path).touch(
                OWN_FILE, exist_ok=False
            )  # and gives the files beside it the same mode
    db = _connected(path, mode)
    try:
        _write_ahead(db)
        db.execute("PRAGMA synchronous = FULL")
        if _layout(db) != LAYOUT:
            _make(db, path)
        db.execute(TRIGGER)
    except BaseException:
        db.close()
        raise
    db.text_factory = TEXT
    return db


def _write_ahead(db: sqlite3.Connection) -> None:
    """Have the file keep a write-ahead log, which is what takes writers and readers at once.

    Where several make one file so at the same time, SQLite does not wait: each has begun to read,
    and all but one are refused at once. By the next try that one is done.
    """
    end = time.monotonic() + WAIT_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > end:
                raise
            time.sleep(PAUSE_S)
        else:
            return


def _layout(db: sqlite3.Connection) -> int:
    (layout,) = db.execute("PRAGMA user_version").fetchone()
    return int(layout)


def _make(db: sqlite3.Connection, path: str) -> None:
    """Make the tables in a new file, if nobody else has just done so."""
    db.execute("BEGIN IMMEDIATE")
    if db.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone() == (0,):
        for statement in (SCHEMA + RUNS_SCHEMA).split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {LAYOUT}")
    _require_layout(db, path)
    db.execute("COMMIT")


def _require_layout(db: sqlite3.Connection, path: str) -> None:
    """Raise JournalError unless the file has the tables that this Detent knows."""
    if (layout := _layout(db)) != LAYOUT:
        raise JournalError(
            f"the journal {path} has layout {layout}, and this Detent knows layout {LAYOUT}: use "
            "the version of Detent that wrote it"
        )


def _readable(path: str) -> sqlite3.Connection:
    """A connection that only reads, and makes no file beside the one at `path`.

    Without the files beside it, which a writer has and leaves when it crashes, that one has all.
    """
    log = Path(f"{path}-wal")
    is_whole = not (log.exists() and log.stat().st_size)
    db = _connected(path, "ro&immutable=1" if is_whole else "ro")
    try:
        _require_layout(db, path)
    except BaseException:
        db.close()
        raise
    db.text_factory = TEXT
    return db


def _connected(path: str, mode: str) -> sqlite3.Connection:
    uri = f"{Path(path).absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(
        uri, timeout=WAIT_S, isolation_level=None, check_same_thread=False, uri=True
    )


def _is_read_only(error: Exception) -> bool:
    """Whether something may not be written: the file, or those that SQLite wants beside it."""
    code = getattr(error, "sqlite_errorname", "")
    return code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN"))


def _is_passing(error: Exception) -> bool:
    """Whether it may be over in a moment: others hold the file, a disk is full, or away."""
    return getattr(error, "sqlite_errorname", "").startswith(PASSING)


def _is_damage(error: Exception) -> bool:
    """Whether what is in the file makes no sense."""
    code = getattr(error, "sqlite_errorname", "")
    return code.startswith("SQLITE_CORRUPT") or code == "SQLITE_NOTADB"
