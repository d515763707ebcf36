"""What runs leave on a disk is for the user alone, whatever the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from detent import Agent, ScriptedChatGenerator
from detent.adapters.control.breakpoints import break_every_step
from detent.adapters.system.snapshot_files import save_snapshot
from detent.journals import DirectoryJournal, SQLiteJournal


@pytest.fixture(autouse=True)
def open_hearted() -> Generator[None]:
    """A umask that keeps nothing from anybody."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """Of all that is in the folder."""
    return {
        path.relative_to(folder).as_posix(): stat.S_IMODE(path.stat().st_mode)
        for path in folder.rglob("*")
    }


def others_may(folder: Path) -> dict[str, int]:
    """What somebody else could read or write."""
    return {name: mode for name, mode in modes(folder).items() if mode & 0o077}


def run(journal: Any) -> None:
    Agent(chat_generator=ScriptedChatGenerator("Hello."), journal=journal).run("Hi.", run_id="r")


def test_a_directory_of_runs(tmp_path: Path) -> None:
    """Its folders, its files and its claims."""
    run(DirectoryJournal(tmp_path / "new" / "runs"))

    assert len(modes(tmp_path)) > 3
    assert others_may(tmp_path) == {}


def test_a_file_of_sqlite(tmp_path: Path) -> None:
    """Those beside it too, which hold what was written last, and its copies."""
    journal = SQLiteJournal(tmp_path / "runs.db")
    run(journal)
    journal.backup(tmp_path / "copy.db")

    assert modes(tmp_path).keys() >= {"runs.db", "runs.db-wal", "runs.db-shm", "copy.db"}
    assert others_may(tmp_path) == {}
    journal.close()


def test_a_snapshot(tmp_path: Path) -> None:
    """And the folder that is made for it."""
    agent = Agent(chat_generator=ScriptedChatGenerator())
    result = agent.run("hello", break_point=break_every_step, raise_at_break_point=False)
    save_snapshot(result.snapshot, tmp_path / "new" / "snapshots")

    found = modes(tmp_path)
    assert [mode for name, mode in found.items() if name.endswith(".json")] == [0o600]
    assert found["new/snapshots"] == 0o700


def test_what_is_there_keeps_its_mode(tmp_path: Path) -> None:
    """A folder that was made to be shared stays so."""
    shared, path = tmp_path / "shared", tmp_path / "runs.db"
    shared.mkdir(0o770)
    path.touch(0o660)
    run(DirectoryJournal(shared))
    journal = SQLiteJournal(path)
    run(journal)
    journal.close()

    assert stat.S_IMODE(shared.stat().st_mode) == 0o770
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
