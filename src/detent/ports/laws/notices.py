"""The promises of the `Notices` port as checks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from threading import Event, Thread
from time import monotonic

from detent.ports.journal import ForeignNotices, Journal, Notices
from detent.ports.laws.breaking import PATIENCE_S, expect
from detent.ports.laws.journal import MakeJournal, entries


def check_notices(make: MakeJournal) -> None:
    """Check that a journal keeps what the `Notices` port promises.

    Args:
        make: opens the journal. Every call must give a handle on the same store, empty at first.

    Raises:
        AssertionError: it does not; the message is the law that it breaks.
    """
    writer = make()
    writer.append("a", entries(0, 2))
    expect(_wait(make(), 1, PATIENCE_S), "the journal", "what is there already is no wait")
    expect(not _wait(make(), 2, 0.05), "the journal", "when the time is over, nothing has come")
    writer.append("b", entries(0, 1))
    expect(not _wait(make(), 2, 0.05), "the journal", "what other runs get is no notice")
    expect(_is_woken(make(), 2, lambda: writer.append("a", entries(2, 1))), "the journal", APPEND)
    expect(_is_woken(make(), 3, lambda: writer.delete("a")), "the journal", DELETE)
    if isinstance(listening := make(), ForeignNotices):
        _check_foreign(listening, make())


def _check_foreign(listening: ForeignNotices, other: Journal) -> None:
    other.append("c", entries(0, 1))
    with closing(listening.from_others(lambda: {"b", "c"})) as news:
        expect({"b", "c"} <= set(next(news)), "the journal", FIRST)
        other.append("c", entries(1, 1))
        end, named = monotonic() + PATIENCE_S, set[str]()
        while "c" not in named and monotonic() < end:
            named.update(next(news))
        expect("c" in named, "the journal", FOREIGN)


APPEND = "an append by another handle ends a wait"
FIRST = "the first that is told of foreign writing has all runs"
FOREIGN = "an append by another handle is told to who listens for many runs"
DELETE = "a run that is deleted ends a wait"


def _wait(journal: Journal, length: int, timeout_s: float) -> bool:
    expect(isinstance(journal, Notices), "the journal", "a journal with notices has `wait`")
    return isinstance(journal, Notices) and journal.wait("a", length, timeout_s)


def _is_woken(journal: Journal, length: int, write: Callable[[], object]) -> bool:
    """Whether what is written while somebody waits ends the wait."""
    begun, woken = Event(), list[bool]()

    def wait() -> None:
        begun.set()
        woken.append(_wait(journal, length, PATIENCE_S))

    waiting = Thread(target=wait)
    waiting.start()
    begun.wait(PATIENCE_S)
    waiting.join(0.05)  # most probably it waits by now; if not, what is there is no wait
    write()
    waiting.join(PATIENCE_S)
    return woken == [True]
