"""Progress: what others write to a run of a journal, entry by entry, as it is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from threading import Event as Flag
from typing import Generic

from attrs import field, frozen

from detent.adapters.drivers.loading import (
    FORGOTTEN,
    STOPPED,
    event_and_run,
    loaded,
    require_position,
)
from detent.adapters.system.hearing import Ear, listen, tell_loop
from detent.core.errors import DetentError
from detent.core.run.events import Event
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.state.typevars import S
from detent.ports.clock import Clock
from detent.ports.journal import (
    AT_ONCE,
    Entry,
    Journal,
    JournalError,
    RunNotFoundError,
    with_data,
)
from detent.ports.listing import ENDED

PAUSE_S = 0.02
PAUSE_MAX_S = 1.0
"""Seconds between two looks into the journal: twice as long each time that nothing has come."""
TOLD_MAX_S = 5.0
"""The same where the store tells when something has come."""


@frozen
class Progress(Generic[S]):
    """One entry of a run's journal, for somebody who watches.

    Attributes:
        position: its place in the journal, from 0; go on `after` it.
        at: when it was written, in seconds since 1970.
        kind: what happened, e.g. "ToolReturned". "Started" and "Stopped" are no events.
        status: how far the run has come: "running", "waiting", "failed", "cancelled"
            or "done".
        event: the event, or None.
        run: the run as it was then.
    """

    position: int
    at: float
    kind: str
    status: str
    event: Event | None
    run: Run[S] = field(repr=False)


def check_position(after: object) -> None:
    """Behind what is watched.

    Raises:
        ValueError: it is no position.
    """
    if after is not None and (not isinstance(after, int) or after < 0):
        raise ValueError(f"after is a position, counted from 0, or None; got {after!r}")


class Watch(Generic[S]):
    """Knows how far a run has been seen; for one reader, of one run."""

    def __init__(
        self,
        journal: Journal,
        spec: AgentSpec[S],
        run_id: str,
        after: int | None,
        *,
        until_waiting: bool,
    ) -> None:
        check_position(after)
        self._journal = journal
        self._spec = spec
        self._run_id = run_id
        self._after = after
        self._until_waiting = until_waiting
        self._is_over = False

    def open(self) -> None:
        """Read the run as it was where the watcher begins. Raises as `Runs.watch`."""
        after = 0 if self._after is None else self._after
        at = loaded(self._journal, self._spec, self._run_id, after + 1)
        if at.length <= after:
            raise ValueError(
                f"run {self._run_id!r} has {at.length} entries: nothing is at position {after}"
            )
        self._run, self._position = at.run, after
        self._last: Entry | None = None  # the entry at that position, once it was read

    def run(self, clock: Clock, timeout_s: float | None) -> Generator[Progress[S]]:
        """What comes, blocking in between."""
        told = Flag()
        with closing(listen(self._journal, self._run_id, told.set)) as ear:
            patience = Patience(clock, timeout_s, ear)
            while True:
                for one in self.news():
                    yield one
                    patience.renew()
                if self._is_over or (until := patience.next_look()) is None:
                    return
                clock.wait(until, told)
                told.clear()

    async def run_async(self, clock: Clock, timeout_s: float | None) -> AsyncGenerator[Progress[S]]:
        """As `run`, after `open`."""
        await asyncio.to_thread(self.open)
        told, loop = asyncio.Event(), asyncio.get_running_loop()
        tell = partial(tell_loop, loop, told.set)
        with closing(listen(self._journal, self._run_id, tell)) as ear:
            patience = Patience(clock, timeout_s, ear)
            while True:
                news = self.news()
                while some := await asyncio.to_thread(_some, news):
                    for one in some:
                        yield one
                    patience.renew()
                if self._is_over or (until := patience.next_look()) is None:
                    return
                await _told_or_late(told, clock, until)
                told.clear()

    def news(self) -> Iterator[Progress[S]]:
        """What has been written since the last entry that was seen. Raises as `Runs.watch`."""
        entries, trouble = self._read()
        if self._last is None and self._after is None:  # the first one has not been given yet
            self._last = entries[0]
            yield self._progress(entries[0], None)
        self._last = entries[0]
        for entry, data in with_data(entries[1:]):
            require_position(self._run, entry, self._position + 1)
            event = None
            if entry.kind == FORGOTTEN:
                raise self._gone()
            if entry.kind != STOPPED:
                event, self._run = event_and_run(self._spec, self._run, entry, data)
            self._position, self._last = entry.position, entry
            yield self._progress(entry, event)
        if trouble is not None:
            raise trouble
        self._is_over = self._ends(self._last)

    def _read(self) -> tuple[Sequence[Entry], JournalError | None]:
        """The last entry that was seen and those behind it, and why there are no more.

        By the last one it is known that nobody has put another run in the place of this one.
        """
        found, trouble = list[Entry](), None
        try:
            found.extend(self._journal.read(self._run_id, self._position))
        except JournalError as error:
            trouble = error
        if not found or (self._last is not None and found[0] != self._last):
            raise trouble or self._gone()
        return found, trouble

    def _gone(self) -> RunNotFoundError:
        return RunNotFoundError(
            f"run {self._run_id!r} has been deleted while it was watched, after its entry "
            f"{self._position}"
        )

    def _progress(self, entry: Entry, event: Event | None) -> Progress[S]:
        return Progress(entry.position, entry.at, entry.kind, entry.status, event, self._run)

    def _ends(self, last: Entry) -> bool:
        is_still = last.status == "waiting" or last.kind == STOPPED
        return last.status in ENDED or (self._until_waiting and is_still)


class Patience:
    """When the journal is looked at again, and when a watcher gives up."""

    def __init__(self, clock: Clock, timeout_s: float | None, ear: Ear | None = None) -> None:
        self._is_told = ear is not None and ear.hears_others
        self._clock = clock
        self._timeout_s = timeout_s
        self.renew()

    def renew(self) -> None:
        """Something has come."""
        self._pause_s = TOLD_MAX_S if self._is_told else PAUSE_S
        self._since = self._clock.now()

    def next_look(self) -> float | None:
        """The time of it, in seconds since 1970; None when it has been long enough."""
        now = self._clock.now()
        until = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, TOLD_MAX_S if self._is_told else PAUSE_MAX_S)
        if self._timeout_s is None:
            return until
        end = self._since + self._timeout_s
        return None if now >= end else min(until, end)


async def _told_or_late(told: asyncio.Event, clock: Clock, until: float) -> None:
    """Wait until somebody tells, or it is late."""
    waits = [asyncio.ensure_future(told.wait()), asyncio.ensure_future(clock.wait_async(until))]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


def _some(news: Iterator[Progress[S]]) -> list[Progress[S]]:
    """The next ones, as many as make a thread worth while.

    What is raised behind the first is raised when the journal is looked at again.
    """
    some: list[Progress[S]] = []
    try:
        some.extend(islice(news, AT_ONCE))
    except DetentError:
        if not some:
            raise
    return some
