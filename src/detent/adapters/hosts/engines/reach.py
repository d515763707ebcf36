"""Reach: whether an engine has runs go on, which is asked every so often while a host is open."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from detent.adapters.hosts.faults import TELL_S
from detent.adapters.telemetry.logs import LOGGER


class Reach:
    """Knows whether an engine has runs go on. It says so to the log when that changes.

    RULE: a run that is not given to any worker fails nowhere: where nobody asks, an engine that is
    away looks like one that has nothing to do.

    Args:
        engine: what people call it.
        ask: has it answer; raises what it likes where it does not. Where it answers, and no run
            can go on, this says why not.
        pause_s: how far apart it is asked, in seconds.
        fault: the name of the error that `texts` gives while it does not answer.
    """

    def __init__(
        self, engine: str, ask: Callable[[], Awaitable[str | None]], pause_s: float, fault: str
    ) -> None:
        self._engine, self._ask, self._pause_s, self._fault = engine, ask, pause_s, fault
        self._asking: asyncio.Future[str | None] | None = None
        self._text: str | None = None

    @property
    def is_away(self) -> bool:
        """Whether no run could go on lately."""
        return self._text is not None

    def texts(self) -> dict[str, str]:
        """By the name of the engine, why no run goes on, while none does."""
        return {} if self._text is None else {self._engine: self._text}

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
            self._note(self._fault, TimeoutError.__name__)
        elif (error := self._asking.exception()) is not None:
            self._note(self._fault, type(error).__name__)
        else:
            self._note(self._asking.result())

    def _note(self, text: str | None, error: str = "") -> None:
        before, self._text = self._text, text
        if text == before:
            return
        if text is None:
            LOGGER.warning("%s answers again, and runs go on", self._engine)
        elif error:
            said = "%s does not answer, and its runs go on only once it does: %s"
            LOGGER.warning(said, self._engine, error)
        else:
            LOGGER.warning("%s answers, and no run goes on: %s", self._engine, text)

    async def end(self, asking: asyncio.Task[None]) -> None:
        """Ask no more, by the task that does so."""
        asking.cancel()
        if self._asking is not None:
            self._asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking


def _heard(asked: asyncio.Future[str | None]) -> None:
    """Take in what came of a question, of which nobody may hear any more."""
    if not asked.cancelled():
        asked.exception()
