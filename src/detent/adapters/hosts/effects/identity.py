"""Identity: what the workflow of a run is called in an engine, which may have others of its id."""

from __future__ import annotations

from detent.adapters.drivers.company.identity import nonce_in
from detent.core.tools.version import hash_of
from detent.ports.journal import Journal, RunNotFoundError

ID_MAX = 1000
"""What an id may have in Temporal, in bytes."""
DRAWN = 32
"""So many hexadecimal digits of an id are a digest."""


def workflow_id(run_id: str, *beside: str | int) -> str:
    """What the workflow of a run is called: by its id, for people, and a digest of all that it is.

    `beside` is what tells it from other workflows of the same run id: of a run that an engine's
    history drives, what it drew when it began. RULE: no two share one. An id is used again once its
    run is deleted, and each deployment in one engine may have a run of it.
    """
    drawn = hash_of(run_id, *beside)[:DRAWN]
    plain = f"detent-{run_id}-{drawn}"
    return plain if len(plain.encode()) <= ID_MAX else f"detent~{drawn}"


def nonce_of(journal: Journal, run_id: str) -> str:
    """What a run of a journal drew when it began. RULE: only its first entry says so.

    Raises:
        RunNotFoundError: there is none.
        JournalError: it cannot be read.
    """
    for first in journal.read(run_id):
        return nonce_in(first) or ""
    raise RunNotFoundError(f"there is no run {run_id!r}")
