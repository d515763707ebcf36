"""A journal in memory: for tests, and for runs that need not outlive the process."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from types import MappingProxyType
from typing import TypeVar

from attrs import evolve

from detent.core.control.claims import Claim, Owner
from detent.ports.journal import Checkpoint, Entry, StoredRun, require_next

Kept = TypeVar("Kept", Entry, Checkpoint)


PRIVATE = (MappingProxyType, str)
"""What is kept as it came. A recorder's data can only be read, and nobody else has it."""


def _text(kept: Kept) -> Kept:
    """What is kept shares nothing with whoever wrote it, nor with who reads it: a text."""
    return kept if type(kept.body) is str else evolve(kept, data=kept.text)


class MemoryClaims:
    """Keeps the claims on the runs of a `MemoryJournal`."""

    is_shared = False

    def __init__(self) -> None:
        self._lock = Lock()
        self._claims: dict[str, Claim] = {}
        self._owners: dict[str, Owner] = {}

    def find(self, run_id: str) -> Claim | None:
        """As the port says."""
        return self._claims.get(run_id)

    def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
        """As the port says."""
        with self._lock:
            is_there = self._claims.get(run_id) == was
            if is_there:
                self._claims[run_id] = now
            return is_there

    def owner(self, owner_id: str) -> Owner | None:
        """As the port says."""
        return self._owners.get(owner_id)

    def keep(self, owner: Owner) -> None:
        """As the port says."""
        self._owners[owner.id] = owner

    def delete(self, run_id: str) -> None:
        """Forget the claim on a run that is deleted."""
        self._claims.pop(run_id, None)


class MemoryJournal:
    """Keeps everything until the process ends, and shares none of it with anybody."""

    def __init__(self) -> None:
        self.claims = MemoryClaims()
        self._lock = Lock()
        self._entries: dict[str, list[Entry]] = {}
        self._checkpoints: dict[str, list[Checkpoint]] = {}

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        new = [entry if type(entry.body) in PRIVATE else _text(entry) for entry in entries]
        last = checkpoint  # it may refuse to be text
        if last is not None and type(last.body) not in PRIVATE:
            last = _text(last)
        with self._lock:
            kept = self._entries.get(run_id)
            require_next(run_id, entries, 0 if kept is None else len(kept))
            if kept is None:
                self._entries[run_id] = new
            else:
                kept.extend(new)
            if last is not None:
                self._checkpoints.setdefault(run_id, []).append(last)

    def read(self, run_id: str, start: int = 0) -> Sequence[Entry]:
        """As the port says."""
        with self._lock:
            entries = self._entries.get(run_id, [])[start:]
        return [_text(entry) for entry in entries]

    def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """As the port says."""
        with self._lock:
            found = self._checkpoints.get(run_id, [])[:]
        return [_text(checkpoint) for checkpoint in found]

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
        self.claims.delete(run_id)
