"""The host in this process, on each store."""

from __future__ import annotations

from pathlib import Path

import pytest

from detent.hosts import LocalHost
from detent.journals import DirectoryJournal, Journal, MemoryJournal, PostgresJournal, SQLiteJournal
from detent.testing import check_host, host_agents


@pytest.fixture(params=["memory", "directory", "sqlite", "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    """A store that is empty at first."""
    match request.param:
        case "memory":
            return MemoryJournal()
        case "directory":
            return DirectoryJournal(tmp_path / "runs")
        case "sqlite":
            return SQLiteJournal(tmp_path / "runs.db")
        case _:
            journal = PostgresJournal(request.getfixturevalue("postgres_url"))
            for run in journal.runs():
                journal.delete(run.run_id)
            return journal


def test_it_keeps_the_laws(journal: Journal) -> None:
    """Those of the port."""
    check_host(lambda: LocalHost(host_agents(), journal, look_s=0.1))
