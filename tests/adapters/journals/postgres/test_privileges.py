"""What roles of PostgreSQL need, and may not do: as the page on stores says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from detent import (
    Agent,
    AlwaysAskPolicy,
    HITLBreakpointException,
    ScriptedChatGenerator,
    ToolCall,
    tool,
)
from detent.adapters.journals.postgres.journal import PostgresJournal
from detent.journals import JournalError

psycopg = pytest.importorskip("psycopg", reason="needs the extra postgres")
PAGE = Path(__file__).parents[4] / "docs/how-to/back-up.md"
ROLES = ("desk_owner", "desk_worker", "desk_reader")


@tool
def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


def clerk(journal: PostgresJournal) -> Agent[Any, Any]:
    """One who asks first."""
    return Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("pay", {"to": "Ann"}), "Done."),
        tools=[pay],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
        journal=journal,
    )


@pytest.fixture
def roles(postgres_url: str) -> Iterator[dict[str, str]]:
    """The URL of each role, in a schema of their own whose tables the owner has made."""
    (statements,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    start = f"{postgres_url}{'&' if '?' in postgres_url else '?'}options=-csearch_path%3Ddesk"
    urls = {role: f"{start}&user={role}" for role in ROLES}
    with psycopg.connect(start, autocommit=True) as admin:
        try:
            admin.execute("CREATE ROLE desk_owner LOGIN")
            admin.execute("CREATE SCHEMA desk AUTHORIZATION desk_owner")
            PostgresJournal(urls["desk_owner"]).runs()
            admin.execute(statements.replace("SCHEMA public", "SCHEMA desk"))
            admin.execute("GRANT USAGE ON SCHEMA desk TO desk_worker, desk_reader")
            yield urls
        finally:
            admin.execute("DROP SCHEMA IF EXISTS desk CASCADE")
            for role in ROLES:
                admin.execute(f"DROP ROLE IF EXISTS {role}")


def test_a_worker_adds_and_takes_nothing_away(roles: dict[str, str]) -> None:
    """A run begins, waits, is decided about and ends; only the owner deletes it."""
    journal = PostgresJournal(roles["desk_worker"])
    agent = clerk(journal)
    with pytest.raises(HITLBreakpointException):
        agent.run("Pay Ann.", run_id="r")
    (question,) = agent.pending("r")
    agent.decide("r", question.confirm(by="Ada"))
    assert agent.resume("r").text == "Done."
    with pytest.raises(JournalError, match="permission denied"):
        journal.delete("r")
    with psycopg.connect(roles["desk_worker"]) as db, pytest.raises(psycopg.Error):
        db.execute("UPDATE detent_entries SET data = '{}'")
    assert [run.status for run in journal.runs()] == ["done"]
    PostgresJournal(roles["desk_owner"]).delete("r")
    assert not journal.runs()


def test_a_reader_sees_and_writes_nothing(roles: dict[str, str]) -> None:
    """What it tries to add is refused, and nothing has changed."""
    worker, reader = (PostgresJournal(roles[role]) for role in ROLES[1:])
    with pytest.raises(HITLBreakpointException):
        clerk(worker).run("Pay Ann.", run_id="r")
    assert [run.status for run in reader.runs()] == ["waiting"]
    assert list(reader.read("r")) == list(worker.read("r"))
    with pytest.raises(JournalError, match="permission denied"):
        clerk(reader).cancel("r", "enough")
    assert [run.status for run in worker.runs()] == ["waiting"]
