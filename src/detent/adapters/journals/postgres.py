"""A journal in PostgreSQL: for runs that several machines work on. Needs ``detent[postgres]``."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from attrs import evolve

from detent.ports.journal import (
    Checkpoint,
    Entry,
    JournalError,
    listing_after,
    require_next,
)
from detent.ports.listing import ALL_RUNS, NO_LISTING, Listing, RunQuery, StoredRun

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
);
CREATE TABLE IF NOT EXISTS detent_runs (
    run_id TEXT COLLATE "C" NOT NULL PRIMARY KEY, length BIGINT NOT NULL,
    at DOUBLE PRECISION NOT NULL, status TEXT NOT NULL, agent TEXT NOT NULL,
    thread_id TEXT NOT NULL, wake_at DOUBLE PRECISION, pending TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS detent_runs_by_time ON detent_runs (at, run_id);
CREATE INDEX IF NOT EXISTS detent_runs_by_status ON detent_runs (status, at, run_id);
CREATE INDEX IF NOT EXISTS detent_runs_by_agent ON detent_runs (agent, at, run_id)
    WHERE agent <> '';
CREATE INDEX IF NOT EXISTS detent_runs_by_thread ON detent_runs (thread_id, at, run_id)
    WHERE thread_id <> '';
CREATE TABLE IF NOT EXISTS detent_layout (layout INTEGER NOT NULL)
"""
LAYOUT = 1
"""Which tables there are, and what stands in them."""
ALONE = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
RUN = """
SELECT length, agent, thread_id, wake_at, pending FROM detent_runs WHERE run_id = %s
"""
ENTRIES = """
SELECT position, at, kind, status, data FROM detent_entries
WHERE run_id = %s AND position >= %s ORDER BY position
"""
LISTED = """
INSERT INTO detent_runs VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (run_id) DO UPDATE SET length = EXCLUDED.length, at = EXCLUDED.at,
    status = EXCLUDED.status, wake_at = EXCLUDED.wake_at, pending = EXCLUDED.pending
"""
RUNS = """
SELECT run_id, length, status, at, agent, thread_id, wake_at, pending FROM detent_runs
WHERE {} ORDER BY at DESC, run_id DESC LIMIT %s
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
        self._db: Connection[Any] | None = None
        with self._transaction("opened") as db:
            db.execute(ALONE, ("detent schema",))
            _make(db)

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        rows = [(run_id, *_row(entry)) for entry in entries]
        with self._transaction("written") as db:
            db.execute(ALONE, (run_id,))
            length, listing = _known(db.execute(RUN, (run_id,)).fetchone())
            require_next(run_id, entries, length)
            db.cursor().executemany(
                "INSERT INTO detent_entries VALUES (%s, %s, %s, %s, %s, %s)", rows
            )
            listed = (length + len(entries), *_listed(listing_after(listing, entries), entries))
            db.execute(LISTED, (run_id, *listed))
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

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As the port says. A page takes some milliseconds, however many runs there are."""
        where, values = _where(query)
        with self._transaction("read") as db:
            rows = db.execute(RUNS.format(where), (*values, query.limit)).fetchall()
        return [evolve(StoredRun(*row), pending=tuple(json.loads(row[-1]))) for row in rows]

    def delete(self, run_id: str) -> None:
        """As the port says."""
        with self._transaction("written") as db:
            db.execute(ALONE, (run_id,))
            db.execute("DELETE FROM detent_entries WHERE run_id = %s", (run_id,))
            db.execute("DELETE FROM detent_snapshots WHERE run_id = %s", (run_id,))
            db.execute("DELETE FROM detent_runs WHERE run_id = %s", (run_id,))

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


def _known(row: Any) -> tuple[int, Listing]:
    """How many entries a run has, and what lists say of it."""
    if row is None:
        return 0, NO_LISTING
    length, agent, thread_id, wake_at, pending = row
    return length, Listing(agent, thread_id, wake_at, tuple(json.loads(pending)))


def _listed(listing: Listing, entries: Sequence[Entry]) -> tuple[object, ...]:
    """What lists say of a run from here on, as it is kept."""
    last = entries[-1]
    says = (listing.agent, listing.thread_id, listing.wake_at, json.dumps(listing.pending))
    return last.at, last.status, *says


def _where(query: RunQuery) -> tuple[str, list[object]]:
    """What a query asks for, with its values. An index leaves out what is "", and must be told."""
    where, values = ["TRUE"], list[object]()
    for column in ("status", "agent", "thread_id"):
        if (value := getattr(query, column)) is not None:
            where.append(f"{column} = %s AND {column} {'<>' if value else '='} ''")
            values.append(value)
    if query.before is not None:
        where.append("(at, run_id) < (%s, %s)")
        values += query.before
    return " AND ".join(where), values


def _make(db: Connection[Any]) -> None:
    """Make the tables where there are none.

    Raises:
        JournalError: those that are there are of another layout.
    """
    is_made = "SELECT to_regclass('detent_entries'), to_regclass('detent_layout')"
    entries, layout = db.execute(is_made).fetchone() or (None, None)
    if entries is None:
        for statement in SCHEMA.split(";"):
            db.execute(statement)
        db.execute("INSERT INTO detent_layout VALUES (%s)", (LAYOUT,))
        return
    sql = "SELECT layout FROM detent_layout"
    (found,) = (layout and db.execute(sql).fetchone()) or (0,)
    if found != LAYOUT:
        raise JournalError(
            f"the journal in PostgreSQL has layout {found}, and this Detent knows layout {LAYOUT}: "
            "use the version of Detent that wrote it"
        )
