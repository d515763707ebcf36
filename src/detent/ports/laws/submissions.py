"""The promises of a journal that can be written to without waiting, as checks.

def test_my_journal(tmp_path):
    check_submissions(lambda: MyJournal(tmp_path))
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from attrs import frozen

from detent.ports.claims import Claims, claims_of
from detent.ports.journal import (
    Checkpoint,
    Entry,
    Journal,
    JournalConflictError,
    JournalUnavailableError,
    Submit,
    submit_of,
)
from detent.ports.laws.breaking import PATIENCE_S, expect
from detent.ports.laws.journal import MakeJournal, check_journal, entries
from detent.ports.listing import ALL_RUNS, RunQuery, StoredRun

MANY = 40
TAKEN = 7


def check_submissions(make: MakeJournal) -> None:
    """Check that `submit` keeps what `append` promises, for one run and for many at a time.

    Args:
        make: opens the store. Every call must give a handle on the same store, which is empty at
            first.

    Raises:
        AssertionError: it does not; the message is the law that it breaks.
    """
    check_journal(lambda: _Submitted(make()))
    for law in LAWS:
        journal = make()
        for run in journal.runs():
            journal.delete(run.run_id)
        law(make)


def each_of_many_is_written_or_refused_by_itself(make: MakeJournal) -> None:
    """One that cannot be written takes none of the others with it."""
    journal = make()
    journal.append(f"run {TAKEN}", entries(0, 1))
    futures = [_submit(journal)(f"run {n}", entries(0, 2)) for n in range(MANY)]
    refused = [n for n, future in enumerate(futures) if _is_refused(future)]
    _expect(
        refused == [TAKEN], "of many that are submitted together, only what conflicts is refused"
    )
    kept = [len(list(make().read(f"run {n}"))) for n in range(MANY)]
    _expect(kept == [1 if n == TAKEN else 2 for n in range(MANY)], "the others are written, whole")


def what_was_refused_is_not_written_later(make: MakeJournal) -> None:
    """Not even when what it lacked is there."""
    journal = make()
    late = _submit(journal)("a", entries(1, 1))
    _expect(_is_refused(late), "what does not follow is refused")
    _submit(journal)("a", entries(0, 1)).result(PATIENCE_S)
    _expect(len(list(make().read("a"))) == 1, "what was refused is never written later")


def what_one_submits_comes_in_its_order(make: MakeJournal) -> None:
    """Also when nobody waits in between."""
    journal = make()
    futures = [_submit(journal)("a", entries(n, 1)) for n in range(MANY)]
    _expect(not any(map(_is_refused, futures)), "what is submitted first is written first")
    _expect(list(make().read("a")) == entries(0, MANY), "what was submitted is read back, in order")


LAWS = (
    each_of_many_is_written_or_refused_by_itself,
    what_was_refused_is_not_written_later,
    what_one_submits_comes_in_its_order,
)


def _expect(holds: object, law: str) -> None:
    expect(holds, "the store", law)


def _submit(journal: Journal) -> Submit:
    submit = submit_of(journal)
    if submit is None:
        raise AssertionError("the store breaks a law: it has a method submit")
    return submit


def _is_refused(future: Future[Any]) -> bool:
    error = future.exception(PATIENCE_S)
    if error is not None and not isinstance(error, JournalConflictError):
        raise AssertionError(f"an append was refused for another reason: {error!r}") from error
    return error is not None


@frozen
class _Submitted:
    """A journal whose appends are submitted, and waited for."""

    journal: Journal

    @property
    def claims(self) -> Claims | None:
        return claims_of(self.journal)

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                return _submit(self.journal)(run_id, entries, checkpoint).result(PATIENCE_S)
            except JournalUnavailableError:  # another handle is just writing
                if time.monotonic() > end:
                    raise

    def read(self, run_id: str, start: int = 0) -> Iterable[Entry]:
        return self.journal.read(run_id, start)

    def checkpoints(self, run_id: str) -> Iterable[Checkpoint]:
        return self.journal.checkpoints(run_id)

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        return self.journal.runs(query)

    def delete(self, run_id: str) -> None:
        self.journal.delete(run_id)
