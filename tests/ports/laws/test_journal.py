"""The laws of the journal: every store keeps them, and a store that does not is found out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from detent.adapters.stores.directory import DirectoryJournal
from detent.adapters.stores.memory import MemoryJournal
from detent.adapters.stores.sqlite import SQLiteJournal
from detent.ports.journal import Checkpoint, Entry, Journal, require_next
from detent.ports.laws.journal import LAWS, MakeJournal, check_journal


def in_memory(place: Path) -> MakeJournal:
    """All handles are the same journal."""
    journal = MemoryJournal()
    return lambda: journal


MAKERS: dict[str, Callable[[Path], MakeJournal]] = {
    "memory": in_memory,
    "directory": lambda place: lambda: DirectoryJournal(place / "runs"),
    "sqlite": lambda place: lambda: SQLiteJournal(place / "runs.db"),
}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("store", MAKERS)
def test_a_store_keeps_a_law(
    store: str, law: Callable[[MakeJournal], None], tmp_path: Path
) -> None:
    """Each one by itself."""
    law(MAKERS[store](tmp_path))


@pytest.mark.parametrize("store", MAKERS)
def test_a_store_keeps_all_laws(store: str, tmp_path: Path) -> None:
    """As a user checks it, on one store."""
    check_journal(MAKERS[store](tmp_path))


class Careless(MemoryJournal):
    """Takes what comes."""

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """Whatever the position says."""
        length = len(list(self.read(run_id)))
        placed = [evolve(entry, position=place) for place, entry in enumerate(entries, length)]
        super().append(run_id, placed, checkpoint)


class Forgetful(MemoryJournal):
    """Keeps no checkpoints."""

    def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """Never there."""
        return []


@pytest.mark.parametrize(
    ("store", "law"),
    [
        (Careless, "an append at any place but the end is refused"),
        (Forgetful, "a checkpoint comes back as it was"),
    ],
)
def test_a_store_that_breaks_a_law_is_found_out(store: type[Any], law: str) -> None:
    """The message is the law."""
    journal: Journal = store()
    with pytest.raises(AssertionError, match=law):
        check_journal(lambda: journal)


def test_entries_must_follow_each_other() -> None:
    """Within one append there is no gap, and something is appended."""
    first, third = Entry(0, 0.0, "a", "running", {}), Entry(2, 0.0, "a", "running", {})
    with pytest.raises(ValueError, match="do not follow each other"):
        require_next("r", [first, third], 0)
    with pytest.raises(ValueError, match="nothing to append"):
        require_next("r", [], 0)
