"""The host in this process: runs go on as asyncio tasks, and any store keeps them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from inspect import iscoroutinefunction
from typing import Any

from detent.adapters.agent.agent import Agent
from detent.adapters.drivers.leases import CLAIM_S
from detent.adapters.hosts.driving import Driving, KeyOf
from detent.adapters.hosts.faults import HostHealth
from detent.adapters.hosts.finder import Finder
from detent.adapters.hosts.people import People, Spoken
from detent.adapters.hosts.places import HostLimits, Places
from detent.adapters.hosts.stored import StoredHost
from detent.ports.chance import Chance
from detent.ports.clock import Clock
from detent.ports.hosting import Accepted, HostRefusal
from detent.ports.journal import Journal, JournalUnavailableError
from detent.ports.listing import StoredRun


def _no_key(run: StoredRun) -> str:
    return ""


class LocalHost(StoredHost):
    """Runs of agents that live in this process and in a journal: ``async with LocalHost(…)``.

    It goes on with runs whose process has died, with those that somebody has decided about, and
    with those whose wait is over. A run that waits for a human takes no task. Other processes may
    have hosts on the same journal: each run is driven by one of them.

    Args:
        agents: by the names that runs are started with.
        journal: where the runs are; one with claims, as all that come with Detent.
        limits: how much goes on at once.
        key_of: what a run shares its `per_key` places with, made of what a list says of it.
        look_s: how often the store is looked at for what other processes have left.
        drain_s: how long what is at work is waited for when the host ends.
        claim_s: how long a run stays with this process when that falls silent.
        clock: the time.
        chance: gives new ids.

    Raises:
        TypeError: `key_of` is no function, or a coroutine function.
        ValueError: the journal has no claims, or there is no agent.
    """

    def __init__(
        self,
        agents: Mapping[str, Agent[Any, Any]],
        journal: Journal,
        *,
        limits: HostLimits | None = None,
        key_of: KeyOf = _no_key,
        look_s: float = 1.0,
        drain_s: float = 30.0,
        claim_s: float = CLAIM_S,
        clock: Clock | None = None,
        chance: Chance | None = None,
    ) -> None:
        super().__init__(agents, journal, claim_s=claim_s, clock=clock, chance=chance)
        ways = (key_of, type(key_of).__call__) if callable(key_of) else ()
        if not ways or any(map(iscoroutinefunction, ways)):
            got = f"got {key_of!r:.80}"
            raise TypeError(f"key_of gives its key at once: write it as a `def`, {got}")
        self._places = Places(limits or HostLimits())
        self._key_of, self._look_s, self._drain_s = key_of, look_s, drain_s
        self._looking: asyncio.Task[None] | None = None

    async def _open(self, finder: Finder) -> Driving:
        self._driving = Driving(
            *(self._legs, self._reading, self._channels, self._places, finder),
            key_of=self._key_of,
            clock=self._clock,
            look_s=self._look_s,
        )
        also = self._looking_back(self._driving.faults)
        looking = self._driving.looks.for_ever(self._driving.look, also, self._keeper.writes)
        self._looking = asyncio.create_task(looking, name="detent host")
        return self._driving

    async def _say(self, run: StoredRun, said: Spoken, people: People) -> Accepted | HostRefusal:
        came = await super()._say(run, said, people)
        with suppress(JournalUnavailableError):  # it is said; the next look finds what has ended
            await self._driving.drop_ended([run.run_id])
        return came

    async def _close(self) -> None:
        if self._looking is not None:
            await self._anew.close()
            await self._driving.halt(self._drain_s)
            await self._looking
            self._looking = None
            await self._flush()

    def hurry(self) -> None:
        """While it closes: wait no longer for what is at work, and cancel it."""
        self._driving.cancel()

    def health(self) -> HostHealth:
        """How it is."""
        driving, places = self._driving, self._places
        faults = driving.faults.texts()
        return self._health(driving.looks, places.running, places.waiting, faults)
