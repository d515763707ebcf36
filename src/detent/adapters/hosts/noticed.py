"""A journal whose appends are noticed, so that nobody in this process has to look for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial

from attrs import frozen

from detent.ports.claims import Claims, claims_of
from detent.ports.journal import (
    Checkpoint,
    Entry,
    Journal,
    Submit,
    foreign_notices_of,
    outage_of,
    submit_of,
)
from detent.ports.listing import ALL_RUNS, RunQuery, StoredRun


@frozen
class NoticedJournal:
    """The same as `journal`; `tell` is told a run's id and length once something is appended.

    `failed` is told why something could not be.
    """

    journal: Journal
    tell: Callable[[str, int], object]
    failed: Callable[[BaseException], object]

    @property
    def claims(self) -> Claims | None:
        """Those of the journal."""
        return claims_of(self.journal)

    @property
    def outage_s(self) -> float:
        """For how long an append to the other store is begun again."""
        return outage_of(self.journal)

    @property
    def notices(self) -> object:
        """Who tells what others write to the other store."""
        return foreign_notices_of(self.journal)

    @property
    def submit(self) -> Submit | None:
        """As the port `SubmittingJournal` says."""
        submit = submit_of(self.journal)
        return None if submit is None else partial(self._submitted, submit)

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As `Journal.append` says."""
        try:
            self.journal.append(run_id, entries, checkpoint)
        except Exception as error:
            self.failed(error)
            raise
        self.tell(run_id, entries[-1].position + 1)

    def _submitted(
        self,
        submit: Submit,
        run_id: str,
        entries: Sequence[Entry],
        checkpoint: Checkpoint | None = None,
    ) -> Future[None]:
        length = entries[-1].position + 1

        def notify(done: Future[None]) -> None:
            error = done.exception()
            if error is None:
                self.tell(run_id, length)
            else:
                self.failed(error)

        future = submit(run_id, entries, checkpoint)
        future.add_done_callback(notify)  # before that of whoever waits for it
        return future

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
