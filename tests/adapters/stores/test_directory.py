"""The directory store: what crashes, full disks and meddlers leave, and that people can read it."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detent.adapters.stores.directory import DirectoryJournal
from detent.ports.journal import (
    Checkpoint,
    Entry,
    JournalConflictError,
    JournalDamagedError,
    JournalError,
)
from detent.ports.laws.journal import entries


def filled(place: Path, count: int = 3) -> tuple[DirectoryJournal, Path]:
    """A journal with some entries, each from an append of its own, and its file."""
    journal = DirectoryJournal(place)
    for position in range(count):
        journal.append("a", entries(position, 1))
    return journal, place / "a.jsonl"


def test_each_line_is_an_append(tmp_path: Path) -> None:
    """A person finds each entry where it should be, as JSON."""
    journal, path = filled(tmp_path)
    journal.append("a", entries(3, 2))

    lines = [json.loads(line) for line in path.read_text().splitlines()]

    assert [[entry["position"] for entry in line] for line in lines] == [[0], [1], [2], [3, 4]]


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_that_is_cut_off_was_never_written(cut: int, tmp_path: Path) -> None:
    """The next append takes its place."""
    journal, path = filled(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])

    assert list(journal.read("a")) == entries(0, 2)
    with pytest.raises(JournalConflictError):
        journal.append("a", entries(3, 1))
    journal.append("a", entries(2, 1))
    assert path.read_bytes() == whole


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says so; afterwards there is room for the same entry."""
    journal, path = filled(tmp_path)
    whole = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(JournalError, match=r"could not be written: .*No space left"):
        journal.append("a", entries(3, 1))
    assert path.read_bytes() == whole

    monkeypatch.undo()
    journal.append("a", entries(3, 1))
    assert list(journal.read("a")) == entries(0, 4)


@pytest.mark.parametrize(
    "line", [b"{}\n", b"[]\n", b"[3]\n", b"no\n", b"\xff\n", b'[{"position": 7}]\n', b"[" * 9999]
)
def test_a_damaged_line_is_an_error(line: bytes, tmp_path: Path) -> None:
    """Never a shorter run, and never anything else."""
    journal, path = filled(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(line + b"\n" + whole)

    with pytest.raises(JournalDamagedError, match="damaged"):
        list(journal.read("a"))


def test_a_missing_line_is_an_error(tmp_path: Path) -> None:
    """The entries are numbered."""
    journal, path = filled(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])

    with pytest.raises(JournalDamagedError, match="entry 2 stands where 1 should"):
        list(journal.read("a"))


@given(data=st.binary(max_size=80))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_entries_or_a_typed_error(data: bytes, tmp_path: Path) -> None:
    """Stored data is not to be trusted."""
    (tmp_path / "a.jsonl").write_bytes(data)
    (tmp_path / "a.checkpoints").write_bytes(data)
    journal = DirectoryJournal(tmp_path)
    for read in (lambda: list(journal.read("a")), journal.runs, lambda: journal.checkpoints("a")):
        with suppress(JournalError):
            read()


def test_a_file_that_may_not_be_written_is_an_error(tmp_path: Path) -> None:
    """As is a directory that cannot be made."""
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="could not be made"):
        DirectoryJournal(tmp_path / "file")
    journal, path = filled(tmp_path / "runs")
    path.unlink()
    path.mkdir()
    with pytest.raises(JournalError, match="could not be written"):
        journal.append("a", entries(3, 1))


def test_reading_goes_on_at_a_checkpoint_without_what_was_before(tmp_path: Path) -> None:
    """The lines before it are not looked at."""
    journal, path = filled(tmp_path)
    journal.append("a", entries(3, 1), Checkpoint(4, {"n": 1}))
    journal.append("a", entries(4, 1))
    whole = path.read_bytes()
    path.write_bytes(b"x" * 20 + whole[20:])

    again = DirectoryJournal(tmp_path)
    assert again.checkpoints("a") == [Checkpoint(4, {"n": 1})]
    assert list(again.read("a", 4)) == entries(4, 1)


def test_no_id_leads_out_of_the_directory(tmp_path: Path) -> None:
    """Whatever is in it."""
    journal = DirectoryJournal(tmp_path / "runs")
    ids: list[Any] = ["../x", "/etc/x", "a/b", "..", "con:1", "ü"]
    for run_id in ids:
        journal.append(run_id, [Entry(0, 1.0, "K", "running", {})])

    assert sorted(run.run_id for run in journal.runs()) == sorted(ids)
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_a_directory_that_is_gone_is_an_error_until_it_is_back(tmp_path: Path) -> None:
    """Nothing is written to a place where nobody will find it."""
    journal, _ = filled(tmp_path / "here", 1)
    (tmp_path / "here").rename(tmp_path / "away")

    with pytest.raises(JournalError, match="could not be written"):
        journal.append("a", entries(1, 1))

    (tmp_path / "away").rename(tmp_path / "here")
    journal.append("a", entries(1, 1))
    assert list(journal.read("a")) == entries(0, 2)


@pytest.mark.parametrize("line", [b"{}\n", b"no\n", b'{"position": 1, "offset": -1, "data": 3}\n'])
def test_a_damaged_checkpoint_is_an_error_that_says_what_to_do(line: bytes, tmp_path: Path) -> None:
    """Without the file the run is read from its start."""
    journal, _ = filled(tmp_path)
    journal.append("a", entries(3, 1), Checkpoint(4, {}))
    (tmp_path / "a.checkpoints").write_bytes(line)

    with pytest.raises(JournalDamagedError, match="damaged"):
        journal.checkpoints("a")


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_checkpoint_that_is_cut_off_was_never_written(cut: int, tmp_path: Path) -> None:
    """The next one takes its place."""
    journal, _ = filled(tmp_path)
    journal.append("a", entries(3, 1), Checkpoint(4, {"n": 1}))
    journal.append("a", entries(4, 1), Checkpoint(5, {"n": 2}))
    path = tmp_path / "a.checkpoints"
    path.write_bytes(path.read_bytes()[:-cut])

    assert journal.checkpoints("a") == [Checkpoint(4, {"n": 1})]
    journal.append("a", entries(5, 1), Checkpoint(6, {"n": 3}))
    assert journal.checkpoints("a") == [Checkpoint(4, {"n": 1}), Checkpoint(6, {"n": 3})]
