"""Reach: whether an engine answers, which is asked every so often while a host is open."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from detent.adapters.hosts.faults import TELL_S
from detent.adapters.telemetry.logs import LOGGER


class Reach:
    """Knows whether an engine answers. It says so to the log when that changes.

    RULE: a run that is not given to any worker fails nowhere: where nobody asks, an engine that is
    away looks like one that has nothing to do.

    Args:
        engine: what people call it.
        ask: has it answer; raises what it likes where it does not.
        pause_s: how far apart it is asked, in seconds.
        fault: the name of the error that `texts` gives.
    """

    def __init__(
        self, engine: str, ask: Callable[[], Awaitable[object]], pause_s: float, fault: str
    ) -> None:
        self._engine, self._ask, self._pause_s, self._fault = engine, ask, pause_s, fault
        self._asking: asyncio.Future[object] | None = None
        self._is_away = False

    @property
    def is_away(self) -> bool:
        """Whether it did not answer lately."""
        return self._is_away

    def texts(self) -> dict[str, str]:
        """By the name of the engine, the name of an error, while it does not answer."""
        return {self._engine: self._fault} if self._is_away else {}

    async def for_ever(self) -> None:
        """Ask again and again, until it is cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(self._pause_s)

    async def look(self) -> None:
        """Ask once.

        RULE: a question that nobody answers may wait in a thread for minutes. No other is put
        beside it, or an engine that is away for long would take all the threads.
        """
        if self._asking is None or self._asking.done():
            self._asking = asyncio.ensure_future(self._ask())
            self._asking.add_done_callback(_heard)
        await asyncio.wait([self._asking], timeout=TELL_S)
        if not self._asking.done():
            self._note(TimeoutError.__name__)
            return
        error = self._asking.exception()
        self._note(None if error is None else type(error).__name__)

    def _note(self, error: str | None) -> None:
        was_away, self._is_away = self._is_away, error is not None
        if error is not None and not was_away:
            text = "%s does not answer, and its runs go on only once it does: %s"
            LOGGER.warning(text, self._engine, error)
        elif error is None and was_away:
            LOGGER.warning("%s answers again", self._engine)

    async def end(self, asking: asyncio.Task[None]) -> None:
        """Ask no more, by the task that does so."""
        asking.cancel()
        if self._asking is not None:
            self._asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking


def _heard(asked: asyncio.Future[object]) -> None:
    """Take in what came of a question, of which nobody may hear any more."""
    if not asked.cancelled():
        asked.exception()
