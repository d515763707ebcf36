"""Identity: whether what a journal has is ours, of two runs of one id of which one was deleted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from detent.core.run.run import Run
from detent.ports.journal import (
    Entry,
    Journal,
    JournalConflictError,
    RunNotFoundError,
    as_kept,
)


def require_same(journal: Journal, run: Run[Any], entries: Sequence[Entry] = ()) -> None:
    """Look whether a journal still has this run, and not another one of its id.

    Args:
        journal: where it is looked for.
        run: its nonce is that with which it began, whatever has happened to it since.
        entries: what is to be written to it, for the error.

    Raises:
        JournalConflictError: somebody has deleted it.
        JournalError: the journal cannot be read.
    """
    if not is_same(journal, run.id, run.nonce):
        raise JournalConflictError(run.id, entries[0].position if entries else 1, 0)


def require_there(journal: Journal, run_id: str, nonce: str) -> None:
    """Make sure that it is still this run to which somebody speaks who does not drive it.

    Raises:
        RunNotFoundError: somebody has deleted it.
        JournalError: the journal cannot be read.
    """
    if not is_same(journal, run_id, nonce):
        raise RunNotFoundError(
            f"run {run_id!r} has been deleted in the meantime: it has not heard this, nor has any "
            "other run of its id"
        )


def is_same(journal: Journal, run_id: str, nonce: str) -> bool:
    """Whether a journal has the run of this nonce. RULE: only its first entry says so."""
    for first in journal.read(run_id):
        known = nonce_in(first)
        return known is None or known == nonce
    return False


def nonce_in(first: Entry) -> str | None:
    """What a run drew when it began, as its first entry says; None where that says nothing."""
    match first.data:
        case {"run": {"nonce": str(known)}}:
            return known
        case _:
            return None


def is_kept(journal: Journal, run_id: str, entries: Sequence[Entry]) -> bool:
    """Whether a journal has these entries of a run at their place: they are ours, written before.

    Raises:
        JournalError: the journal cannot be read.
    """
    found = journal.read(run_id, entries[0].position)
    return list(islice(found, len(entries))) == list(as_kept(journal, entries))
