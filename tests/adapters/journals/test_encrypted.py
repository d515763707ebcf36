"""The sealed store: it keeps the laws, and what it keeps cannot be read without it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable

import pytest
from attrs import evolve

from detent.adapters.journals.encrypted import EncryptedJournal
from detent.adapters.journals.memory import MemoryJournal
from detent.ports.journal import Checkpoint, Entry, JournalDamagedError
from detent.ports.laws import check_journal


def turned(data: bytes) -> bytes:
    """A seal that any child can open, and JSON cannot read."""
    return bytes(255 - byte for byte in data)


def sealed_in(journal: MemoryJournal) -> EncryptedJournal:
    return EncryptedJournal(journal, turned, turned)


def test_the_store_keeps_all_laws() -> None:
    """Those of the store inside."""
    journal = MemoryJournal()
    check_journal(lambda: sealed_in(journal))


def test_nothing_can_be_read_without_the_key() -> None:
    """Neither entries nor checkpoints."""
    inside = MemoryJournal()
    entry = Entry(0, 1.0, "Kind", "running", {"card": "card 4242"})

    sealed_in(inside).append("a", [entry], Checkpoint(1, {"card": "card 4242"}))

    assert "card 4242" not in repr(
        [one.text for one in (*inside.read("a"), *inside.checkpoints("a"))]
    )
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


FIRST = Entry(0, 1.0, "Kind", "running", {"n": 0})
SECOND = Entry(1, 1.0, "Kind", "running", {"n": 1})


@pytest.mark.parametrize(
    "change",
    [
        lambda first, second: evolve(second, kind="Other"),
        lambda first, second: evolve(second, status="done"),
        lambda first, second: evolve(second, data=first.data),
    ],
    ids=["kind", "status", "data"],
)
def test_what_was_sealed_counts_in_its_place_only(change: Callable[[Entry, Entry], Entry]) -> None:
    """Who has no key cannot put it anywhere else, nor say something else of it."""
    inside = MemoryJournal()
    sealed_in(inside).append("a", [FIRST, SECOND])
    first, second = inside.read("a")
    changed = change(first, second)
    inside.delete("a")
    inside.append("a", [first, changed])

    found = sealed_in(inside).read("a")
    assert next(found) == FIRST
    with pytest.raises(JournalDamagedError, match="cannot be unsealed") as caught:
        next(found)
    assert caught.value.whole == 1


def test_what_was_sealed_for_one_run_counts_for_no_other() -> None:
    """Neither an entry nor a checkpoint."""
    inside = MemoryJournal()
    sealed_in(inside).append("a", [FIRST], Checkpoint(1, {"n": 1}))
    inside.append("b", list(inside.read("a")), inside.checkpoints("a")[0])

    with pytest.raises(JournalDamagedError, match="run 'b'"):
        list(sealed_in(inside).read("b"))
    with pytest.raises(JournalDamagedError, match="run 'b'"):
        list(sealed_in(inside).checkpoints("b"))


def test_data_that_does_not_say_where_it_belongs_is_refused() -> None:
    """It would be read wherever somebody puts it."""
    inside = MemoryJournal()
    data = {"sealed": b64encode(turned(b'{"n": 0}')).decode()}
    inside.append("a", [evolve(FIRST, data=data)])

    with pytest.raises(JournalDamagedError, match="run 'a'"):
        list(sealed_in(inside).read("a"))
