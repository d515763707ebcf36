"""A journal in memory: for tests, and for runs that need not outlive the process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

from detent.ports.journal import Checkpoint, Entry, StoredRun, require_next


class _Kept(NamedTuple):
    at: float
    kind: str
    status: str
    text: str


class MemoryJournal:
    """Keeps everything until the process ends, as text, so that nobody shares it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._entries: dict[str, list[_Kept]] = {}
        self._checkpoints: dict[str, list[tuple[int, str]]] = {}

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        new = [_Kept(one.at, one.kind, one.status, json.dumps(one.data)) for one in entries]
        saved = [(checkpoint.position, json.dumps(checkpoint.data))] if checkpoint else []
        with self._lock:
            require_next(run_id, entries, len(self._entries.get(run_id, ())))
            self._entries.setdefault(run_id, []).extend(new)
            self._checkpoints.setdefault(run_id, []).extend(saved)

    def read(self, run_id: str, start: int = 0) -> Sequence[Entry]:
        """As the port says."""
        with self._lock:
            found = self._entries.get(run_id, [])[start:]
        return [
            Entry(place, one.at, one.kind, one.status, json.loads(one.text))
            for place, one in enumerate(found, start)
        ]

    def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """As the port says."""
        with self._lock:
            found = self._checkpoints.get(run_id, [])[:]
        return [Checkpoint(position, json.loads(text)) for position, text in found]

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
