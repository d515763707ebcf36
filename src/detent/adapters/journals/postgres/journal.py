"""A journal in PostgreSQL: for runs that several machines work on. Needs ``detent[postgres]``."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import evolve

from detent.adapters.journals.first_entry import first_and_rest
from detent.adapters.journals.polling import FOREIGN_S
from detent.adapters.journals.postgres.claims import PostgresClaims
from detent.adapters.journals.postgres.pool import ConnectionPool
from detent.adapters.journals.postgres.tables import (
    ENTRIES,
    FIRST,
    RUN,
    Rows,
    known_of,
    make_tables,
)
from detent.adapters.journals.writer import Done, Writer
from detent.adapters.system.installation import install_command
from detent.ports.journal import OUTAGE_S, Checkpoint, Entry, JournalUnavailableError
from detent.ports.listing import ALL_RUNS, RunQuery, StoredRun

if TYPE_CHECKING:
    from concurrent.futures import Future

    from psycopg import Connection

T = TypeVar("T")

LOOK_S = 5.0
"""How long what others write stays unheard where the connection that listens hangs."""
NOTICE_MAX = 1900
"""PostgreSQL lets a notice have 8,000 bytes, and a character has four at most."""
ALONE = f"""
SELECT pg_advisory_xact_lock(hashtextextended(%s, 0)),
    pg_notify('detent', left(%s, {NOTICE_MAX}))
"""
"""Each writer begins with it, and whoever listens is told once all is written."""
ALONE_AT_ONCE = f"""
SELECT is_alone, CASE WHEN is_alone THEN pg_notify('detent', left(%s, {NOTICE_MAX})) END
FROM pg_try_advisory_xact_lock(hashtextextended(%s, 0)) AS is_alone
"""  # noqa: S608 - a number of ours
"""The same where nobody may wait; says whether it is alone."""
LENGTHS = "SELECT run_id, length FROM detent_runs WHERE run_id = ANY(%s)"
RUNS = """
SELECT run_id, length, status, at, agent, thread_id, wake_at, pending, labels, (
    SELECT at FROM detent_entries AS first WHERE first.run_id = detent_runs.run_id AND position = 0
) AS began FROM detent_runs
WHERE {} ORDER BY at DESC, run_id DESC LIMIT %s
"""
SNAPSHOTS = "SELECT position, data FROM detent_snapshots WHERE run_id = %s ORDER BY position"


class PostgresJournal:
    """Keeps runs in the PostgreSQL database at `url`, in tables that it makes.

    It may be made before a fork: each process has connections of its own. Every append is on the
    server's disk when it returns, unless the server is told otherwise. Where a connection is lost,
    a read is tried once more, and so is an append, if it turns out not to have been written. Names
    of users and passwords are in no message.

    Args:
        url: the database; what it says of time-outs and of TCP comes first.
        connections: how many are open at most in a process; who needs one more waits.
        statement_s: how long a statement may take, its waits for others included. A process that
            stands still inside a transaction keeps others from its run for so long as well.
        connect_s: how long it may take to connect, at least 2.
        outage_s: for how long an append is begun again while the server cannot be reached.

    Raises:
        ImportError: psycopg is not installed: ``pip install 'detent[postgres]'``.
        JournalError: the database cannot be reached, or has tables of another layout.
    """

    def __init__(
        self,
        url: str,
        *,
        connections: int = 8,
        statement_s: float = 30.0,
        connect_s: float = 10.0,
        outage_s: float = OUTAGE_S,
    ) -> None:
        if find_spec("psycopg") is None:
            raise ImportError(
                f"PostgresJournal needs psycopg: {install_command('postgres')}", name="psycopg"
            )
        self.outage_s = outage_s
        self._pool = ConnectionPool(url, connections, statement_s, connect_s)
        self._writer = Writer(partial(_together, self._pool))
        self.claims = PostgresClaims(self._pool)
        self._pool.do("opened", make_tables)

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As `Journal.append` says; who listens to the channel "detent" is told the run's id."""
        rows = Rows.of(run_id, entries, checkpoint)

        def write(db: Connection[Any], *, is_repeated: bool = False) -> None:
            db.execute(ALONE.encode(), (run_id, run_id))
            rows.write(db, is_repeated=is_repeated)

        # The lock tells: once it is ours again, what was sent before is written, or never will be.
        self._pool.do("written", write, partial(write, is_repeated=True))

    def submit(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> Future[None]:
        """As the port `SubmittingJournal` says; many are written in one transaction.

        A run to which another process is just writing holds up none of the others: it is refused,
        as not to be had at the moment.
        """
        rows = Rows.of(run_id, entries, checkpoint)

        def write(db: Connection[Any]) -> None:
            found = db.execute(ALONE_AT_ONCE.encode(), (run_id, run_id)).fetchone()
            if found is None or not found[0]:
                raise JournalUnavailableError(f"another process is writing to run {run_id!r}")
            rows.write(db)

        return self._writer.submit(write)

    def read(self, run_id: str, start: int = 0) -> Iterable[Entry]:
        """As `Journal.read` says."""
        if start:
            return self._entries(run_id, start)
        first = next((Entry(*row) for row in self._read(FIRST, run_id)), None)
        return first_and_rest(run_id, first, partial(self._entries, run_id, 0))

    def _entries(self, run_id: str, start: int) -> Sequence[Entry]:
        return [Entry(*row) for row in self._read(ENTRIES, run_id, start)]

    def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """As `Journal.checkpoints` says."""
        return [Checkpoint(position, data) for position, data in self._read(SNAPSHOTS, run_id)]

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As `Journal.runs` says. A page takes some milliseconds, however many runs there are."""
        where, values = _where(query)
        rows = self._read(RUNS.format(where), *values, query.limit)
        return [
            evolve(StoredRun(*row), pending=tuple(json.loads(row[-3])), labels=tuple(row[-2]))
            for row in rows
        ]

    def delete(self, run_id: str) -> None:
        """As `Journal.delete` says."""

        def delete(db: Connection[Any]) -> None:
            db.execute(ALONE.encode(), (run_id, run_id))
            for table in ("entries", "snapshots", "runs", "claims"):
                statement = f"DELETE FROM detent_{table} WHERE run_id = %s"  # noqa: S608 - ours
                db.execute(statement.encode(), (run_id,))

        self._pool.do("written", delete, delete)

    def wait(self, run_id: str, length: int, timeout_s: float) -> bool:
        """As the port `Notices` says, by LISTEN: each that waits has a connection of its own."""
        end = time.monotonic() + timeout_s

        def has_changed(db: Connection[Any]) -> bool:
            return known_of(db.execute(RUN, (run_id,)).fetchone())[0] != length

        def listen() -> bool:
            with closing(self._pool.connect()) as db:
                db.execute("LISTEN detent")
                while not has_changed(db):
                    left = end - time.monotonic()
                    if left <= 0:
                        return False
                    for note in db.notifies(timeout=left):
                        if note.payload == _payload(run_id):
                            break
                return True

        return self._pool.attempt("read", listen)

    def from_others(
        self, run_ids: Callable[[], Collection[str]]
    ) -> Generator[Collection[str], None, None]:
        """As the port `ForeignNotices` says, by LISTEN in one connection, as soon as it is told.

        RULE: that one may hang, so by another one it is looked now and then which runs have grown.
        """
        import psycopg

        try:
            with closing(self._pool.connect()) as db:
                db.execute("LISTEN detent")
                yield run_ids()
                known, look_at = dict[str, int](), time.monotonic() + LOOK_S
                while True:
                    for note in db.notifies(timeout=FOREIGN_S):
                        if note.pid not in self._pool.pids:
                            yield _meant(note.payload, run_ids)
                    yield ()
                    if time.monotonic() >= look_at:
                        lengths = dict(self._read(LENGTHS, [*run_ids()]))
                        yield [name for name in lengths if lengths[name] != known.get(name)]
                        known, look_at = lengths, time.monotonic() + LOOK_S
        except psycopg.Error as error:
            raise self._pool.fault("read", error) from None

    def close(self) -> None:
        """Close the connections of this process. They are made again when they are needed."""
        self._pool.close()

    def _read(self, statement: str, *values: object) -> list[Any]:
        def read(db: Connection[Any]) -> list[Any]:
            return db.execute(statement.encode(), values).fetchall()

        return self._pool.do("read", read, read)


def _payload(run_id: str) -> str:
    """What a notice of an append says: the id, as far as there is room for it."""
    return run_id[:NOTICE_MAX]


def _meant(payload: str, run_ids: Callable[[], Collection[str]]) -> Collection[str]:
    """The runs that a notice may mean: its text may be the beginning of an id only."""
    if len(payload) < NOTICE_MAX:
        return [payload]
    return [run_id for run_id in run_ids() if _payload(run_id) == payload]


def _together(
    pool: ConnectionPool, jobs: Sequence[Callable[[Connection[Any]], object]]
) -> list[Done]:
    """Do jobs in one transaction, each in a part of it that can be undone by itself."""

    def do(db: Connection[Any]) -> list[Done]:
        return [_done(pool, job, db) for job in jobs]

    return pool.do("written", do)


def _done(
    pool: ConnectionPool, job: Callable[[Connection[Any]], object], db: Connection[Any]
) -> Done:
    import psycopg

    try:
        with db.transaction():
            return job(db), None
    except psycopg.OperationalError:
        raise  # it is the server's fault, and none of them can be done
    except psycopg.Error as error:
        return None, pool.fault("written", error)
    except Exception as error:  # noqa: BLE001 - whoever submitted it is told
        return None, error


def _where(query: RunQuery) -> tuple[str, list[object]]:
    """What a query asks for, with its values. An index leaves out what is "", and must be told."""
    where, values = ["TRUE"], list[object]()
    for column in ("run_id", "status", "agent", "thread_id"):
        if (value := getattr(query, column)) is not None:
            where.append(f"{column} = %s AND {column} {'<>' if value else '='} ''")
            values.append(value)
    if query.label is not None:
        where.append("labels @> %s::text[] AND labels <> '{}'")
        values.append([query.label])
    if query.before is not None:
        where.append("(at, run_id) < (%s, %s)")
        values += query.before
    return " AND ".join(where), values
