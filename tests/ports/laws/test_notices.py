"""The laws of notices: every store keeps them, and one that does not is found out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from pathlib import Path
from time import monotonic
from typing import TypeAlias

import pytest

from detent.adapters.journals.directory import DirectoryJournal
from detent.adapters.journals.memory import MemoryJournal
from detent.adapters.journals.sqlite import SQLiteJournal
from detent.ports.journal import JournalError, Notices
from detent.ports.laws import notices as laws
from detent.ports.laws.journal import MakeJournal, entries
from detent.ports.laws.notices import check_notices

RunIds: TypeAlias = Callable[[], Collection[str]]


def in_memory(place: Path) -> MakeJournal:
    journal = MemoryJournal()
    return lambda: journal


MAKERS: dict[str, Callable[[Path], MakeJournal]] = {
    "memory": in_memory,
    "directory": lambda place: lambda: DirectoryJournal(place / "runs"),
    "sqlite": lambda place: lambda: SQLiteJournal(place / "runs.db"),
}


@pytest.mark.parametrize("store", MAKERS)
def test_a_store_keeps_the_laws(store: str, tmp_path: Path) -> None:
    """Postgres does as well: see its own tests."""
    check_notices(MAKERS[store](tmp_path))
    assert isinstance(MAKERS[store](tmp_path)(), Notices)


class Deaf(MemoryJournal):
    """Hears only what is there already."""

    def wait(self, run_id: str, length: int, timeout_s: float) -> bool:
        """Without waiting."""
        return len(self.read(run_id)) != length


class Jumpy(MemoryJournal):
    """Takes whatever is written for news."""

    def wait(self, run_id: str, length: int, timeout_s: float) -> bool:
        """At once."""
        return True


class DeafToOthers(MemoryJournal):
    """Tells of no other."""

    def from_others(self, run_ids: RunIds) -> Generator[Collection[str], None, None]:
        """All at first, and then none, as soon as it is asked."""
        yield run_ids()
        while True:
            yield ()


class Late(MemoryJournal):
    """Does not say what may have come before."""

    def from_others(self, run_ids: RunIds) -> Generator[Collection[str], None, None]:
        """None at first."""
        while True:
            yield ()


@pytest.mark.parametrize(
    ("journal", "law"),
    [
        (DeafToOthers(), "an append by another handle is told"),
        (Late(), "the first that is told of foreign writing"),
        (Deaf(), "an append by another handle ends a wait"),
        (Jumpy(), "when the time is over"),
    ],
)
def test_a_journal_that_breaks_a_law_is_found_out(
    journal: MemoryJournal, law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message is the law."""
    monkeypatch.setattr(laws, "PATIENCE_S", 0.2)  # what never comes need not be waited for
    with pytest.raises(AssertionError, match=f"the journal breaks a law: {law}"):
        check_notices(lambda: journal)


@pytest.mark.parametrize("store", MAKERS)
def test_a_wait_for_a_run_that_is_not_there_yet_ends_with_its_time(
    store: str, tmp_path: Path
) -> None:
    """It has no entries."""
    journal = MAKERS[store](tmp_path)()
    assert isinstance(journal, Notices)
    begun = monotonic()
    assert not journal.wait("new", 0, 0.03)
    assert monotonic() - begun >= 0.02
    journal.append("new", entries(0, 1))
    assert journal.wait("new", 0, 30.0)


def test_a_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    """Nobody waits for what cannot come."""
    journal = SQLiteJournal(tmp_path / "x.db")
    journal.close()
    (tmp_path / "x.db").unlink()

    with pytest.raises(JournalError, match=r"x\.db could not be read"):
        journal.wait("a", 0, 30.0)
