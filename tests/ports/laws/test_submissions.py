"""The laws of submissions: every store that waits keeps them; one that does not is found out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest

from detent.adapters.journals.directory import DirectoryJournal
from detent.adapters.journals.encrypted import EncryptedJournal
from detent.adapters.journals.memory import MemoryJournal
from detent.adapters.journals.redacted import RedactedJournal
from detent.adapters.journals.sqlite import SQLiteJournal
from detent.ports.journal import Checkpoint, Entry, JournalError, submit_of
from detent.ports.laws.journal import MakeJournal
from detent.ports.laws.submissions import check_submissions


def same(data: bytes) -> bytes:
    return data


MAKERS: dict[str, Callable[[Path], MakeJournal]] = {
    "directory": lambda place: lambda: DirectoryJournal(place / "runs"),
    "sqlite": lambda place: lambda: SQLiteJournal(place / "runs.db"),
    "encrypted": lambda place: (
        lambda: EncryptedJournal(SQLiteJournal(place / "runs.db"), same, same)
    ),
    "redacted": lambda place: lambda: RedactedJournal(SQLiteJournal(place / "runs.db"), str),
}


@pytest.mark.parametrize("store", MAKERS)
def test_a_store_keeps_the_laws(store: str, tmp_path: Path) -> None:
    """Postgres does as well: see its own tests."""
    check_submissions(MAKERS[store](tmp_path))


def test_a_store_around_one_in_memory_does_not_wait() -> None:
    """It is called in the event loop, as the other would be."""
    assert submit_of(EncryptedJournal(MemoryJournal(), same, same)) is None
    assert submit_of(RedactedJournal(MemoryJournal(), str)) is None


class Together(MemoryJournal):
    """Writes what is submitted at once, and does a thing wrong."""

    def submit(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> Future[None]:
        """As the port says, but for the fault."""
        future = Future[None]()
        try:
            self.append(run_id, entries, checkpoint)
        except JournalError as error:
            self.refuse(run_id, entries, future, error)
        else:
            future.set_result(None)
        return future

    def refuse(
        self, run_id: str, entries: Sequence[Entry], future: Future[None], error: JournalError
    ) -> None:
        """Say that it was not written."""
        future.set_exception(error)


class Silent(Together):
    """Says of all that it was written."""

    def refuse(
        self, run_id: str, entries: Sequence[Entry], future: Future[None], error: JournalError
    ) -> None:
        """Not at all."""
        future.set_result(None)


class Late(Together):
    """Keeps what it has refused, and writes it when it can."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[tuple[str, Sequence[Entry]]] = []

    def submit(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> Future[None]:
        """As the other, and then what was kept."""
        future = super().submit(run_id, entries, checkpoint)
        for late in self.kept if future.exception() is None else ():
            if len(list(self.read(late[0]))) == late[1][0].position:
                self.append(*late)
        return future

    def refuse(
        self, run_id: str, entries: Sequence[Entry], future: Future[None], error: JournalError
    ) -> None:
        """For now."""
        self.kept.append((run_id, entries))
        future.set_exception(error)


class Broken(Together):
    """Refuses for a reason of its own."""

    def refuse(
        self, run_id: str, entries: Sequence[Entry], future: Future[None], error: JournalError
    ) -> None:
        """With another error."""
        future.set_exception(OSError("gone"))


@pytest.mark.parametrize(
    ("journal", "law"),
    [
        (Silent(), "an append at any place but the end is refused"),
        (Late(), "exactly one wins"),
        (Broken(), "breaks a law"),
        (MemoryJournal(), "it has a method submit"),
    ],
)
def test_a_store_that_breaks_a_law_is_found_out(journal: MemoryJournal, law: str) -> None:
    """The message is the law."""
    with pytest.raises(AssertionError, match=law):
        check_submissions(lambda: journal)
