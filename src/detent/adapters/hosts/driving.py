"""Driving: the runs that go on in this process, within limits, and those that are to go on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import TypeAlias

from attrs import define, field

from detent.adapters.drivers.asyncio import AsyncInbox
from detent.adapters.hosts.channels import Channels
from detent.adapters.hosts.faults import Faults
from detent.adapters.hosts.finder import Finder
from detent.adapters.hosts.legs import AnyHandle, Legs, drive, halt, leave, tell
from detent.adapters.hosts.looks import Looks
from detent.adapters.hosts.places import Group, Places
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

TOLD_S, TOLD_MAX_S = 0.05, 1.0
"""After how long a run is tried again that was told something while another process had it: at
first, and at last."""
KeyOf: TypeAlias = Callable[[StoredRun], str]
"""What a run shares its places with: a tenant, say. It is made of what a list says of the run."""


@define(eq=False)
class _Leg:
    """A run that is to go on here, or does so by a task."""

    group: Group
    inbox: AsyncInbox = field(factory=asyncio.Queue)
    when_busy: Callable[[], object] | None = None
    task: asyncio.Task[None] | None = None


class Driving:
    """Drives runs in the running event loop.

    Attributes:
        places: who may go on.
        faults: by run, what keeps it from going on; each is tried again, later and later.
        looks: when the store is looked at.
    """

    def __init__(
        self,
        legs: Mapping[str, Legs],
        reading: Reading,
        channels: Channels,
        places: Places,
        finder: Finder,
        *,
        key_of: KeyOf,
        clock: Clock,
        look_s: float,
    ) -> None:
        self._legs, self._reading, self._channels = legs, reading, channels
        self.places, self._key_of = places, key_of
        self._here: dict[str, _Leg] = {}
        self._at_work: dict[_Leg, str] = {}
        self._is_halted, self._coming = False, 0
        self.faults, self.looks = Faults(clock), Looks(finder, clock, look_s)

    def refusal(self) -> HostRefusal | None:
        """Why no run is begun now."""
        if self._is_halted:
            return HostRefusal("shutting_down", "this host is shutting down: ask another one")
        # RULE: who is being written down waits already: many who come at once are not all let in
        if (waiting := self.places.waiting + self._coming) >= self.places.limits.waiting:
            return HostRefusal("full", f"{waiting} runs wait for a place here: try again later")
        return None

    async def begin(self, run: StoredRun, begin: Callable[[], Awaitable[AnyHandle]]) -> None:
        """Begin a run, which goes on at once, or once there is a place."""
        group = self._group_of(run)
        if not self.places.has_room(group):
            self._coming += 1
            try:
                await (await begin()).leave_async()
                self.add(run)
            finally:
                self._coming -= 1
            return
        self.places.hold(group)
        try:
            handle = await begin()
        except BaseException:
            self._release(group)
            raise
        self._go(run.run_id, _Leg(group), handle)

    def _release(self, group: Group) -> None:
        """A place that was held is not needed any more."""
        self.places.release(group)
        self._fill()

    def _group_of(self, run: StoredRun) -> Group:
        """What a run shares its places with. Raises ValueError where `key_of` does not say it."""
        try:
            group = run.agent, self._key_of(run)
            hash(group)
        except BaseException as error:
            if is_stop(error):
                raise
            text = f"key_of of this host has no key for run {run.run_id!r}: {error!r:.200}"
            raise ValueError(text) from error
        return group

    def add(self, run: StoredRun) -> None:
        """Have a run go on once there is a place, unless it is here or this process ends."""
        if run.run_id in self._here or self._is_halted:
            return
        try:
            group = self._group_of(run)
        except ValueError as error:  # it holds up no other run
            self.faults.add(run.run_id, str(error))
            return
        leg = self._here[run.run_id] = _Leg(group)
        self.places.add(run.run_id, leg.group)
        self._fill()

    async def ask_anew(self, run: StoredRun) -> None:
        """Have a run put its question anew."""
        self.add(run)

    async def go_on(self, run: StoredRun) -> None:
        """The same of one that somebody has just spoken to."""
        self._add_told(run)

    def _add_told(self, run: StoredRun, pause_s: float = TOLD_S) -> None:
        """Whoever drives it elsewhere may be leaving it, and not have heard.

        It is tried again soon, and later by whoever looks.
        """
        self.add(run)
        leg = self._here.get(run.run_id)
        if leg is not None and pause_s <= TOLD_MAX_S:
            later = partial(self._add_told, run, 2 * pause_s)
            leg.when_busy = partial(asyncio.get_running_loop().call_later, pause_s, later)

    def _fill(self) -> None:
        """Let those go on for whom there are places."""
        while not self._is_halted and (taken := self.places.take()) is not None:
            run_id, _ = taken
            self._go(run_id, self._here[run_id], None)

    def is_bound(self, run_id: str) -> bool:
        """It never is: a leg follows what is stored, by the rules that are here."""
        return False

    def hear(self, run_id: str, event: Event) -> bool:
        """Tell a run that goes on here what somebody has said, and is written down."""
        leg = self._here.get(run_id)
        if leg is None:
            return False
        tell(leg.inbox, event)
        self.faults.drop(run_id)
        return True

    async def drop_ended(self, run_ids: Iterable[str]) -> None:
        """Have those of these runs wait for no place that have ended, here or elsewhere."""
        for run_id in run_ids:
            if not self._waits(run_id):
                continue
            run = await self._reading.listed(run_id)
            if (run is None or run.status in ENDED) and self._waits(run_id):
                self.places.remove(run_id, self._here.pop(run_id).group)

    def _waits(self, run_id: str) -> bool:
        """Whether a run waits here for a place."""
        leg = self._here.get(run_id)
        return leg is not None and leg.task is None

    def _go(self, run_id: str, leg: _Leg, handle: AnyHandle | None) -> None:
        self._here[run_id], self._at_work[leg] = leg, run_id
        name = f"detent run {run_id}"
        leg.task = asyncio.create_task(self._drive(run_id, leg, handle), name=name)

    async def _drive(self, run_id: str, leg: _Leg, handle: AnyHandle | None) -> None:
        try:
            legs = self._legs[leg.group[0]]
            run = (self._channels, self.faults, run_id, leg.inbox)
            length = await drive(legs, *run, handle=handle)
            await self._left(run_id, length)
        except RunOfEngineError as error:  # nobody here can go on with it, and people are to know
            self.faults.add(run_id, type(error).__name__)
        except (RunBusyError, JournalConflictError, RunNotFoundError) as error:
            self.faults.drop(run_id)  # somebody else has it
            if isinstance(error, RunBusyError) and leg.when_busy is not None:
                leg.when_busy()
        except BaseException as error:
            if not is_cancelled(error):  # whatever it is, the run is tried again
                self.faults.add(run_id, type(error).__name__)
                LOGGER.debug("run %s could not go on: %s", run_id, trail_of(error))
            if is_stop(error):
                raise
        finally:
            del self._at_work[leg]
            if self._here.get(run_id) is leg:  # else it was deleted, and another has its id
                del self._here[run_id]
            self._release(leg.group)

    async def _left(self, run_id: str, length: int) -> None:
        """A leg has ended, behind so many entries: the run has ended, or waits.

        Or somebody has spoken at the last moment; then it goes on.
        """
        run = await self._reading.listed(run_id)
        is_owed = run is not None and run.status == "running" and run.wake_at is None
        if run is None or not is_owed:
            self.faults.drop(run_id)
        elif run.length == length and not self._is_halted:
            self.faults.add(run_id, "it has stopped")
        if run is not None and (is_owed or run.wake_at is not None):
            self.looks.hurry()

    async def look(self) -> None:
        """Look once."""
        found = await self.looks.found(lambda: self._here.keys() | self.faults.resting())
        await self.drop_ended(self.looks.unlisted)
        for run in found:
            if self.places.waiting >= self.places.limits.waiting:
                break  # they are in the store, and found again
            self.add(run)

    async def halt(self, drain_s: float) -> None:
        """Begin nothing more, hear out what is at work, and give the runs back.

        After `drain_s` what is still at work is cancelled, and recorded as far as it is known.
        """
        self._is_halted = True
        self.looks.end()
        for leg in self._at_work:
            halt(leg.inbox)
        if tasks := [leg.task for leg in self._at_work if leg.task is not None]:
            await asyncio.wait(tasks, timeout=drain_s)
            self.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def cancel(self) -> None:
        """Cancel what is at work. What is known of it is recorded."""
        for leg, run_id in self._at_work.items():
            if leg.task is not None:
                leave(run_id, leg.task)
