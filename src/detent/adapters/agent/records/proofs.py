"""Proofs: a run made again of its events is the stored one, and its entries hang together."""

from __future__ import annotations

from typing import Any

from detent.adapters.drivers.loading import loaded
from detent.adapters.journals.audited import chained, verify_audit
from detent.core.errors import AgentChangedError, StoredDataError
from detent.core.run.spec import AgentSpec
from detent.ports.hosting import RunProof
from detent.ports.journal import Journal, JournalDamagedError


def proof_of(journal: Journal, spec: AgentSpec[Any], run_id: str) -> RunProof:
    """Hold a run against its entries, and these against the chain of a journal that has one.

    Raises:
        RunNotFoundError: there is no such run.
        JournalError: it cannot be read.
    """
    problems, head = list[str](), None
    problem = replay_problem(journal, spec, run_id)
    if problem is not None:
        problems.append(problem)
    if chained(journal) is not None:
        try:
            head = verify_audit(journal, run_id).head
        except JournalDamagedError as error:
            problems.append(str(error))
    return RunProof(_length(journal, run_id), tuple(dict.fromkeys(problems)), head)


def replay_problem(journal: Journal, spec: AgentSpec[Any], run_id: str) -> str | None:
    """Why a run is another one when it is made again of its events; None where it is the same.

    Raises:
        RunNotFoundError: there is no such run.
        JournalError: it cannot be read.
    """
    try:
        again = loaded(journal, spec, run_id, from_start=True).run
        stored = loaded(journal, spec, run_id).run
    except (StoredDataError, JournalDamagedError) as error:
        return str(error)
    return None if again == stored else f"run {run_id!r} differs from its checkpoints"


def unfollowed_problem(journal: Journal, spec: AgentSpec[Any], run_id: str) -> str | None:
    """Why an agent cannot follow a run, whose rules are others than its own; None where it can.

    RULE: it says nothing against the run. A release that a stored run does not fit is a matter of
    the release, and whoever reads of damage looks for it in the store.

    Raises:
        RunNotFoundError: there is no such run.
        JournalError: it cannot be read.
    """
    try:
        loaded(journal, spec, run_id, from_start=True)
    except AgentChangedError as error:
        return str(error)
    except (StoredDataError, JournalDamagedError):
        pass  # it may be the run
    return None


def _length(journal: Journal, run_id: str) -> int:
    """How many entries can be read."""
    length = 0
    try:
        for entry in journal.read(run_id):
            length = entry.position + 1
    except JournalDamagedError as error:
        return max(length, error.whole)
    return length
