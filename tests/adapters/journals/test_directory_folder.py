"""The folder of a journal in a directory: it is away, and its files are called after long ids."""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from detent.adapters.journals.directory import DirectoryJournal
from detent.adapters.journals.directory_folder import MARK, NAME, stem_of
from detent.ports.claims import Claim, Owner
from detent.ports.journal import JournalConflictError, JournalUnavailableError
from detent.ports.laws.journal import entries
from detent.ports.listing import RunQuery

USES: dict[str, Callable[[DirectoryJournal], object]] = {
    "runs": lambda journal: journal.runs(),
    "one run": lambda journal: journal.runs(RunQuery(run_id="a")),
    "read": lambda journal: list(journal.read("a")),
    "checkpoints": lambda journal: journal.checkpoints("a"),
    "append": lambda journal: journal.append("a", entries(2, 1)),
    "begin": lambda journal: journal.append("b", entries(0, 1)),
    "delete": lambda journal: journal.delete("a"),
    "wait": lambda journal: journal.wait("a", 2, 0.0),
    "others": lambda journal: next(journal.from_others(lambda: ["a"])),
    "claim": lambda journal: journal.claims.find("a"),
    "swap": lambda journal: journal.claims.swap("a", None, Claim("me", 1, 1.0)),
    "owner": lambda journal: journal.claims.owner("me"),
    "keep": lambda journal: journal.claims.keep(Owner("me", "here", 1, "", 1e9)),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("is_mounted_over", [False, True])
def test_a_folder_that_is_away_is_an_outage(
    use: str,
    is_mounted_over: bool,  # noqa: FBT001 - the case
    tmp_path: Path,
) -> None:
    """It has no runs only because nobody can see them; nothing is made in its place."""
    folder, elsewhere = tmp_path / "runs", tmp_path / "elsewhere"
    journal = DirectoryJournal(folder)
    journal.append("a", entries(0, 2))
    folder.rename(elsewhere)
    if is_mounted_over:  # the empty folder below a disk that is not mounted any more
        folder.mkdir()
    with pytest.raises(JournalUnavailableError, match="its folder is not there any more"):
        USES[use](journal)
    if is_mounted_over:
        assert not list(folder.iterdir())
        folder.rmdir()
    elsewhere.rename(folder)
    assert list(journal.read("a")) == entries(0, 2)


def test_a_folder_without_its_mark_gets_one(tmp_path: Path) -> None:
    """One that was written by a release without marks, or copied without it."""
    DirectoryJournal(tmp_path).append("a", entries(0, 2))
    (tmp_path / MARK).unlink()
    assert [run.run_id for run in DirectoryJournal(tmp_path).runs()] == ["a"]
    assert (tmp_path / MARK).exists()


def test_a_folder_that_may_only_be_read_is_its_own_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing can be written there, and its runs are read."""
    DirectoryJournal(tmp_path).append("a", entries(0, 2))
    (tmp_path / MARK).unlink()

    def refused(*given: object, **options: object) -> None:
        raise PermissionError(13, "it may only be read")

    monkeypatch.setattr(Path, "touch", refused)
    assert list(DirectoryJournal(tmp_path).read("a")) == entries(0, 2)


LONG = chr(0x8BA2) * 28
"""As a file's name it would have 252 bytes, and no room for an ending."""


def test_files_of_short_ids_are_called_as_ever(tmp_path: Path) -> None:
    """Stores that are there are read as they are."""
    journal = DirectoryJournal(tmp_path)
    journal.append("a" * 243, entries(0, 1))
    journal.append("a/b", entries(0, 1))
    names = {path.name for path in tmp_path.glob("*.jsonl")}
    assert names == {f"{'a' * 243}.jsonl", "a%2Fb.jsonl"}


def test_a_long_id_is_kept_beside_its_files(tmp_path: Path) -> None:
    """It is found in lists, and nothing is left of it when its run is deleted."""
    journal = DirectoryJournal(tmp_path)
    journal.append(LONG, entries(0, 1))
    with pytest.raises(JournalConflictError):
        DirectoryJournal(tmp_path).append(LONG, entries(0, 1))
    assert [run.run_id for run in DirectoryJournal(tmp_path).runs()] == [LONG]
    if sys.platform != "win32":
        for path in tmp_path.iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    journal.delete(LONG)
    assert [path.name for path in tmp_path.iterdir()] == [MARK]


@pytest.mark.parametrize("text", [b"", b"rubbish\n", None])
def test_a_run_whose_name_is_lost_is_damaged(text: bytes | None, tmp_path: Path) -> None:
    """It is listed by its file, and read by whoever knows its id, which the next one writes."""
    journal = DirectoryJournal(tmp_path)
    journal.append(LONG, entries(0, 1))
    name = tmp_path / f"{stem_of(LONG)}{NAME}"
    name.unlink()
    if text is not None:
        name.write_bytes(text)
    (listed,) = journal.runs()
    assert (listed.run_id, listed.status) == (stem_of(LONG), "damaged")
    assert list(journal.read(LONG)) == entries(0, 1)
