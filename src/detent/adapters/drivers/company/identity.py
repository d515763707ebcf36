"""Identity: whether what a journal has is ours, of two runs of one id of which one was deleted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from detent.core.run.run import Run
from detent.ports.journal import Entry, Journal, JournalConflictError, as_kept


def require_same(journal: Journal, run: Run[Any], entries: Sequence[Entry] = ()) -> None:
    """Look whether a journal still has this run, and not another one of its id.

    RULE: only the first entry says it. All others may be alike in two runs.

    Args:
        journal: where it is looked for.
        run: its nonce is that with which it began, whatever has happened to it since.
        entries: what is to be written to it, for the error.

    Raises:
        JournalConflictError: somebody has deleted it.
        JournalError: the journal cannot be read.
    """
    for first in journal.read(run.id):
        match first.data:
            case {"run": {"nonce": str(nonce)}} if nonce != run.nonce:
                break
            case _:
                return
    raise JournalConflictError(run.id, entries[0].position if entries else 1, 0)


def is_kept(journal: Journal, run_id: str, entries: Sequence[Entry]) -> bool:
    """Whether a journal has these entries of a run at their place: they are ours, written before.

    Raises:
        JournalError: the journal cannot be read.
    """
    found = journal.read(run_id, entries[0].position)
    return list(islice(found, len(entries))) == list(as_kept(journal, entries))
