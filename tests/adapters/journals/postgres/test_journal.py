"""The PostgreSQL store: it keeps the laws, and a database that goes and comes back does no harm."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import psycopg
import pytest
from attrs import evolve
from psycopg.conninfo import make_conninfo

from detent import Agent, Runs, ScriptedChatGenerator
from detent.adapters.journals.postgres.journal import PostgresJournal
from detent.adapters.journals.postgres.pool import ConnectionPool
from detent.journals import Entry
from detent.machine import ManualClock
from detent.ports.journal import (
    Checkpoint,
    JournalConflictError,
    JournalDamagedError,
    JournalError,
    JournalUnavailableError,
)
from detent.ports.laws.journal import check_journal, entries
from detent.ports.laws.notices import check_notices
from detent.ports.laws.submissions import check_submissions


class Backwards(ManualClock):
    """Each look at it is a day before the last one."""

    def now(self) -> float:
        """Earlier and earlier."""
        self._day = getattr(self, "_day", 20_000) - 1
        return self._day * 86_400.0


@pytest.fixture
def url(postgres_url: str) -> str:
    """A server whose journal is empty."""
    journal = PostgresJournal(postgres_url)
    for run in journal.runs():
        journal.delete(run.run_id)
    return postgres_url


def test_the_store_keeps_all_laws(url: str) -> None:
    """As every other."""
    check_journal(lambda: PostgresJournal(url))


def end_connections(url: str) -> None:
    """As an administrator, or a proxy that thinks them idle."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )


def test_a_database_that_was_gone_is_used_again(url: str) -> None:
    """No call fails, and nothing is written twice."""
    journal = PostgresJournal(url)
    journal.append("a", entries(0, 1))
    other = PostgresJournal(url)

    end_connections(url)
    journal.append("a", entries(1, 1))
    end_connections(url)
    assert list(other.read("a")) == entries(0, 2)
    assert [run.length for run in journal.runs()] == [2]


def test_a_clock_that_jumps_backwards_orders_nothing(url: str) -> None:
    """Entries come in the order of their positions, and a run has the time of its last one."""
    journal = PostgresJournal(url)
    for position, at in enumerate((9.0, 7.0, 8.0, -1.0)):
        journal.append("a", [Entry(position, at, "K", "running", {})])
        journal.append("b", [Entry(position, 5.0 - position, "K", "running", {})])

    assert [entry.at for entry in PostgresJournal(url).read("a")] == [9.0, 7.0, 8.0, -1.0]
    assert [(run.run_id, run.length, run.at) for run in journal.runs()] == [
        ("b", 4, 2.0),
        ("a", 4, -1.0),
    ]
    agent = Agent(chat_generator=ScriptedChatGenerator("hi"), journal=journal, clock=Backwards())
    result = agent.run("go", run_id="c")
    assert Runs(journal, agent.spec).replay("c") == result.run
    assert agent.resume("c").text == "hi"


def test_a_server_that_crashes_and_comes_back_has_lost_nothing() -> None:
    """While it is away each call is an error; afterwards the same handle goes on."""
    pgserver = pytest.importorskip("pgserver", reason="a server of our own is needed")
    with TemporaryDirectory() as folder:
        server = pgserver.get_server(folder)
        try:
            journal = PostgresJournal(server.get_uri())
            journal.append("a", entries(0, 2))
            pgserver.pg_ctl(["-m", "immediate", "stop"], pgdata=folder, user=server.system_user)

            with pytest.raises(JournalError, match="could not be written"):
                journal.append("a", entries(2, 1))
            with pytest.raises(JournalError, match="could not be read"):
                list(journal.read("a"))

            server.ensure_postgres_running()
            journal.append("a", entries(2, 1))
            assert list(journal.read("a")) == entries(0, 3)
        finally:
            server.cleanup()


def test_damaged_data_is_an_error(url: str) -> None:
    """In an entry, and in a checkpoint."""
    journal = PostgresJournal(url)
    journal.append("a", entries(0, 1), Checkpoint(1, {}))
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("UPDATE detent_entries SET data = '{'")
        db.execute("UPDATE detent_snapshots SET data = '3'")

    for (found,) in (journal.read("a"), journal.checkpoints("a")):
        with pytest.raises(JournalDamagedError, match="damaged"):
            _ = found.data


def test_no_password_is_in_a_message() -> None:
    """Whatever the driver says about the address."""
    with pytest.raises(JournalError) as caught:
        PostgresJournal("postgresql://me:sesame@127.0.0.1:1/none?connect_timeout=1")

    told = str(caught.value)
    assert "sesame" not in told
    assert "me" not in told.split("127.0.0.1:1", maxsplit=1)[0]
    assert "at 127.0.0.1:1 could not be opened: " in told
    assert "onnection refused" in told


def test_no_user_is_in_a_message(url: str) -> None:
    """The server names whom it does not know."""
    with pytest.raises(JournalError, match=r"could not be opened: .*\*\*\*") as caught:
        PostgresJournal(make_conninfo(url, user="stranger", password="sesame"))  # noqa: S106 - of a test

    assert "stranger" not in str(caught.value)


@pytest.mark.parametrize("url", ["postgresql://me:se/same@127.0.0.1:1", "sesame", "host=x same=y"])
def test_an_address_that_cannot_be_read_is_not_quoted(url: str) -> None:
    """What is wrong with it may be the password."""
    with pytest.raises(JournalError, match="an address that cannot be read") as caught:
        PostgresJournal(url)

    assert "same" not in str(caught.value)


class LosingPool(ConnectionPool):
    """The connection is lost while an append is on its way: before or after it is written."""

    after: str | None = None

    def _transaction(self, work: Any, used: list[Any]) -> Any:
        if self.after is None:
            return super()._transaction(work, used)
        after, self.after = self.after, None
        with self.connection() as db:
            used.append(db)
            with db.transaction():
                if after == "written":
                    work(db)
                else:
                    end_connections(self._url)
                    work(db)
            end_connections(self._url)
            db.execute("SELECT 1")
            raise AssertionError("the connection is lost")


class Taken(list[Any]):
    """A list whose last item somebody else has just taken, whatever it said before."""

    def __bool__(self) -> bool:
        return True


def test_a_short_name_mangles_no_words() -> None:
    """A user called "u" is a part of many a word."""
    with pytest.raises(JournalError, match="refused") as caught:
        PostgresJournal("postgresql://u:pw@127.0.0.1:1/x", connect_s=3.0).runs()
    assert "***" not in str(caught.value)


def test_an_idle_connection_that_another_thread_takes_first_is_no_error(url: str) -> None:
    """A new one is made."""
    pool = ConnectionPool(url, 8, 30.0, 10.0)
    pool._processes[os.getpid()] = evolve(pool._own(), idle=Taken())

    assert pool.do("read", lambda db: db.execute("SELECT 1").fetchone()) == (1,)
    pool.close()


def losing(url: str) -> tuple[PostgresJournal, LosingPool]:
    """A journal, and its pool, which loses a connection when it is told to."""
    journal = PostgresJournal(url)
    journal.close()
    journal._pool = pool = LosingPool(url, 8, 30.0, 10.0)
    return journal, pool


@pytest.mark.parametrize("after", ["sent", "written"])
def test_an_append_whose_connection_was_lost_is_written_once(after: str, url: str) -> None:
    """Whether it had been written is seen by what stands at its place."""
    journal, pool = losing(url)
    journal.append("a", entries(0, 1))
    pool.after = after
    journal.append("a", entries(1, 2))

    assert list(PostgresJournal(url).read("a")) == entries(0, 3)
    pool.after = "written"
    other = PostgresJournal(url)
    with pytest.raises(JournalConflictError):
        journal.append("a", entries(2, 2))
    other.append("a", entries(3, 1))


def test_what_somebody_else_has_written_there_is_a_conflict(url: str) -> None:
    """A lost connection makes nobody's entries ours."""
    journal, pool = losing(url)
    journal.append("a", entries(0, 1))
    PostgresJournal(url).append("a", [evolve(entries(1, 1)[0], at=7.0)])
    pool.after = "sent"

    with pytest.raises(JournalConflictError):
        journal.append("a", entries(1, 1))


def test_a_statement_that_takes_too_long_is_an_error(url: str) -> None:
    """Somebody stands still inside an append; others do not wait for ever."""
    journal = PostgresJournal(url, statement_s=0.05)
    with psycopg.connect(url) as frozen, frozen.transaction():
        frozen.execute("SELECT pg_advisory_xact_lock(hashtextextended('a', 0))")
        with pytest.raises(JournalError, match=r"could not be written: .*statement timeout"):
            journal.append("a", entries(0, 1))
    journal.append("a", entries(0, 1))


FORKING = """
import os, sys
from detent.journals import PostgresJournal
from detent.ports.laws.journal import entries

journal = PostgresJournal(sys.argv[1])
if sys.argv[2] == "used":
    journal.append("before", entries(0, 1))
else:
    journal.close()
child = os.fork()
name = "parent" if child else "child"
for position in range(60):
    journal.append(name, entries(position, 1))
    assert list(journal.read(name)) == entries(0, position + 1)
if not child:
    del journal
    sys.exit(0)
_, status = os.waitpid(child, 0)
assert list(journal.read("child")) == list(journal.read("parent")) == entries(0, 60)
print("both", status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("connections", ["used", "none"])
def test_a_journal_that_is_made_before_a_fork_serves_both(connections: str, url: str) -> None:
    """Each process gets its own answers, and nothing is lost; the child's end does no harm."""
    command = [sys.executable, "-c", FORKING, url, connections]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert (done.stdout, done.returncode) == ("both 0\n", 0), done.stderr


def test_appends_can_be_submitted(url: str) -> None:
    """Many are written in one transaction."""
    check_submissions(lambda: PostgresJournal(url))


def test_a_run_that_another_process_writes_to_holds_up_no_other(url: str) -> None:
    """It is not to be had at the moment, and is tried again."""
    journal = PostgresJournal(url)
    with psycopg.connect(url) as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtextextended('a', 0))")
        held = journal.submit("a", entries(0, 1))
        journal.submit("b", entries(0, 1)).result(10)
        with pytest.raises(JournalUnavailableError, match="another process is writing to run 'a'"):
            held.result(10)
    journal.submit("a", entries(0, 1)).result(10)


def test_an_append_is_noticed(url: str) -> None:
    """By whoever waits, in any process."""
    check_notices(lambda: PostgresJournal(url))


def test_what_no_notice_tells_is_looked_for(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection that listens may have died in silence. What has not grown is not named."""
    monkeypatch.setattr("detent.adapters.journals.postgres.journal.LOOK_S", 0.0)
    journal = PostgresJournal(url)
    for run_id in ("grows", "rests"):
        journal.append(run_id, entries(0, 1))
    with closing(journal.from_others(lambda: ["grows", "rests"])) as news:
        assert {*next(news)} == {"grows", "rests"}  # nobody knows what came before
        next(news)
        assert {*next(news)} == {"grows", "rests"}  # nor is it known what the first look finds
        with psycopg.connect(url, autocommit=True) as db:  # it notifies nobody
            db.execute("UPDATE detent_runs SET length = 2 WHERE run_id = 'grows'")
        assert [*next(news), *next(news)] == ["grows"]
        assert [*next(news), *next(news)] == []


def test_many_threads_share_few_connections(url: str) -> None:
    """Who needs one more waits for it."""
    journal = PostgresJournal(url, connections=2)

    def write(name: str) -> None:
        for position in range(5):
            journal.append(name, entries(position, 1))

    threads = [Thread(target=write, args=(f"r{number}",)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert [run.length for run in journal.runs()] == [5] * 8


FULL = """
CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file: No space left' USING ERRCODE = '53100'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON detent_entries EXECUTE FUNCTION refuse()
"""


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (FULL, "DROP TRIGGER full_disk ON detent_entries", "No space left"),
        (
            "ALTER ROLE CURRENT_USER SET default_transaction_read_only = on",
            "SET default_transaction_read_only = off; ALTER ROLE CURRENT_USER RESET ALL",
            "read-only",
        ),
    ],
    ids=["full", "read-only"],
)
def test_a_server_that_cannot_write_is_an_error(
    before: str, after: str, told: str, url: str
) -> None:
    """What is there stays and can be read; afterwards the same entry can be written."""
    PostgresJournal(url).append("a", entries(0, 1))
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(before.encode())
        try:
            journal = PostgresJournal(url)
            assert list(journal.read("a")) == entries(0, 1)
            with pytest.raises(JournalError, match=f"could not be written: .*{told}"):
                journal.append("a", entries(1, 1))
        finally:
            other.execute(after.encode())

    journal.close()
    journal.append("a", entries(1, 1))
    assert list(journal.read("a")) == entries(0, 2)
