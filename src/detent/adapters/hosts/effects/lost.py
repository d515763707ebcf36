"""Lost histories: runs that wait, and of which the engine that drives them has nothing any more.

And those that it has, and that only workers of another release can follow.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Protocol

from detent.adapters.hosts.effects.changed import ChangedRuns
from detent.adapters.hosts.faults import AGAIN_S, KEPT, PART, TELL_S
from detent.adapters.hosts.reading import Reading, asked
from detent.adapters.telemetry.logs import LOGGER
from detent.core.errors import AgentChangedError, DetentError
from detent.ports.clock import Clock
from detent.ports.journal import JournalError
from detent.ports.listing import ENDED, StoredRun


class HistoryLostError(DetentError):
    """An engine has not got a run that has not ended: its history is gone, or was ended there.

    What is said to it is in the journal; `resume(…, take_over=True)` goes on with it from there.
    """

    def __init__(self, run_id: str, engine: str) -> None:
        words = shlex.join(["detent", "runs", "resume", run_id, "--take-over"])
        super().__init__(
            f"{engine} has no history of run {run_id!r} that goes on: it was lost, or ended there; "
            "what is said to the run is kept, and counts once somebody takes it over, where the "
            f"history is gone for good: {words}, or resume({run_id!r}, take_over=True)"
        )


class Histories(Protocol):
    """The runs that an engine drives."""

    @property
    def changed(self) -> ChangedRuns:
        """Those that cannot be followed here, as their agents have changed."""
        ...

    async def require_followable(self, run_id: str) -> None:
        """Make sure that the engine, and agents as they are here, go on with a run.

        Raises:
            AgentChangedError: its agent has other rules here.
            HistoryLostError: the engine has it no more.
            JournalUnavailableError: the engine is away.
        """
        ...


class LostHistories:
    """Knows which of the runs that wait their engine has lost, and finds those of other rules.

    Nothing is owed to a run that waits, so nobody tells the engine of it, and it would stand still
    in silence until somebody has decided. And while a worker of the release before takes what is
    said to it, the engine never gives it to one of this release. So all of them are looked at again
    and again, each `AGAIN_S` or later, a part with each look: how long that takes does not grow
    with their number.

    Args:
        reading: the runs.
        engine: has the histories.
        go_on: has the engine told of a run, and begin it where nothing is written of it.
        clock: the time.
    """

    def __init__(
        self,
        reading: Reading,
        engine: Histories,
        go_on: Callable[[StoredRun], Awaitable[None]],
        clock: Clock,
    ) -> None:
        self._reading, self._engine, self._go_on = reading, engine, go_on
        self._clock = clock
        self._lost: dict[str, str] = {}
        self._left: Iterator[StoredRun] | None = None
        self._next_at = float("-inf")

    def texts(self) -> dict[str, str]:
        """By run, the name of an error."""
        return self._lost.copy()

    async def look(self) -> None:
        """Look at the next part.

        Raises:
            JournalError: the store cannot be read.
        """
        now = self._clock.now()
        answered: list[StoredRun] = []
        if self._left is None:
            if now < self._next_at <= now + AGAIN_S:
                return
            self._next_at = now + AGAIN_S
            answered = await self._answered()
            self._left = self._reading.waiting()
        try:
            part: list[StoredRun] = await asked(partial(list, islice(self._left, PART)))
        except BaseException:
            self._left, self._next_at = None, float("-inf")  # from the front, next time
            raise
        if len(part) < PART:
            self._left = None
        with suppress(TimeoutError):  # the engine is away, and the host says that of it
            async with asyncio.timeout(TELL_S):
                await asyncio.gather(*map(self._ask, [*answered, *part]))

    async def _answered(self) -> list[StoredRun]:
        """The lost ones that somebody has decided about since, which nobody goes on with yet.

        None of them is among those that wait. One that has ended is not lost any more.
        """
        answered = []
        for run_id in self.texts():
            run = await self._reading.listed(run_id)
            if run is None or run.status in ENDED:
                del self._lost[run_id]
            elif run.status != "waiting":
                answered.append(run)
        return answered

    async def _ask(self, run: StoredRun) -> None:
        """Ask for a run. What else goes wrong is the engine's, and is another matter."""
        try:
            if run.length > 1:
                await self._engine.require_followable(run.run_id)
            else:  # a fork whose question nobody has told the engine of, perhaps
                await self._go_on(run)
        except HistoryLostError as error:
            await self.sentence(run, error)
        except AgentChangedError as error:
            self._lost.pop(run.run_id, None)
            self._engine.changed.find(run.run_id, str(error))
        except JournalError:
            return
        except Exception as error:  # noqa: BLE001 - it is asked for again
            name = type(error).__name__
            LOGGER.warning("the engine could not be asked for run %s: %s", run.run_id, name)
        else:
            self._lost.pop(run.run_id, None)

    async def sentence(self, run: StoredRun, error: HistoryLostError) -> str:
        """What is to be done about a run that the engine has not got; "" is nothing.

        RULE: the engine ends a history behind the journal. One that has just ended is not lost.
        """
        now = await self._reading.listed(run.run_id)
        if now is None or now.status in ENDED:
            return ""
        if run.run_id not in self._lost and len(self._lost) < KEPT:
            self._lost[run.run_id] = type(error).__name__
            LOGGER.warning("%s", error, extra={"run_id": run.run_id})
        return str(error)
