"""A journal in memory: for tests, and for runs that need not outlive the process."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TypeVar

from attrs import evolve

from detent.ports.journal import Checkpoint, Entry, StoredRun, require_next

Kept = TypeVar("Kept", Entry, Checkpoint)


def _written(one: Kept) -> Kept:
    return one if type(one.body) is str else evolve(one, data=one.text)


class MemoryJournal:
    """Keeps everything until the process ends, and shares none of it with anybody.

    What its writer can write out at any time stays unwritten until it is read.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._entries: dict[str, list[Entry]] = {}
        self._checkpoints: dict[str, list[Checkpoint]] = {}

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        new = [one if callable(one.body) else _written(one) for one in entries]
        if checkpoint is not None and not callable(checkpoint.body):
            checkpoint = _written(checkpoint)
        with self._lock:
            kept = self._entries.get(run_id)
            require_next(run_id, entries, 0 if kept is None else len(kept))
            if kept is None:
                self._entries[run_id] = new
            else:
                kept.extend(new)
            if checkpoint is not None:
                self._checkpoints.setdefault(run_id, []).append(checkpoint)

    def read(self, run_id: str, start: int = 0) -> Sequence[Entry]:
        """As the port says."""
        with self._lock:
            kept = self._entries.get(run_id, [])
            kept[start:] = map(_written, kept[start:])
            return kept[start:]

    def length(self, run_id: str) -> int:
        """How many entries a run has, 0 when there is no such run."""
        with self._lock:
            return len(self._entries.get(run_id, []))

    def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """As the port says."""
        with self._lock:
            kept = self._checkpoints.get(run_id, [])
            kept[:] = map(_written, kept)
            return kept[:]

    def runs(self) -> Sequence[StoredRun]:
        """As the port says."""
        with self._lock:
            found = [
                StoredRun(run_id, len(entries), entries[-1].status, entries[-1].at)
                for run_id, entries in self._entries.items()
            ]
        return sorted(found, key=lambda run: run.at, reverse=True)

    def delete(self, run_id: str) -> None:
        """As the port says."""
        with self._lock:
            self._entries.pop(run_id, None)
            self._checkpoints.pop(run_id, None)
