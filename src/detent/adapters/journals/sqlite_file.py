"""An SQLite file: one connection, made again when that helps, for one caller at a time."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TypeVar

from detent.ports.journal import JournalDamagedError, JournalError

T = TypeVar("T")

WAIT_S = 30.0
"""How long a write waits for other processes that write to the same file."""
READ_ONLY = (
    ": it, its folder or the disk may only be read here, or it is not there; what a writer that "
    "crashed has left beside it, in a file -wal, can be read where its folder may be written"
)
TEXT = partial(str, encoding="utf-8", errors="replace")
"""What is no text any more is read as another one, and so found to be damaged."""


class SQLiteFile:
    """The file at `path`, made when it is not there, with what `schema` makes in it.

    It is in write-ahead mode, and what is written is on the disk then. Where it may only be read,
    it can be. `each` is what every connection that writes begins with.

    Raises:
        JournalError: the file cannot be opened, or is no SQLite database.
    """

    def __init__(self, path: str, schema: str, each: str) -> None:
        self._path, self._schema, self._each = path, schema, each
        self._lock = Lock()
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._only_reads = False
        self.do("opened", lambda db: None)

    def close(self) -> None:
        """Close the file. It is opened again when it is needed."""
        with self._lock:
            self._drop()

    def __del__(self) -> None:
        self.close()

    def do(self, done: str, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do it with the connection, one caller at a time. A transaction that fails is undone."""
        with self._lock:
            try:
                return work(self._connection())
            except (sqlite3.Error, UnicodeDecodeError) as error:
                self._drop()
                kind = JournalDamagedError if _is_damage(error) else JournalError
                why = f"{error}{READ_ONLY if _is_read_only(error) else ''}"
                raise kind(f"the journal {self._path} could not be {done}: {why}") from error
            finally:
                if self._db is not None and self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                if self._only_reads:  # others may write, or we soon: look anew each time
                    self._drop()

    def _connection(self) -> sqlite3.Connection:
        """The connection, as long as the file is where it was: SQLite would go on elsewhere."""
        if self._file is not None and _identity(self._path) != self._file:
            self._drop()
        if self._db is None:
            self._db = self._opened()
            self._file = _identity(self._path)
        return self._db

    def _opened(self) -> sqlite3.Connection:
        try:
            db = self._writable("rwc" if self._file is None else "rw")
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

    def _writable(self, mode: str) -> sqlite3.Connection:
        """A connection; the file is made when it is not there, and `mode` has a "c"."""
        db = _connected(self._path, mode)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.executescript(self._schema)
            db.execute(self._each)
        except (sqlite3.Error, UnicodeDecodeError):
            db.close()
            raise
        db.text_factory = TEXT
        return db


def _identity(path: str) -> tuple[int, int] | None:
    """Which file is there, if any."""
    try:
        found = os.stat(path)  # noqa: PTH116 - at each append: 3 µs, by a Path 20
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _readable(path: str) -> sqlite3.Connection:
    """A connection that only reads, and makes no file beside the one at `path`.

    Without the files beside it, which a writer has and leaves when it crashes, that one has all.
    """
    log = Path(f"{path}-wal")
    is_whole = not (log.exists() and log.stat().st_size)
    db = _connected(path, "ro&immutable=1" if is_whole else "ro")
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


def _is_damage(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorname", "")
    return code.startswith("SQLITE_CORRUPT") or code == "SQLITE_NOTADB"
