"""A journal in an SQLite file: nothing to install, safe against a crash of process and machine.

SQLite sees when its pages make no sense, and not when they have lost a row or say something else.
So each row has the CRC-32 of the rest of it, and each run its length in a table of its own. Runs of
earlier versions have neither.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

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
    status TEXT NOT NULL, data TEXT NOT NULL, crc32 INTEGER, PRIMARY KEY (run_id, position)
);
CREATE TABLE IF NOT EXISTS snapshots (
    run_id TEXT NOT NULL, position INTEGER NOT NULL, data TEXT NOT NULL, crc32 INTEGER,
    PRIMARY KEY (run_id, position)
);
CREATE TABLE IF NOT EXISTS lengths (
    run_id TEXT NOT NULL PRIMARY KEY, length INTEGER NOT NULL
) WITHOUT ROWID;
"""
KNOWN = "SELECT length FROM lengths WHERE run_id = ?"
LENGTHS = """
SELECT COALESCE(MAX(position) + 1, 0), (SELECT length FROM lengths WHERE run_id = ?)
FROM entries WHERE run_id = ?
"""
LENGTHEN = "INSERT OR REPLACE INTO lengths VALUES (?, ?)"
ENTRIES = """
SELECT position, at, kind, status, data, crc32 FROM entries
WHERE run_id = ? AND position >= ? ORDER BY position
"""
SNAPSHOTS = "SELECT position, data, crc32 FROM snapshots WHERE run_id = ? ORDER BY position"
RUNS = """
SELECT length, entries.run_id, position, at, kind, status, data, crc32 FROM entries
JOIN (SELECT run_id, MAX(position) AS last FROM entries GROUP BY run_id) AS ends
ON entries.run_id = ends.run_id AND position = last
LEFT JOIN lengths ON entries.run_id = lengths.run_id ORDER BY at DESC
"""
PACKED_MAX = 2**26
"""Longer texts are kept as they are: what a file can make of little is bounded."""
WAIT_S = 30.0
"""How long a write waits for other processes that write to the same file."""
TEXT = partial(str, encoding="utf-8", errors="replace")
"""What is no text any more is read as another one, and so found to be damaged."""


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
        rows = [(run_id, *row, _checksum(run_id, *row)) for row in map(_row, entries)]
        with self._connected("written") as db:
            db.execute("BEGIN IMMEDIATE")
            length, known = db.execute(LENGTHS, (run_id, run_id)).fetchone()
            self._require_all(run_id, length, known)
            require_next(run_id, entries, length)
            db.execute(LENGTHEN, (run_id, length + len(rows)))
            db.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            if checkpoint is not None:
                place, text = checkpoint.position, checkpoint.text
                kept = (run_id, place, _packed(text), _checksum(run_id, place, text))
                db.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?)", kept)
            db.execute("COMMIT")

    def read(self, run_id: str, start: int = 0) -> Iterator[Entry]:
        """As the port says. What stands before damage is given before that is raised."""
        rows: list[Any] = []
        damage: JournalDamagedError | None = None
        try:
            with self._connected("read") as db:
                db.execute("BEGIN")
                rows.extend(db.execute(ENTRIES, (run_id, start)))
                (known,) = db.execute(KNOWN, (run_id,)).fetchone() or (None,)
                db.execute("COMMIT")
            self._require_all(run_id, start + len(rows), known)
        except JournalDamagedError as error:
            damage = error
        for place, row in enumerate(rows, start):
            if row[0] != place or not _is_whole(run_id, row):
                told = f"the journal {self._path} is damaged: entry {place} of run {run_id!r}"
                raise JournalDamagedError(f"{told} is not what was written", run_id, place)
            position, at, kind, status, data, _ = row
            yield Entry(position, at, kind, status, _text(run_id, data))
        if damage is not None:
            raise JournalDamagedError(str(damage), run_id, start + len(rows))

    def _require_all(self, run_id: str, length: int, known: object) -> None:
        """Raise when a run has once been longer."""
        if known is not None and (not isinstance(known, int) or length < known):
            raise JournalDamagedError(
                f"the journal {self._path} is damaged: run {run_id!r} had {known} entries, and "
                f"{length} are left"
            )

    def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """As the port says."""
        with self._connected("read") as db:
            packed = db.execute(SNAPSHOTS, (run_id,)).fetchall()
        rows = [(position, _unpacked(data), checksum) for position, data, checksum in packed]
        if not all(_is_whole(run_id, row) for row in rows):
            raise JournalDamagedError(
                f"the journal {self._path} is damaged: a checkpoint of run {run_id!r} is not what "
                "was written; delete the run's rows in the table snapshots to do without, which is "
                "slower"
            )
        return [Checkpoint(position, _text(run_id, data)) for position, data, _ in rows]

    def runs(self) -> Sequence[StoredRun]:
        """As the port says. One whose last entry is damaged has the status "damaged"."""
        with self._connected("read") as db:
            rows = db.execute(RUNS).fetchall()
        return [_listed(*row) for row in rows]

    def delete(self, run_id: str) -> None:
        """As the port says."""
        with self._connected("written") as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("DELETE FROM entries WHERE run_id = ?", (run_id,))
            db.execute("DELETE FROM snapshots WHERE run_id = ?", (run_id,))
            db.execute("DELETE FROM lengths WHERE run_id = ?", (run_id,))
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
            except (sqlite3.Error, UnicodeDecodeError) as error:
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
        found = os.stat(path)  # noqa: PTH116 - at each append: 3 µs, by a Path 20
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
        for table in ("entries", "snapshots"):
            _add_checksums(db, table)
    except (sqlite3.Error, UnicodeDecodeError):
        db.close()
        raise
    db.text_factory = TEXT
    return db


def _add_checksums(db: sqlite3.Connection, table: str) -> None:
    """Have a column for them, in a file of an earlier version as well."""
    query = "SELECT 1 FROM pragma_table_info(?) WHERE name = 'crc32'"
    if not db.execute(query, (table,)).fetchone():
        db.execute("BEGIN IMMEDIATE")
        if not db.execute(query, (table,)).fetchone():  # another process may have been faster
            db.execute(f"ALTER TABLE {table} ADD COLUMN crc32 INTEGER")
        db.execute("COMMIT")


def _row(entry: Entry) -> tuple[int, float, str, str, str]:
    return entry.position, float(entry.at), entry.kind, entry.status, entry.text


def _checksum(run_id: str, position: int, *columns: float | str) -> int:
    """Of all columns: the last one, and the others as JSON before it."""
    *others, data = columns
    return zlib.crc32(f"{json.dumps([run_id, position, *others])}{data}".encode())


def _is_whole(run_id: str, row: Any) -> bool:
    """Whether its checksum is right, if it has one."""
    *columns, checksum = row
    try:
        return checksum is None or checksum == _checksum(run_id, *columns)
    except (TypeError, ValueError):  # what is in a column is not of its type
        return False


def _listed(known: int | None, run_id: str, *row: Any) -> StoredRun:
    position, at, _, status, _, _ = row
    if _is_whole(run_id, row) and known in (None, position + 1):
        return StoredRun(run_id, position + 1, status, at)
    return StoredRun(run_id, known or 0, "damaged", at)


def _packed(text: str) -> str | bytes:
    """A checkpoint says again what entries say: of English it then takes 40 % of the room."""
    return zlib.compress(text.encode(), 1) if len(text) <= PACKED_MAX else text


def _unpacked(data: object) -> object:
    """The text, or what is none. Files of earlier versions have all texts as they are."""
    if not isinstance(data, bytes):
        return data
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(data, PACKED_MAX)
        return text.decode() if unpacking.eof else None
    except (zlib.error, ValueError):
        return None


def _text(run_id: str, data: object) -> str:
    if not isinstance(data, str):
        raise JournalDamagedError(f"the journal of run {run_id!r} is damaged: an entry is no text")
    return data


def _is_damage(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorname", "")
    return code.startswith("SQLITE_CORRUPT") or code == "SQLITE_NOTADB"
