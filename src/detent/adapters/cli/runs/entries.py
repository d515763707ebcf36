"""Entries as plain values, in which no secret argument is shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from detent.adapters.stories.entries import masked_data
from detent.ports.journal import Journal, with_data


class Reader:
    """Reads the entries of one run, from wherever, as often as wanted.

    A call in a reply says which of its arguments are secret. A decision that changes them does not
    say it again: whatever has such a name is masked from there on.
    """

    def __init__(self, store: Journal, run_id: str) -> None:
        self._store, self._run_id = store, run_id
        self._secret: set[str] = set()
        self._seen = 0

    def read(self, start: int = 0) -> Iterator[dict[str, Any]]:
        """The entries from a position on."""
        begin = min(start, self._seen)
        for entry, data in with_data(self._store.read(self._run_id, begin)):
            self._learn(data)
            self._seen = max(self._seen, entry.position + 1)
            if entry.position >= start:
                yield {
                    "position": entry.position,
                    "at": entry.at,
                    "kind": entry.kind,
                    "status": entry.status,
                    "data": masked_data(data, self._secret),
                }

    def _learn(self, value: Any) -> None:
        if isinstance(value, list):
            for part in value:
                self._learn(part)
        elif isinstance(value, dict):
            for name in ("secret", "masked"):
                names = value.get(name)
                if isinstance(names, list):
                    self._secret.update(part for part in names if isinstance(part, str))
            self._learn(list(value.values()))


def entries_of(store: Journal, run_id: str) -> list[dict[str, Any]]:
    """All entries of a run."""
    return list(Reader(store, run_id).read())
