"""The tables of a journal in PostgreSQL, and how an append is written to them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attrs import astuple, frozen

from detent.adapters.journals.postgres.claims import CLAIMS_SCHEMA, IS_THERE
from detent.ports.journal import (
    Checkpoint,
    Entry,
    JournalError,
    listing_after,
    require_claim,
    require_next,
)
from detent.ports.listing import NO_LISTING, Listing

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
    thread_id TEXT NOT NULL, wake_at DOUBLE PRECISION, pending TEXT NOT NULL,
    labels TEXT[] NOT NULL
);
CREATE INDEX IF NOT EXISTS detent_runs_by_time ON detent_runs (at, run_id);
CREATE INDEX IF NOT EXISTS detent_runs_by_status ON detent_runs (status, at, run_id);
CREATE INDEX IF NOT EXISTS detent_runs_by_agent ON detent_runs (agent, at, run_id)
    WHERE agent <> '';
CREATE INDEX IF NOT EXISTS detent_runs_by_agent_and_status
    ON detent_runs (agent, status, at, run_id) WHERE agent <> '';
CREATE INDEX IF NOT EXISTS detent_runs_without_agent ON detent_runs (status, at, run_id)
    WHERE agent = '';
CREATE INDEX IF NOT EXISTS detent_runs_by_thread ON detent_runs (thread_id, at, run_id)
    WHERE thread_id <> '';
CREATE INDEX IF NOT EXISTS detent_runs_by_labels ON detent_runs USING gin (labels)
    WHERE labels <> '{}';
CREATE TABLE IF NOT EXISTS detent_layout (layout INTEGER NOT NULL)
"""
LAYOUT = 1
"""Which tables there are, and what stands in them."""
RUN = """
SELECT length, agent, thread_id, wake_at, pending, labels FROM detent_runs WHERE run_id = %s
"""
RUN_AND_CLAIM = RUN.replace(" FROM", f", {IS_THERE} FROM")
"""The same, and whether a claim on the run is there."""
ENTRIES = """
SELECT position, at, kind, status, data FROM detent_entries
WHERE run_id = %s AND position >= %s ORDER BY position
"""
FIRST = """
SELECT position, at, kind, status, data FROM detent_entries WHERE run_id = %s AND position = 0
"""
LISTED = """
INSERT INTO detent_runs VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (run_id) DO UPDATE SET length = EXCLUDED.length, at = EXCLUDED.at,
    status = EXCLUDED.status, wake_at = EXCLUDED.wake_at, pending = EXCLUDED.pending,
    labels = EXCLUDED.labels
"""


@frozen
class Rows:
    """The rows of an append."""

    run_id: str
    entries: Sequence[Entry]
    rows: Sequence[tuple[object, ...]]
    snapshot: tuple[object, ...] | None

    @classmethod
    def of(cls, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None) -> Rows:
        """Makes them. It raises what there is to say against the entries by themselves."""
        rows = [
            (entry.position, entry.at, entry.kind, entry.status, entry.text) for entry in entries
        ]
        snapshot = None
        if checkpoint is not None:
            snapshot = run_id, checkpoint.position, checkpoint.text
        return cls(run_id, entries, rows, snapshot)

    def write(self, db: Connection[Any], *, is_repeated: bool = False) -> None:
        """Write them, alone, in the transaction that has begun; once, if it may be repeated."""
        run_id, entries = self.run_id, self.entries
        claim = entries[0].claim
        if claim is None:
            row, is_claimed = db.execute(RUN, (run_id,)).fetchone(), True
        else:
            values = (run_id, *astuple(claim), run_id)
            row = db.execute(RUN_AND_CLAIM.encode(), values).fetchone()
            row, is_claimed = (row[:-1], row[-1]) if row else (None, False)
        length, listing = known_of(row)
        if is_repeated and self._are_there(db):
            return
        require_next(run_id, entries, length)
        require_claim(run_id, entries, claim if is_claimed else None)
        db.cursor().executemany(
            "INSERT INTO detent_entries VALUES (%s, %s, %s, %s, %s, %s)",
            [(run_id, *row) for row in self.rows],
        )
        listed = (length + len(entries), *_listed(listing_after(listing, entries), entries))
        db.execute(LISTED, (run_id, *listed))
        if self.snapshot is not None:
            db.execute("INSERT INTO detent_snapshots VALUES (%s, %s, %s)", self.snapshot)

    def _are_there(self, db: Connection[Any]) -> bool:
        """Whether they have been written: at their place stand all of them, as they are."""
        found = db.execute(ENTRIES, (self.run_id, self.rows[0][0])).fetchmany(len(self.rows))
        return found == list(self.rows)


def known_of(row: Any) -> tuple[int, Listing]:
    """How many entries a run has, and what lists say of it."""
    if row is None:
        return 0, NO_LISTING
    length, agent, thread_id, wake_at, pending, labels = row
    return length, Listing(agent, thread_id, wake_at, tuple(json.loads(pending)), tuple(labels))


def _listed(listing: Listing, entries: Sequence[Entry]) -> tuple[object, ...]:
    """What lists say of a run from here on, as it is kept."""
    last = entries[-1]
    says = (listing.agent, listing.thread_id, listing.wake_at, json.dumps(listing.pending))
    return last.at, last.status, *says, [*listing.labels]


def make_tables(db: Connection[Any]) -> None:
    """Make the tables where there are none, once.

    Raises:
        JournalError: those that are there are of another layout.
    """
    db.execute("SELECT pg_advisory_xact_lock(hashtextextended('detent schema', 0))")
    is_made = "SELECT to_regclass('detent_entries'), to_regclass('detent_layout')"
    entries, layout = db.execute(is_made).fetchone() or (None, None)
    if entries is None:
        for statement in (SCHEMA + ";" + CLAIMS_SCHEMA).split(";"):
            db.execute(statement.encode())
        db.execute("INSERT INTO detent_layout VALUES (%s)", (LAYOUT,))
        return
    sql = "SELECT layout FROM detent_layout"
    (found,) = (layout and db.execute(sql).fetchone()) or (0,)
    if found != LAYOUT:
        raise JournalError(
            f"the journal in PostgreSQL has layout {found}, and this Detent knows layout {LAYOUT}: "
            "use the version of Detent that wrote it"
        )
