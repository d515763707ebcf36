"""Changed runs: those that a worker cannot follow, as their agents have changed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from attrs import define, field

from detent.adapters.hosts.faults import KEPT, PART
from detent.adapters.hosts.reading import Reading
from detent.adapters.telemetry.logs import LOGGER
from detent.ports.listing import ENDED


@define
class _Change:
    """In which way, whether nobody else goes on with the run, and how long it was at first."""

    text: str
    is_held: bool
    length: int | None = None


@define(eq=False)
class ChangedRuns:
    """Knows them as long as they stand still.

    Each that has ended is known no more, nor one that has gone on elsewhere: it is noted again when
    the engine gives it to this worker once more, or when it is found to wait again.

    Attributes:
        are_held: nobody else goes on with a run that the engine has given to this worker.
    """

    are_held: bool = False
    _runs: dict[str, _Change] = field(init=False, factory=dict)
    _left: Iterator[str] | None = field(init=False, default=None)

    def __contains__(self, run_id: object) -> bool:
        return run_id in self._runs

    def note(self, run_id: str, text: str) -> None:
        """The engine has given a run to this worker, where it stands still; `text` says why."""
        self._runs[run_id] = _Change(text, self.are_held)

    def find(self, run_id: str, text: str) -> None:
        """A run waits, and goes on by others alone. The log says so, as nobody else here would."""
        if run_id not in self._runs and len(self._runs) < KEPT:
            self._runs[run_id] = _Change(text, is_held=False)
            LOGGER.warning("%s", text, extra={"run_id": run_id})

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
            elif changed.length != run.length and not changed.is_held:
                self.drop(run_id)
