"""The claims on the runs of an SQLite journal, in two tables of the same file.

They are not waited for until they are on the disk: a claim that a power cut loses was that of a
process which the same cut has ended.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, TypeAlias

from detent.adapters.journals.sqlite_file import SQLiteFile
from detent.adapters.journals.writer import Writer
from detent.ports.claims import FORGOTTEN_S, Claim, Owner

if TYPE_CHECKING:
    from concurrent.futures import Future

Statement: TypeAlias = tuple[str, tuple[Any, ...]]

FIND = "SELECT owner, epoch, since FROM claims WHERE run_id = ?"
FIRST = "INSERT OR IGNORE INTO claims VALUES (?, ?, ?, ?)"
NEXT = """
UPDATE claims SET owner = ?, epoch = ?, since = ?
WHERE run_id = ? AND owner = ? AND epoch = ? AND since = ?
"""
OWNER = "SELECT id, host, pid, started, until FROM owners WHERE id = ?"
KEEP = "INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?, ?)"
FORGET = "DELETE FROM owners WHERE until < ?"


IS_THERE = """EXISTS (
    SELECT 1 FROM claims WHERE run_id = ? AND owner = ? AND epoch = ? AND since = ?
)"""


def claim_on(db: sqlite3.Connection, run_id: str) -> Claim | None:
    """The claim on a run, in the transaction that has begun."""
    row = db.execute(FIND, (run_id,)).fetchone()
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
        """As the port says."""
        return self._reader.do("read", lambda db: claim_on(db, run_id))

    def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
        """As the port says."""
        return self._written([_swap(run_id, was, now)]) == 1

    def submit_swap(self, run_id: str, was: Claim | None, now: Claim) -> Future[bool]:
        """As `swap`, without waiting."""
        swap = _swap(run_id, was, now)
        return self._writer.submit(lambda db: db.execute(*swap).rowcount == 1)

    def owner(self, owner_id: str) -> Owner | None:
        """As the port says."""
        row = self._reader.do("read", lambda db: db.execute(OWNER, (owner_id,)).fetchone())
        return None if row is None else Owner(*row)

    def keep(self, owner: Owner) -> None:
        """As the port says."""
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
