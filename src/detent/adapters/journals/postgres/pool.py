"""Connections to PostgreSQL, a few for each process: no thread keeps them, so a fork does no harm.

Libraries with a pool have threads at work in it, which a child process lacks, and locks that one of
them may have held. Here a child finds no connection of its own and makes one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from threading import Semaphore
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import field, frozen

from detent.ports.journal import JournalError, JournalUnavailableError

if TYPE_CHECKING:
    from psycopg import Connection

T = TypeVar("T")

KEEP_ALIVE: Mapping[str, int] = {
    "keepalives": 1,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""A server that is gone without a word is missed after a minute. What the URL says comes first."""
READ_ONLY = "25006"
"""The state of a server that takes no writes at the moment, as another one is taking its place."""
UNREADABLE = "an address that cannot be read"
SETTINGS = """
SELECT set_config('statement_timeout', %s, false),
    set_config('idle_in_transaction_session_timeout', %s, false)
"""


@frozen
class _Own:
    """What one process has: connections that are idle, and how many more may be in use."""

    places: Semaphore
    idle: list[Connection[Any]] = field(factory=list)
    pids: dict[Connection[Any], int] = field(factory=dict)

    def take_idle(self) -> Connection[Any] | None:
        """One that is idle, if there is one: to look first would leave time for another thread."""
        try:
            return self.idle.pop()
        except IndexError:
            return None

    def known(self, db: Connection[Any]) -> Connection[Any]:
        """A new connection, by the number of whose server process its notices are known."""
        self.pids[db] = db.info.backend_pid
        return db

    def close(self, db: Connection[Any]) -> None:
        """Close one, whose number may soon be another's."""
        self.pids.pop(db, None)
        db.close()


class ConnectionPool:
    """Connections to the database at `url`, at most `size` in a process at a time."""

    def __init__(self, url: str, size: int, statement_s: float, connect_s: float) -> None:
        self._url = url
        self._size = size
        self._statement_s = statement_s
        self._connect_s = connect_s
        self._processes: dict[int, _Own] = {}

    def __del__(self) -> None:
        """Whoever has written last closes what they have written by."""
        self.close()

    @contextmanager
    def connection(self) -> Generator[Connection[Any]]:
        """One for the caller alone; it is kept for the next, unless it has failed."""
        own = self._own()
        with own.places:
            db = own.take_idle() or own.known(self.connect())
            try:
                yield db
            finally:
                if db.broken or db.info.transaction_status:  # anything but idle
                    own.close(db)
                else:
                    own.idle.append(db)

    def connect(self) -> Connection[Any]:
        """A new connection, which is nobody else's.

        Raises:
            psycopg.Error: there is none to be had.
        """
        import psycopg
        from psycopg.conninfo import conninfo_to_dict, make_conninfo

        wait = {"connect_timeout": max(2, round(self._connect_s)), **KEEP_ALIVE}
        address = make_conninfo("", **{**wait, **conninfo_to_dict(self._url)})
        db = psycopg.connect(address, autocommit=True)
        try:
            db.execute(SETTINGS, [f"{1000 * self._statement_s:.0f}"] * 2)
        except BaseException:
            db.close()
            raise
        return db

    def do(
        self,
        done: str,
        work: Callable[[Connection[Any]], T],
        again: Callable[[Connection[Any]], T] | None = None,
    ) -> T:
        """Do it in a transaction; `again` is done once in its place if the connection is lost."""
        import psycopg

        def do() -> T:
            used: list[Connection[Any]] = []
            try:
                return self._transaction(work, used)
            except psycopg.Error:
                if again is None or not used or not used[0].broken:
                    raise
            self.close()  # the others are as old, and most probably lost as well
            return self._transaction(again, used)

        return self.attempt(done, do)

    def _transaction(self, work: Callable[[Connection[Any]], T], used: list[Connection[Any]]) -> T:
        with self.connection() as db:
            used.append(db)
            with db.transaction():
                return work(db)

    def attempt(self, done: str, work: Callable[[], T]) -> T:
        """What fails says where, and why."""
        import psycopg

        try:
            return work()
        except psycopg.Error as error:
            raise self.fault(done, error) from None

    def fault(self, done: str, error: Exception) -> JournalError:
        """What an error of PostgreSQL means for a journal."""
        import psycopg

        is_passing = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        is_passing |= getattr(error, "sqlstate", "") == READ_ONLY
        kind = JournalUnavailableError if is_passing else JournalError
        place, reason = self.place(), self.reason(error)
        return kind(f"the journal in PostgreSQL at {place} could not be {done}: {reason}")

    def close(self) -> None:
        """Close those that are idle. They are made again when they are needed."""
        own = self._own()
        while (db := own.take_idle()) is not None:
            own.close(db)

    @property
    def pids(self) -> Collection[int]:
        """The numbers of the server processes by which this process writes."""
        return self._own().pids.values()

    def place(self) -> str:
        """Where the database is, without users and passwords."""
        host, port = self._known().get("host", "this machine"), self._known().get("port", 5432)
        return f"{host}:{port}" if str(port).isdigit() else UNREADABLE

    def reason(self, error: Exception) -> str:
        """Why something has failed, without users and passwords."""
        if self.place() == UNREADABLE:  # it may quote the address
            return type(error).__name__
        message = getattr(getattr(error, "diag", None), "message_primary", None)
        text = str(message or (str(error).splitlines() or [type(error).__name__])[0])
        for secret in (self._known().get("password"), self._known().get("user")):
            if secret:  # "u" is a user's name, too, and a part of many a word
                text = re.sub(rf"(?<!\w){re.escape(str(secret))}(?!\w)", "***", text)
        return text

    def _known(self) -> dict[str, Any]:
        """What the URL says; nothing when it cannot be read."""
        from psycopg import Error
        from psycopg.conninfo import conninfo_to_dict

        try:
            return conninfo_to_dict(self._url)
        except Error:
            return {"port": "none"}

    def _own(self) -> _Own:
        """What this process has. A parent's connections stay its own: to close one would end it."""
        made = _Own(Semaphore(self._size))
        return self._processes.setdefault(os.getpid(), made)
