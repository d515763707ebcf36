"""The claims on the runs of an SQLite journal, in two tables of the same file.

They are not waited for until they are on the disk: a claim that a power cut loses was that of a
process which the same cut has ended.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from detent.adapters.journals.sqlite_file import SQLiteFile
from detent.core.control.claims import Claim, Owner
from detent.ports.claims import FORGOTTEN_S

FIND = "SELECT owner, epoch, since FROM claims WHERE run_id = ?"
FIRST = "INSERT OR IGNORE INTO claims VALUES (?, ?, ?, ?)"
NEXT = """
UPDATE claims SET owner = ?, epoch = ?, since = ? WHERE run_id = ? AND owner = ? AND epoch = ?
"""
OWNER = "SELECT id, host, pid, started, until FROM owners WHERE id = ?"
KEEP = "INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?, ?)"
FORGET = "DELETE FROM owners WHERE until < ?"


class SQLiteClaims:
    """Keeps claims in the file of a journal."""

    is_shared = True

    def __init__(self, file: SQLiteFile) -> None:
        self._file = file

    def find(self, run_id: str) -> Claim | None:
        """As the port says."""
        row = self._file.do("read", lambda db: db.execute(FIND, (run_id,)).fetchone())
        return None if row is None else Claim(*row)

    def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
        """As the port says."""
        new = (now.owner, now.epoch, now.since)
        if was is None:
            return self._written([(FIRST, (run_id, *new))]) == 1
        return self._written([(NEXT, (*new, run_id, was.owner, was.epoch))]) == 1

    def owner(self, owner_id: str) -> Owner | None:
        """As the port says."""
        row = self._file.do("read", lambda db: db.execute(OWNER, (owner_id,)).fetchone())
        return None if row is None else Owner(*row)

    def keep(self, owner: Owner) -> None:
        """As the port says."""
        row = (owner.id, owner.host, owner.pid, owner.started, owner.until)
        self._written([(FORGET, (owner.until - FORGOTTEN_S,)), (KEEP, row)])

    def _written(self, statements: list[tuple[str, tuple[Any, ...]]]) -> int:
        """Carry out statements, each by itself; how many rows the last one has changed."""

        def write(db: sqlite3.Connection) -> int:
            db.execute("PRAGMA synchronous = NORMAL")
            try:
                return [db.execute(*one).rowcount for one in statements][-1]
            finally:
                db.execute("PRAGMA synchronous = FULL")

        return self._file.do("written", write)
