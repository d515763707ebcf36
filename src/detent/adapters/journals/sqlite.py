"""A journal in an SQLite file: nothing to install, safe against a crash of process and machine.

SQLite sees when its pages make no sense, and not when they have lost a row or say something else.
So each row has the CRC-32 of the rest of it, and each run its length in a table of its own.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from detent.adapters.journals import sqlite_claims
from detent.adapters.journals.sqlite_file import SQLiteFile
from detent.ports.journal import (
    Checkpoint,
    Entry,
    JournalConflictError,
    JournalDamagedError,
    StoredRun,
    require_next,
    texts_of,
)

T = TypeVar("T")

SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    run_id TEXT NOT NULL, position INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL,
    status TEXT NOT NULL, data TEXT NOT NULL, crc32 INTEGER NOT NULL, PRIMARY KEY (run_id, position)
);
CREATE TABLE IF NOT EXISTS snapshots (
    run_id TEXT NOT NULL, position INTEGER NOT NULL, data TEXT NOT NULL, crc32 INTEGER NOT NULL,
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
LENGTH = "INSERT OR REPLACE INTO lengths VALUES (?, ?)"
AT_ONCE = 8
"""How many entries are inserted by one statement. A turn seldom has more."""
INSERT = [
    "INSERT INTO entries VALUES " + ", ".join(count * ["(?, ?, ?, ?, ?, ?, ?)"])  # noqa: S608 - ours
    for count in range(AT_ONCE + 1)
]
"""By how many entries."""
LENGTHEN = """
CREATE TEMP TRIGGER lengthen AFTER INSERT ON main.entries BEGIN
    UPDATE lengths SET length = NEW.position + 1
    WHERE run_id = NEW.run_id AND length = NEW.position AND (length = 0 OR EXISTS (
        SELECT 1 FROM entries WHERE run_id = NEW.run_id AND position = NEW.position - 1
    ));
    SELECT RAISE(ABORT, 'it does not follow the last entry') WHERE changes() = 0;
END
"""
"""An entry that does not follow is refused. So one statement is all that most appends need, and a
transaction by itself: with a check before it, an append takes half as many instructions again."""
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
CODES: Mapping[str, bytes] = {
    "ModelReplied": b"M",
    "ToolStarted": b"S",
    "ToolReturned": b"R",
    "Judged": b"J",
    "HappenedInside": b"I",
    "running": b"r",
}
"""The kinds and the status that stand in most rows. A blob is no text: nothing else looks so."""
NAMES: Mapping[object, str] = {code: name for name, code in CODES.items()}
NUMBERS = struct.Struct("<qd")
"""The position and the time of an entry, for its checksum."""
PACKED_MAX = 2**26
"""Longer texts are kept as they are: what a file can make of little is bounded."""


class SQLiteJournal:
    """Keeps runs in the SQLite file at `path`, which is made when it is not there.

    It is in write-ahead mode, and every append is on the disk when it returns. Do not put the file
    on a network drive. Where the file, its folder or the disk may only be read, the runs can be.

    Raises:
        JournalError: the file cannot be opened, or is no SQLite database.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._file = SQLiteFile(self._path, SCHEMA + sqlite_claims.SCHEMA, LENGTHEN)
        self.claims = sqlite_claims.SQLiteClaims(self._file)

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        start = entries[0].position if entries else 0
        require_next(run_id, entries, start)
        pairs = zip(entries, texts_of(entries), strict=True)
        rows = [_row(run_id, entry, text) for entry, text in pairs]
        snapshot = None if checkpoint is None else _snapshot_row(run_id, checkpoint)

        def write(db: sqlite3.Connection) -> None:
            if start and snapshot is None and _is_inserted(db, rows):
                return
            db.execute("BEGIN IMMEDIATE")
            length, known = db.execute(LENGTHS, (run_id, run_id)).fetchone()
            self._require_all(run_id, length, known)
            if length != start:
                raise JournalConflictError(run_id, start, length)
            db.execute(LENGTH, (run_id, length))
            db.executemany(INSERT[1], rows)
            if snapshot is not None:
                db.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?)", snapshot)
            db.execute("COMMIT")

        self._file.do("written", write)

    def read(self, run_id: str, start: int = 0) -> Iterator[Entry]:
        """As the port says. What stands before damage is given before that is raised."""
        rows: list[Any] = []
        damage: JournalDamagedError | None = None
        try:
            known = self._file.do("read", partial(_rows, rows, run_id, start))
            self._require_all(run_id, len(rows), known, start)
        except JournalDamagedError as error:
            damage = error
        for place, row in enumerate(map(_told, rows), start):
            if row[0] != place or not _is_whole(run_id, row, _checksum):
                told = f"the journal {self._path} is damaged: entry {place} of run {run_id!r}"
                raise JournalDamagedError(f"{told} is not what was written", run_id, place)
            position, at, kind, status, data, _ = row
            yield Entry(position, at, kind, status, _text(run_id, data))
        if damage is not None:
            raise JournalDamagedError(str(damage), run_id, start + len(rows))

    def _require_all(self, run_id: str, count: int, known: object, start: int = 0) -> None:
        """Raise when a run, of which `count` entries are there from `start` on, was once longer."""
        if known is None and not count:
            return
        if not isinstance(known, int) or start + count < known:
            had = "an unknown number of" if known is None else known
            raise JournalDamagedError(
                f"the journal {self._path} is damaged: run {run_id!r} had {had} entries, and "
                f"{start + count} are left"
            )

    def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """As the port says."""
        packed = self._file.do("read", lambda db: db.execute(SNAPSHOTS, (run_id,)).fetchall())
        rows = [(position, _unpacked(data), checksum) for position, data, checksum in packed]
        if not all(_is_whole(run_id, row, _checkpoint_checksum) for row in rows):
            raise JournalDamagedError(
                f"the journal {self._path} is damaged: a checkpoint of run {run_id!r} is not what "
                "was written; delete the run's rows in the table snapshots to do without, which is "
                "slower"
            )
        return [Checkpoint(position, _text(run_id, data)) for position, data, _ in rows]

    def runs(self) -> Sequence[StoredRun]:
        """As the port says. One whose last entry is damaged has the status "damaged"."""
        rows = self._file.do("read", lambda db: db.execute(RUNS).fetchall())
        return [_listed(*row) for row in rows]

    def delete(self, run_id: str) -> None:
        """As the port says."""

        def delete(db: sqlite3.Connection) -> None:
            db.execute("BEGIN IMMEDIATE")
            for table in ("entries", "snapshots", "lengths", "claims"):
                db.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))  # noqa: S608 - ours
            db.execute("COMMIT")

        self._file.do("written", delete)

    def close(self) -> None:
        """Close the file. It is opened again when it is needed."""
        self._file.close()


def _is_inserted(db: sqlite3.Connection, rows: Sequence[tuple[object, ...]]) -> bool:
    """Whether some rows could be inserted as the next ones of a run, by one statement."""
    if len(rows) > AT_ONCE:
        return False
    try:
        db.execute(INSERT[len(rows)], [*chain(*rows)])
    except sqlite3.IntegrityError:
        return False
    return True


def _rows(rows: list[Any], run_id: str, start: int, db: sqlite3.Connection) -> object:
    """Fill in the rows of a run's entries; gives how many entries it has had, if that is known."""
    db.execute("BEGIN")
    rows.extend(db.execute(ENTRIES, (run_id, start)))
    (known,) = db.execute(KNOWN, (run_id,)).fetchone() or (None,)
    db.execute("COMMIT")
    return known


def _row(run_id: str, entry: Entry, text: str) -> tuple[object, ...]:
    """An entry as it is kept."""
    at, kind, status = float(entry.at), entry.kind, entry.status
    checksum = _checksum(run_id, entry.position, at, kind, status, text)
    code, short = CODES.get(kind, kind), CODES.get(status, status)
    return run_id, entry.position, at, code, short, text, checksum


def _snapshot_row(run_id: str, checkpoint: Checkpoint) -> tuple[object, ...]:
    place, text = checkpoint.position, checkpoint.text
    return run_id, place, _packed(text), _checkpoint_checksum(run_id, place, text)


def _told(row: Any) -> tuple[Any, ...]:
    """A row of an entry with its kind and status in full."""
    position, at, kind, status, data, checksum = row
    return position, at, NAMES.get(kind, kind), NAMES.get(status, status), data, checksum


def _checksum(run_id: str, *entry: Any) -> int:
    """Of an entry."""
    position, at, kind, status, text = entry
    numbers = zlib.crc32(NUMBERS.pack(position, at))
    return zlib.crc32(f"{run_id}\n{kind}\n{status}\n{text}".encode(), numbers)


def _checkpoint_checksum(run_id: str, position: int, text: object) -> int:
    return zlib.crc32(f"{json.dumps([run_id, position])}{text}".encode())


def _is_whole(run_id: str, row: Any, checksum_of: Callable[..., int]) -> bool:
    """Whether its checksum is right."""
    *columns, checksum = row
    try:
        return bool(checksum == checksum_of(run_id, *columns))
    except (TypeError, ValueError, struct.error):  # what is in a column is not of its type
        return False


def _listed(known: int | None, run_id: str, *kept: Any) -> StoredRun:
    position, at, _, status, _, _ = row = _told(kept)
    if known == position + 1 and _is_whole(run_id, row, _checksum):
        return StoredRun(run_id, position + 1, status, at)
    return StoredRun(run_id, known or 0, "damaged", at)


def _packed(text: str) -> str | bytes:
    """A checkpoint says again what entries say: of English it then takes 40 % of the room."""
    return zlib.compress(text.encode(), 1) if len(text) <= PACKED_MAX else text


def _unpacked(data: object) -> object:
    """The text, or what is none. One that was too long to be packed is there as it is."""
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
