"""The sealed store: it keeps the laws, and what it keeps cannot be read without it."""

from __future__ import annotations

import pytest

from detent.adapters.stores.memory import MemoryJournal
from detent.adapters.stores.sealed import SealedJournal
from detent.ports.journal import Checkpoint, Entry, JournalDamagedError
from detent.ports.laws import check_journal


def turned(data: bytes) -> bytes:
    """A seal that any child can open, and JSON cannot read."""
    return bytes(255 - byte for byte in data)


def sealed_in(journal: MemoryJournal) -> SealedJournal:
    return SealedJournal(journal, turned, turned)


def test_the_store_keeps_all_laws() -> None:
    """Those of the store inside."""
    journal = MemoryJournal()
    check_journal(lambda: sealed_in(journal))


def test_nothing_can_be_read_without_the_key() -> None:
    """Neither entries nor checkpoints."""
    inside = MemoryJournal()
    entry = Entry(0, 1.0, "Kind", "running", {"card": "4242"})

    sealed_in(inside).append("a", [entry], Checkpoint(1, {"card": "4242"}))

    assert "4242" not in repr([list(inside.read("a")), inside.checkpoints("a")])
    assert list(sealed_in(inside).read("a")) == [entry]


@pytest.mark.parametrize("data", [{}, {"sealed": 3}, {"sealed": "no"}, {"sealed": "zMw="}])
def test_what_was_not_sealed_with_the_key_is_an_error(data: dict[str, object]) -> None:
    """And nothing is taken from it."""
    inside = MemoryJournal()
    inside.append("a", [Entry(0, 1.0, "Kind", "running", data)], Checkpoint(1, data))

    with pytest.raises(JournalDamagedError, match="run 'a'"):
        list(sealed_in(inside).read("a"))
    with pytest.raises(JournalDamagedError, match="run 'a'"):
        list(sealed_in(inside).checkpoints("a"))
