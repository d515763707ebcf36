"""Changed runs: those that a worker cannot follow, as their agents have changed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from attrs import define, field

from detent.adapters.hosts.faults import PART
from detent.adapters.hosts.reading import Reading
from detent.ports.listing import ENDED


@define
class _Change:
    """In which way, and how long the run was when it was first looked at."""

    text: str
    length: int | None = None


@define(eq=False)
class ChangedRuns:
    """Knows them as long as they stand still.

    Each that has ended is known no more, nor one that has gone on elsewhere: it is noted again when
    the engine gives it to this worker once more.

    Attributes:
        are_held: nobody else goes on with a run that is noted here.
    """

    are_held: bool = False
    _runs: dict[str, _Change] = field(init=False, factory=dict)
    _left: Iterator[str] | None = field(init=False, default=None)

    def note(self, run_id: str, text: str) -> None:
        """A run stands still here; `text` says why."""
        self._runs[run_id] = _Change(text)

    def drop(self, run_id: str) -> None:
        """It does no longer."""
        self._runs.pop(run_id, None)

    def texts(self) -> dict[str, str]:
        """By run, in which way its agent has changed."""
        return {run_id: one.text for run_id, one in self._runs.copy().items()}

    async def look(self, reading: Reading) -> None:
        """Look at the next part of them.

        Raises:
            JournalError: the store cannot be read.
        """
        self._left = iter(self.texts()) if self._left is None else self._left
        part = list(islice(self._left, PART))
        if len(part) < PART:
            self._left = None
        for run_id in part:
            run, changed = await reading.listed(run_id), self._runs.get(run_id)
            if changed is None:
                continue
            if run is None or run.status in ENDED:
                self.drop(run_id)
            elif changed.length is None:
                changed.length = run.length
            elif changed.length != run.length and not self.are_held:
                self.drop(run_id)
