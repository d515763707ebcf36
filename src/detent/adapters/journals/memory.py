"""A journal in memory: for tests, and for runs that need not outlive the process."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Condition, Lock
from types import MappingProxyType
from typing import TypeVar

from attrs import evolve

from detent.adapters.journals.run_index import RunIndex
from detent.ports.claims import Claim, Owner
from detent.ports.journal import (
    Checkpoint,
    Entry,
    listing_after,
    require_claim,
    require_next,
)
from detent.ports.listing import ALL_RUNS, NO_LISTING, RunQuery, StoredRun

Kept = TypeVar("Kept", Entry, Checkpoint)


PRIVATE = (MappingProxyType, str)
"""What is kept as it came. A recorder's data can only be read, and nobody else has it."""


def _text(kept: Kept) -> Kept:
    """What is kept shares nothing with whoever wrote it, nor with who reads it: a text."""
    return kept if type(kept.body) is str else evolve(kept, data=kept.text)


class MemoryClaims:
    """Keeps the claims on the runs of a `MemoryJournal`."""

    is_shared = False
    guards_appends = True

    def __init__(self) -> None:
        self._lock = Lock()
        self._claims: dict[str, Claim] = {}
        self._owners: dict[str, Owner] = {}

    def find(self, run_id: str) -> Claim | None:
        """As `Claims.find` says."""
        return self._claims.get(run_id)

    def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
        """As `Claims.swap` says."""
        with self._lock:
            is_there = self._claims.get(run_id) == was
            if is_there:
                self._claims[run_id] = now
            return is_there

    def owner(self, owner_id: str) -> Owner | None:
        """As `Claims.owner` says."""
        return self._owners.get(owner_id)

    def keep(self, owner: Owner) -> None:
        """As `Claims.keep` says."""
        self._owners[owner.id] = owner

    def delete(self, run_id: str) -> None:
        """Forget the claim on a run that is deleted."""
        self._claims.pop(run_id, None)


class MemoryJournal:
    """Keeps everything until the process ends, and shares none of it with anybody."""

    def __init__(self) -> None:
        self.claims = MemoryClaims()
        self._lock = Lock()
        self._written = Condition(self._lock)
        self._waiting = 0  # a notice costs an append nothing where nobody waits
        self._entries: dict[str, list[Entry]] = {}
        self._read: dict[str, int] = {}  # how many entries are texts by now: each is made once
        self._checkpoints: dict[str, list[Checkpoint]] = {}
        self._index = RunIndex()
        self._unlisted: set[str] = set()  # what was written to since a list was asked for

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As `Journal.append` says."""
        new = [entry if type(entry.body) in PRIVATE else _text(entry) for entry in entries]
        last = checkpoint  # it may refuse to be text
        if last is not None and type(last.body) not in PRIVATE:
            last = _text(last)
        with self._lock:
            kept = self._entries.get(run_id)
            require_next(run_id, entries, 0 if kept is None else len(kept))
            require_claim(run_id, entries, self.claims.find(run_id))
            if kept is None:
                self._entries[run_id] = new
            else:
                kept.extend(new)
            self._unlisted.add(run_id)
            if last is not None:
                self._checkpoints.setdefault(run_id, []).append(last)
            if self._waiting:
                self._written.notify_all()

    def read(self, run_id: str, start: int = 0) -> Sequence[Entry]:
        """As `Journal.read` says."""
        with self._lock:
            entries = self._entries.get(run_id, [])
            # whoever copies entries drives no run by their claim; an append need not pay for that
            for place in range(self._read.get(run_id, 0), len(entries)):
                entry = entries[place]
                entries[place] = _text(entry if entry.claim is None else evolve(entry, claim=None))
            if entries:
                self._read[run_id] = len(entries)
            return entries[start:]

    def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """As `Journal.checkpoints` says."""
        with self._lock:
            found = self._checkpoints.get(run_id, [])
            found[:] = map(_text, found)
            return found[:]

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As `Journal.runs` says. The index is brought up to date here, not by appends."""
        with self._lock:
            while self._unlisted:
                run_id = self._unlisted.pop()
                self._index.put(run_id, self._listed(run_id))
            return self._index.page(query)

    def _listed(self, run_id: str) -> StoredRun | None:
        entries = self._entries.get(run_id)
        if entries is None:
            return None
        known, listing = self._index[run_id], NO_LISTING
        new = entries if known is None else entries[known.length :]
        if known is not None:
            listing = known.listing
        last = entries[-1]
        listing = listing_after(listing, new) if new else listing
        run = StoredRun.listed(run_id, len(entries), last.status, last.at, listing)
        return evolve(run, began=entries[0].at)

    def delete(self, run_id: str) -> None:
        """As `Journal.delete` says."""
        with self._lock:
            self._entries.pop(run_id, None)
            self._checkpoints.pop(run_id, None)
            self._read.pop(run_id, None)
            self._unlisted.discard(run_id)
            self._index.put(run_id, None)
            self.claims.delete(run_id)
            self._written.notify_all()

    def wait(self, run_id: str, length: int, timeout_s: float) -> bool:
        """As the port `Notices` says."""
        with self._lock:
            self._waiting += 1
            try:
                return self._written.wait_for(
                    lambda: len(self._entries.get(run_id, ())) != length, timeout_s
                )
            finally:
                self._waiting -= 1
