"""A journal that some things never reach: what goes into another store is redacted on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, cast

from attrs import evolve, field, frozen

from detent.ports.claims import Claims, claims_of
from detent.ports.journal import (
    Checkpoint,
    Entry,
    Journal,
    Submit,
    as_kept,
    foreign_notices_of,
    outage_of,
    submit_of,
)
from detent.ports.listing import ALL_RUNS, RunQuery, StoredRun

Redact = Callable[[str], str]
"""What is kept of a text."""


@frozen
class RedactedJournal:
    """Keeps runs in `journal`, with `redact` applied to every text in their data.

    Names of entries, as ``"arguments"``, stay; so do numbers, and what a `Listing` says. A run that
    goes on has the redacted texts in place of those that were there: its model reads them, and a
    call that had not begun is run with them. A question about such a call was about other arguments
    than would run by now: it can be answered once the run is resumed, which puts it anew. A text
    that names something (a tool, an id, a kind) must come out as it was, or the run cannot go on:
    redact what looks like a card number, not what looks like a word.
    """

    conceals: ClassVar[bool] = True
    journal: Journal
    redact: Redact = field(repr=False)

    @property
    def claims(self) -> Claims | None:
        """Those of the other store: nothing in them is anybody's secret."""
        return claims_of(self.journal)

    @property
    def outage_s(self) -> float:
        """For how long an append to the other store is begun again."""
        return outage_of(self.journal)

    @property
    def notices(self) -> object:
        """Who tells what others write to the other store."""
        return foreign_notices_of(self.journal)

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As `Journal.append` says."""
        self.journal.append(*self._all_redacted(run_id, entries, checkpoint))

    @property
    def submit(self) -> Submit | None:
        """As `SubmittingJournal.submit` says, where the other store can."""
        submit = submit_of(self.journal)
        return submit and (lambda *new: submit(*self._all_redacted(*new)))

    def _all_redacted(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> tuple[str, Sequence[Entry], Checkpoint | None]:
        if checkpoint is not None:
            checkpoint = evolve(checkpoint, data=self._redacted(checkpoint.data))
        return run_id, self._changed(entries), checkpoint

    def as_kept(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Entries as they are read back: by this, what was written and not told is recognised."""
        return as_kept(self.journal, self._changed(entries))

    def _changed(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        return [evolve(entry, data=self._redacted(entry.data)) for entry in entries]

    def read(self, run_id: str, start: int = 0) -> Iterable[Entry]:
        """As `Journal.read` says."""
        return self.journal.read(run_id, start)

    def checkpoints(self, run_id: str) -> Iterable[Checkpoint]:
        """As `Journal.checkpoints` says."""
        return self.journal.checkpoints(run_id)

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As `Journal.runs` says."""
        return self.journal.runs(query)

    def delete(self, run_id: str) -> None:
        """As `Journal.delete` says."""
        self.journal.delete(run_id)

    def _redacted(self, data: Mapping[str, Any]) -> dict[str, Any]:
        return cast("dict[str, Any]", self._kept(data))

    def _kept(self, value: object) -> object:
        match value:
            case str():
                return self.redact(value)
            case dict():
                return {name: self._kept(item) for name, item in value.items()}
            case list():
                return [self._kept(item) for item in value]
            case _:
                return value
