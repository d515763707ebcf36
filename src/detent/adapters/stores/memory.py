"""A journal in memory: for tests, and for runs that need not outlive the process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from threading import Lock

from attrs import evolve

from detent.ports.journal import Checkpoint, Entry, StoredRun, require_next


class MemoryJournal:
    """Keeps everything until the process ends."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._entries: dict[str, list[Entry]] = {}
        self._checkpoints: dict[str, list[Checkpoint]] = {}

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        copies = [evolve(entry, data=json.loads(json.dumps(entry.data))) for entry in entries]
        with self._lock:
            require_next(run_id, copies, len(self._entries.get(run_id, ())))
            self._entries.setdefault(run_id, []).extend(copies)
            if checkpoint is not None:
                kept = evolve(checkpoint, data=json.loads(json.dumps(checkpoint.data)))
                self._checkpoints.setdefault(run_id, []).append(kept)

    def read(self, run_id: str, start: int = 0) -> Sequence[Entry]:
        """As the port says."""
        with self._lock:
            return self._entries.get(run_id, [])[start:]

    def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """As the port says."""
        with self._lock:
            return self._checkpoints.get(run_id, [])[:]

    def runs(self) -> Sequence[StoredRun]:
        """As the port says."""
        with self._lock:
            lasts = [(run_id, entries[-1]) for run_id, entries in self._entries.items()]
        found = [StoredRun(one, last.position + 1, last.status, last.at) for one, last in lasts]
        return sorted(found, key=lambda run: run.at, reverse=True)

    def delete(self, run_id: str) -> None:
        """As the port says."""
        with self._lock:
            self._entries.pop(run_id, None)
            self._checkpoints.pop(run_id, None)
