"""Driving by an engine: it is told which runs are to go on, and has some worker do so.

RULE: the journal is the truth. An engine that forgets a run, or wakes it twice, harms nobody: a leg
looks first whether anything is owed, and each worker looks in the store for runs that nobody
drives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from attrs import frozen

from detent.adapters.drivers.asyncio import AsyncInbox
from detent.adapters.hosts.channels import Channels
from detent.adapters.hosts.faults import TELL_S, Faults
from detent.adapters.hosts.legs import AnyHandle, drive, halt, leave, tell
from detent.adapters.hosts.looks import Looks
from detent.adapters.hosts.reading import Reading
from detent.adapters.system.failures import is_cancelled, is_stop
from detent.adapters.telemetry.logs import LOGGER
from detent.adapters.telemetry.trails import trail_of
from detent.core.run.events import Event
from detent.ports.claims import RunBusyError, RunOfEngineError
from detent.ports.clock import Clock
from detent.ports.hosting import HostRefusal
from detent.ports.journal import JournalConflictError, RunNotFoundError
from detent.ports.listing import ENDED, StoredRun

BUSY_S = (0.05, 0.1, 0.2, 0.4, 0.8)
"""How long it is waited, again and again, for whoever has a run to leave it."""
ELSEWHERE_S = 1.0
"""When another worker is asked, where this one ends or has not got the agent."""
SAME_S = 60
"""A run that waits for a worker is told of once in so many seconds."""


@frozen
class Wake:
    """That a run is to go on.

    Attributes:
        run_id: the run.
        name: of the wake: one of the same name is the same one.
        at: not before this time, in seconds since 1970; None is now.
    """

    run_id: str
    name: str
    at: float | None = None


Waker: TypeAlias = Callable[[Wake], Awaitable[object]]
"""Has the engine know of a wake. It raises what it likes where the engine is away."""


class EngineDriving:
    """Tells an engine which runs are to go on, and drives those that it gives to this process."""

    def __init__(
        self,
        reading: Reading,
        channels: Channels,
        looks: Looks,
        wake: Waker,
        clock: Clock,
        *,
        is_away: Callable[[], bool] = lambda: False,
    ) -> None:
        self._reading, self._channels = reading, channels
        self._wake, self._clock, self._is_away = wake, clock, is_away
        self._here: dict[str, AsyncInbox] = {}
        self._tasks: dict[asyncio.Task[float | None], str] = {}
        self.is_halted = False
        self.looks, self.faults = looks, Faults(clock)

    @property
    def running(self) -> int:
        """How many runs go on here."""
        return len(self._here)

    def texts(self) -> dict[str, str]:
        """By run, the name of what keeps it from going on."""
        return self.faults.texts()

    def refusal(self) -> HostRefusal | None:
        """Why no run is begun now."""
        if self.is_halted:
            return HostRefusal("shutting_down", "this host is shutting down: ask another one")
        return None

    async def begin(self, run: StoredRun, begin: Callable[[], Awaitable[AnyHandle]]) -> None:
        """Begin a run, and leave it to a worker.

        RULE: its wake is of this run alone. One of its id may have begun within the same second.
        """
        handle = await begin()
        nonce = handle.session.run.nonce
        await handle.leave_async()
        await self._tell(Wake(run.run_id, f"{run.run_id}@{nonce}"))

    async def go_on(self, run: StoredRun, at: float | None = None, *, each_s: int = 1) -> None:
        """Have a worker go on with a run."""
        second = int((self._clock.now() if at is None else at) // each_s) * each_s
        await self._tell(Wake(run.run_id, f"{run.run_id}@{run.length}@{second}", at))

    async def _tell(self, wake: Wake) -> None:
        """Tell the engine of a wake. Where it is away, the next look does so.

        RULE: the run is stored, so who has begun it waits no longer than `TELL_S` for an engine.
        The clients of some try again by themselves for ten seconds and more.
        """
        try:
            async with asyncio.timeout(TELL_S):
                await self._wake(wake)
        except Exception as error:  # noqa: BLE001 - an engine that is away comes back
            name = type(error).__name__
            LOGGER.warning("the engine could not be told of run %s: %s", wake.run_id, name)

    async def ask_anew(self, run: StoredRun) -> None:
        """Have a worker put the question of a run anew."""
        if not self.is_halted:
            await self.go_on(run)

    def is_bound(self, run_id: str) -> bool:
        """It never is: a leg follows what is stored, by the rules that are here."""
        return False

    def hear(self, run_id: str, event: Event) -> bool:
        """Tell a run that goes on here what somebody has said, and is written down."""
        inbox = self._here.get(run_id)
        if inbox is not None:
            tell(inbox, event)
        return inbox is not None

    async def look(self) -> None:
        """Look once for runs that nobody drives.

        RULE: an engine that is known to be away is told of none. Each would be waited for, and a
        host that looks for so long would not be ready any more.
        """
        for run in await self.looks.found(lambda: self._here.keys() | self.faults.resting()):
            if self._is_away():
                return
            await self.go_on(run, each_s=SAME_S)

    async def reached(self) -> None:
        """Look whether the store is there, in a process that drives no runs."""
        await self.looks.reached()

    async def leg(self, run_id: str) -> float | None:
        """Drive a run as far as it goes, if anything is owed to it.

        It says from when on it is to go on again, in seconds since 1970; None is when somebody has
        spoken.
        """
        now, run = self._clock.now(), await self._reading.listed(run_id)
        if run is None or run.status in ENDED or run_id in self._here:
            return None
        if self.is_halted or run.agent not in self._reading.legs:
            return now + ELSEWHERE_S
        if run.wake_at is not None and run.wake_at > now:
            return run.wake_at
        is_quiet = run.status == "waiting" and run.wake_at is None
        if is_quiet and not await self._reading.is_outdated(run):
            return None
        inbox = self._here[run_id] = AsyncInbox()
        task = asyncio.create_task(self._driven(run, inbox), name=f"detent run {run_id}")
        self._tasks[task] = run_id
        task.add_done_callback(self._tasks.pop)
        # RULE: what the engine thinks of a worker ends no leg. One that slept has lost its run to
        # another, perhaps, and is to tell that one what it knows; it finds out by the journal.
        return await asyncio.shield(task)

    async def leg_and_wake(self, run_id: str) -> None:
        """The same, and have the engine know from when on it is to go on again."""
        at = await self.leg(run_id)
        if at is not None and (run := await self._reading.listed(run_id)) is not None:
            await self.go_on(run, at)

    async def _driven(self, run: StoredRun, inbox: AsyncInbox) -> float | None:
        try:
            return await self._left(run.run_id, await self._leg(run, inbox))
        except RunOfEngineError as error:  # nobody here can go on with it, and people are to know
            self.faults.add(run.run_id, type(error).__name__)
            return None
        except (RunBusyError, JournalConflictError, RunNotFoundError):
            self.faults.drop(run.run_id)  # somebody else has it
            return None
        except BaseException as error:
            if is_cancelled(error):  # in a hurry, at the end
                return self._clock.now()
            LOGGER.debug("run %s could not go on: %s", run.run_id, trail_of(error))
            # whatever it is, the run is tried again
            at = self.faults.add(run.run_id, type(error).__name__)
            if is_stop(error):
                raise
            return at
        finally:
            del self._here[run.run_id]

    async def _leg(self, run: StoredRun, inbox: AsyncInbox) -> int:
        """Whoever has the run, and may not have heard, is waited for a moment."""
        leg = (self._reading.legs[run.agent], self._channels, self.faults, run.run_id, inbox)
        for pause_s in BUSY_S:
            try:
                return await drive(*leg)
            except RunBusyError:
                await asyncio.sleep(pause_s)
        return await drive(*leg)

    async def _left(self, run_id: str, length: int) -> float | None:
        """From when on a run is to go on that was left behind so many entries."""
        run = await self._reading.listed(run_id)
        if run is None or run.status != "running" or run.wake_at is not None:
            self.faults.drop(run_id)
            return None if run is None else run.wake_at
        if run.length == length and not self.is_halted:
            return self.faults.add(run_id, "it has stopped")
        return self._clock.now()  # somebody has spoken at the last moment

    async def halt(self, drain_s: float) -> None:
        """Begin nothing more, hear out what is at work, and give the runs back.

        After `drain_s` what is still at work is cancelled, and recorded as far as it is known.
        """
        self.is_halted = True
        self.looks.end()
        for inbox in self._here.values():
            halt(inbox)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=drain_s)
            self.cancel()

    def cancel(self) -> None:
        """Cancel what is at work. What is known of it is recorded."""
        for task, run_id in self._tasks.items():
            leave(run_id, task)
