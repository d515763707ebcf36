"""Entries as plain values, in which nothing is shown that a call says is secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from detent.adapters.stories.secrets import RunSecrets, plain_entry
from detent.ports.journal import Journal, with_data


class Reader:
    """Reads the entries of one run, from wherever, as often as wanted.

    RULE: what one entry says is secret stands in none that is read with it, or later: so all that
    stand before are looked through as well.
    """

    def __init__(self, store: Journal, run_id: str) -> None:
        self._store, self._run_id = store, run_id
        self._secrets = RunSecrets()
        self._seen = 0

    def read(self, start: int = 0) -> list[dict[str, Any]]:
        """The entries from a position on."""
        stored = with_data(self._store.read(self._run_id, min(start, self._seen)))
        entries = [evolve(entry, data=data) for entry, data in stored]
        self._secrets.learn([entry.data for entry in entries if entry.position >= self._seen])
        self._seen = max(self._seen, *(entry.position + 1 for entry in entries), 0)
        wanted = [entry for entry in entries if entry.position >= start]
        return list(map(plain_entry, self._secrets.without(wanted)))


def is_same_entry(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two that were read at a time each are of one run.

    Another one of its id may have been begun meanwhile. What stands in them may be masked later.
    """
    return all(one[name] == other[name] for name in ("position", "at", "kind"))


def entries_of(store: Journal, run_id: str) -> list[dict[str, Any]]:
    """All entries of a run."""
    return Reader(store, run_id).read()
