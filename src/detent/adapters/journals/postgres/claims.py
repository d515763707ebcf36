"""The claims on the runs of a journal in PostgreSQL, in two tables beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from detent.adapters.journals.postgres.pool import ConnectionPool
from detent.ports.claims import FORGOTTEN_S, Claim, Owner

if TYPE_CHECKING:
    from psycopg import Connection

CLAIMS_SCHEMA = """
CREATE TABLE IF NOT EXISTS detent_claims (
    run_id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, epoch BIGINT NOT NULL,
    since DOUBLE PRECISION NOT NULL
);
CREATE TABLE IF NOT EXISTS detent_owners (
    id TEXT NOT NULL PRIMARY KEY, host TEXT NOT NULL, pid BIGINT NOT NULL, started TEXT NOT NULL,
    until DOUBLE PRECISION NOT NULL
)
"""
FIND = "SELECT owner, epoch, since FROM detent_claims WHERE run_id = %s"
FIRST = "INSERT INTO detent_claims VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"
NEXT = """
UPDATE detent_claims SET owner = %s, epoch = %s, since = %s
WHERE run_id = %s AND owner = %s AND epoch = %s AND since = %s
"""
OWNER = "SELECT id, host, pid, started, until FROM detent_owners WHERE id = %s"
KEEP = """
INSERT INTO detent_owners VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (id) DO UPDATE SET until = EXCLUDED.until
"""
FORGET = "DELETE FROM detent_owners WHERE until < %s"
IS_THERE = """EXISTS (
    SELECT 1 FROM detent_claims WHERE run_id = %s AND owner = %s AND epoch = %s AND since = %s
)"""


class PostgresClaims:
    """Keeps claims by the connections of a journal."""

    is_shared = True
    guards_appends = True

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool

    def find(self, run_id: str) -> Claim | None:
        """As `Claims.find` says."""
        row = self._row(FIND, run_id)
        return None if row is None else Claim(*row)

    def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
        """As `Claims.swap` says."""
        new = (now.owner, now.epoch, now.since)

        def swap(db: Connection[Any]) -> int:
            if was is None:
                return db.execute(FIRST, (run_id, *new)).rowcount
            return db.execute(NEXT, (*new, run_id, was.owner, was.epoch, was.since)).rowcount

        return self._pool.do("written", swap) == 1

    def owner(self, owner_id: str) -> Owner | None:
        """As `Claims.owner` says."""
        row = self._row(OWNER, owner_id)
        return None if row is None else Owner(*row)

    def keep(self, owner: Owner) -> None:
        """As `Claims.keep` says."""
        row = (owner.id, owner.host, owner.pid, owner.started, owner.until)

        def keep(db: Connection[Any]) -> None:
            db.execute(FORGET, (owner.until - FORGOTTEN_S,))
            db.execute(KEEP, row)

        self._pool.do("written", keep, keep)

    def _row(self, statement: str, key: str) -> Any:
        def read(db: Connection[Any]) -> Any:
            return db.execute(statement.encode(), (key,)).fetchone()

        return self._pool.do("read", read, read)
