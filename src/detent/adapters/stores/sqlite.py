"""A journal in an SQLite file: nothing to install, safe against a crash of process and machine."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from detent.ports.journal import (
    Checkpoint,
    Entry,
    JournalDamagedError,
    JournalError,
    StoredRun,
    require_next,
)

SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    run_id TEXT NOT NULL, position INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL,
    status TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run_id, position)
);
CREATE TABLE IF NOT EXISTS snapshots (
    run_id TEXT NOT NULL, position INTEGER NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
);
"""
LENGTH = "SELECT COALESCE(MAX(position) + 1, 0) FROM entries WHERE run_id = ?"
ENTRIES = """
SELECT position, at, kind, status, data FROM entries
WHERE run_id = ? AND position >= ? ORDER BY position
"""
SNAPSHOTS = "SELECT position, data FROM snapshots WHERE run_id = ? ORDER BY position"
RUNS = """
SELECT entries.run_id, position + 1, status, at FROM entries
JOIN (SELECT run_id, MAX(position) AS last FROM entries GROUP BY run_id) AS ends
ON entries.run_id = ends.run_id AND position = last ORDER BY at DESC
"""
WAIT_S = 30.0
"""How long a write waits for other processes that write to the same file."""


class SQLiteJournal:
    """Keeps runs in the SQLite file at `path`, which is made when it is not there.

    It is in write-ahead mode, and every append is on the disk when it returns. Do not put the file
    on a network drive.

    Raises:
        JournalError: the file cannot be opened, or is no SQLite database.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._lock = Lock()
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        with self._connected("opened"):
            pass

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        rows = [(run_id, *_row(entry)) for entry in entries]
        with self._connected("written") as db:
            db.execute("BEGIN IMMEDIATE")
            (length,) = db.execute(LENGTH, (run_id,)).fetchone()
            require_next(run_id, entries, length)
            db.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", rows)
            if checkpoint is not None:
                kept = (run_id, checkpoint.position, _text(checkpoint.data))
                db.execute("INSERT INTO snapshots VALUES (?, ?, ?)", kept)
            db.execute("COMMIT")

    def read(self, run_id: str, start: int = 0) -> Sequence[Entry]:
        """As the port says."""
        with self._connected("read") as db:
            rows = db.execute(ENTRIES, (run_id, start)).fetchall()
        return [
            Entry(position, at, kind, status, _loaded(run_id, data))
            for position, at, kind, status, data in rows
        ]

    def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """As the port says."""
        with self._connected("read") as db:
            rows = db.execute(SNAPSHOTS, (run_id,)).fetchall()
        return [Checkpoint(position, _loaded(run_id, data)) for position, data in rows]

    def runs(self) -> Sequence[StoredRun]:
        """As the port says."""
        with self._connected("read") as db:
            return [StoredRun(*row) for row in db.execute(RUNS).fetchall()]

    def delete(self, run_id: str) -> None:
        """As the port says."""
        with self._connected("written") as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("DELETE FROM entries WHERE run_id = ?", (run_id,))
            db.execute("DELETE FROM snapshots WHERE run_id = ?", (run_id,))
            db.execute("COMMIT")

    def close(self) -> None:
        """Close the file. It is opened again when it is needed."""
        with self._lock:
            self._drop()

    def __del__(self) -> None:
        self.close()

    @contextmanager
    def _connected(self, done: str) -> Generator[sqlite3.Connection, None, None]:
        """The connection, for one caller at a time. A transaction that fails is undone."""
        with self._lock:
            try:
                yield self._connection()
            except sqlite3.Error as error:
                self._drop()
                kind = JournalDamagedError if _is_damage(error) else JournalError
                raise kind(f"the journal {self._path} could not be {done}: {error}") from error
            finally:
                if self._db is not None and self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def _connection(self) -> sqlite3.Connection:
        """The connection, as long as the file is where it was: SQLite would go on elsewhere."""
        if self._file is not None and _identity(self._path) != self._file:
            self._drop()
        if self._db is None:
            self._db = _opened(self._path, "rwc" if self._file is None else "rw")
            self._file = _identity(self._path)
        return self._db

    def _drop(self) -> None:
        """Close the connection: the next call makes a new one, by then perhaps with success."""
        if self._db is not None:
            self._db.close()
            self._db = None


def _identity(path: str) -> tuple[int, int] | None:
    """Which file is there, if any."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _opened(path: str, mode: str) -> sqlite3.Connection:
    """A connection; the file is made when it is not there, and `mode` has a "c"."""
    uri = f"{Path(path).absolute().as_uri()}?mode={mode}"
    db = sqlite3.connect(
        uri, timeout=WAIT_S, isolation_level=None, check_same_thread=False, uri=True
    )
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.executescript(SCHEMA)
    except sqlite3.Error:
        db.close()
        raise
    return db


def _row(entry: Entry) -> tuple[int, float, str, str, str]:
    return entry.position, entry.at, entry.kind, entry.status, _text(entry.data)


def _text(data: object) -> str:
    return json.dumps(data, separators=(",", ":"))


def _loaded(run_id: str, text: object) -> dict[str, object]:
    try:
        data = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise JournalDamagedError(
            f"the journal of run {run_id!r} is damaged: an entry is no JSON object"
        )
    return data


def _is_damage(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorname", "")
    return code.startswith("SQLITE_CORRUPT") or code == "SQLITE_NOTADB"
