"""The PostgreSQL store: it keeps the laws, and a database that goes and comes back does no harm."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from threading import Lock

import psycopg
import pytest

from detent import Agent, Runs, ScriptedChatGenerator
from detent.adapters.journals.postgres import PostgresJournal
from detent.journals import Entry
from detent.machine import ManualClock
from detent.ports.journal import Checkpoint, JournalDamagedError, JournalError
from detent.ports.laws.journal import check_journal, entries


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


def test_a_database_that_was_gone_is_used_again(url: str) -> None:
    """One call fails; the next one finds what was there."""
    journal = PostgresJournal(url)
    journal.append("a", entries(0, 1))
    with journal._transaction("read") as db:
        pid = db.info.backend_pid
    other = PostgresJournal(url)
    with other._transaction("read") as db:
        db.execute("SELECT pg_terminate_backend(%s)", (pid,))

    with pytest.raises(JournalError, match="could not be written"):
        journal.append("a", entries(1, 1))

    journal.append("a", entries(1, 1))
    assert list(other.read("a")) == entries(0, 2)


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
    with journal._transaction("written") as db:
        db.execute("UPDATE detent_entries SET data = '{'")
        db.execute("UPDATE detent_snapshots SET data = '3'")

    for (found,) in (journal.read("a"), journal.checkpoints("a")):
        with pytest.raises(JournalDamagedError, match="damaged"):
            _ = found.data


def test_no_password_is_in_a_message() -> None:
    """Whatever the driver says about the address."""
    with pytest.raises(JournalError) as caught:
        PostgresJournal("postgresql://me:sesame@127.0.0.1:1/none?connect_timeout=1")

    assert "sesame" not in str(caught.value)


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
            journal = PostgresJournal.__new__(PostgresJournal)  # it makes no tables then
            journal._url, journal._lock, journal._db = url, Lock(), None
            assert list(journal.read("a")) == entries(0, 1)
            with pytest.raises(JournalError, match=f"could not be written: .*{told}"):
                journal.append("a", entries(1, 1))
        finally:
            other.execute(after.encode())

    journal.close()
    journal.append("a", entries(1, 1))
    assert list(journal.read("a")) == entries(0, 2)
