"""A journal in PostgreSQL: for runs that several machines work on. Needs ``detent[postgres]``."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from detent.adapters.journals import postgres_claims
from detent.ports.journal import (
    Checkpoint,
    Entry,
    JournalError,
    StoredRun,
    require_next,
)

if TYPE_CHECKING:
    from psycopg import Connection

SCHEMA = """
CREATE TABLE IF NOT EXISTS detent_entries (
    run_id TEXT NOT NULL, position BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL,
    kind TEXT NOT NULL, status TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run_id, position)
);
CREATE TABLE IF NOT EXISTS detent_snapshots (
    run_id TEXT NOT NULL, position BIGINT NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
)
"""
ALONE = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
LENGTH = "SELECT COALESCE(MAX(position) + 1, 0) FROM detent_entries WHERE run_id = %s"
ENTRIES = """
SELECT position, at, kind, status, data FROM detent_entries
WHERE run_id = %s AND position >= %s ORDER BY position
"""
RUNS = """
SELECT run_id, position + 1, status, at FROM (
    SELECT DISTINCT ON (run_id) run_id, position, status, at FROM detent_entries
    ORDER BY run_id, position DESC
) AS lasts ORDER BY at DESC
"""
SNAPSHOTS = "SELECT position, data FROM detent_snapshots WHERE run_id = %s ORDER BY position"


class PostgresJournal:
    """Keeps runs in the PostgreSQL database at `url`, in two tables that it makes.

    It holds one connection, and makes a new one when the database has been gone. Every append is on
    the server's disk when it returns, unless the server is told otherwise. Names of users and
    passwords are in no message.

    Raises:
        JournalError: the database cannot be reached.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = Lock()
        self.claims = postgres_claims.PostgresClaims(self._transaction)
        self._db: Connection[Any] | None = None
        with self._transaction("opened") as db:
            db.execute(ALONE, ("detent schema",))
            for statement in (SCHEMA + ";" + postgres_claims.SCHEMA).split(";"):
                db.execute(statement)

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        rows = [(run_id, *_row(entry)) for entry in entries]
        with self._transaction("written") as db:
            db.execute(ALONE, (run_id,))
            require_next(run_id, entries, _first(db.execute(LENGTH, (run_id,)).fetchone()))
            db.cursor().executemany(
                "INSERT INTO detent_entries VALUES (%s, %s, %s, %s, %s, %s)", rows
            )
            if checkpoint is not None:
                kept = (run_id, checkpoint.position, checkpoint.text)
                db.execute("INSERT INTO detent_snapshots VALUES (%s, %s, %s)", kept)

    def read(self, run_id: str, start: int = 0) -> Sequence[Entry]:
        """As the port says."""
        with self._transaction("read") as db:
            rows = db.execute(ENTRIES, (run_id, start)).fetchall()
        return [
            Entry(position, at, kind, status, data) for position, at, kind, status, data in rows
        ]

    def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """As the port says."""
        with self._transaction("read") as db:
            rows = db.execute(SNAPSHOTS, (run_id,)).fetchall()
        return [Checkpoint(position, data) for position, data in rows]

    def runs(self) -> Sequence[StoredRun]:
        """As the port says."""
        with self._transaction("read") as db:
            return [StoredRun(*row) for row in db.execute(RUNS).fetchall()]

    def delete(self, run_id: str) -> None:
        """As the port says."""
        with self._transaction("written") as db:
            db.execute(ALONE, (run_id,))
            db.execute("DELETE FROM detent_entries WHERE run_id = %s", (run_id,))
            db.execute("DELETE FROM detent_snapshots WHERE run_id = %s", (run_id,))
            db.execute(postgres_claims.DELETE, (run_id,))

    def close(self) -> None:
        """Close the connection. It is made again when it is needed."""
        with self._lock:
            self._drop()

    def __del__(self) -> None:
        self.close()

    @contextmanager
    def _transaction(self, done: str) -> Generator[Connection[Any], None, None]:
        """A transaction of one caller at a time; what fails in it is undone."""
        import psycopg

        with self._lock:
            try:
                if self._db is None or self._db.closed:
                    self._db = psycopg.connect(self._url, autocommit=True)
                with self._db.transaction():
                    yield self._db
            except psycopg.Error as error:
                self._drop()
                reason = (
                    type(error).__name__ if error.sqlstate is None else error.diag.message_primary
                )
                raise JournalError(
                    f"the journal in PostgreSQL could not be {done}: {reason}"
                ) from None

    def _drop(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


def _row(entry: Entry) -> tuple[int, float, str, str, str]:
    return entry.position, entry.at, entry.kind, entry.status, entry.text


def _first(row: Any) -> int:
    return int(row[0])
