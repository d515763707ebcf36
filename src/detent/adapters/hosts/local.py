"""The host in this process: runs go on as asyncio tasks, and any store keeps them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import Any, Self

from attrs import frozen

from detent.adapters.agent.agent import Agent
from detent.adapters.drivers.leases import CLAIM_S, keeper_of
from detent.adapters.hosts.channels import Channels
from detent.adapters.hosts.driving import Driving, KeyOf
from detent.adapters.hosts.finder import Finder
from detent.adapters.hosts.legs import Legs
from detent.adapters.hosts.noticed import NoticedJournal
from detent.adapters.hosts.people import People
from detent.adapters.hosts.places import HostLimits, Places
from detent.adapters.hosts.reading import Reading, asked
from detent.adapters.hosts.registry import hosted_agents
from detent.adapters.hosts.starting import NewRun, Starting, other_agent, unknown_run
from detent.adapters.system.chance import SystemChance
from detent.adapters.system.clocks import SystemClock
from detent.core.chat.messages import ChatMessage
from detent.core.result import AgentResult
from detent.ports.chance import Chance
from detent.ports.chat import Messages
from detent.ports.clock import Clock
from detent.ports.hosting import (
    Accepted,
    HostedAgent,
    HostedRun,
    HostRefusal,
    PendingQuestion,
    Sent,
    Watched,
)
from detent.ports.journal import Journal
from detent.ports.listing import Cursor, RunQuery, StoredRun

STALE_LOOKS = 5
"""A host is not ready when so many looks at the store have failed, one after the other."""


@frozen
class HostHealth:
    """How a host is.

    Attributes:
        is_ready: whether it begins runs, and its store could be looked at lately.
        running: how many runs go on here.
        waiting: how many wait here for a place.
        faults: by run, what keeps it from going on: the name of an error.
    """

    is_ready: bool
    running: int
    waiting: int
    faults: Mapping[str, str]


def _no_key(run: StoredRun) -> str:
    return ""


class LocalHost:
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
        if not agents:
            raise ValueError("a host needs agents: LocalHost({'clerk': agent}, journal)")
        keeper = keeper_of(journal, claim_s)
        if keeper is None:
            raise ValueError(
                "a host needs a journal with claims, such as SQLiteJournal('runs.db'): without "
                "them two processes may drive one run"
            )
        self._keeper, self._journal, self._agents = keeper, journal, dict(agents)
        self._claim_s = claim_s
        self._places = Places(limits or HostLimits())
        self._key_of, self._look_s, self._drain_s = key_of, look_s, drain_s
        self._clock, self._chance = clock or SystemClock(), chance or SystemChance()
        self._looking: asyncio.Task[None] | None = None
        self._is_open = False

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Begin to drive runs, in the running event loop."""
        self._channels = Channels()
        journal = NoticedJournal(self._journal, self._channels.written)
        self._legs = {
            name: Legs.of(name, agent, journal, self._claim_s)
            for name, agent in self._agents.items()
        }
        self._reading = Reading(journal, self._legs)
        finder = Finder(self._journal, self._keeper, self._legs.keys(), self._clock)
        self._driving = Driving(
            *(self._legs, self._reading, self._channels, self._places, finder),
            key_of=self._key_of,
            clock=self._clock,
            look_s=self._look_s,
        )
        self._starting = Starting(self._legs, self._reading, self._driving, self._keeper)
        self._is_open = True
        self._looking = asyncio.create_task(self._driving.look_for_ever(), name="detent host")

    async def close(self) -> None:
        """End at the next place where nothing is lost, and give the runs back to whoever is next.

        What is at work is heard out for `drain_s`. Afterwards runs can still be read.
        """
        self._is_open = False
        if self._looking is not None:
            await self._driving.halt(self._drain_s)
            await self._looking
            self._looking = None

    def hurry(self) -> None:
        """While it closes: wait no longer for what is at work, and cancel it."""
        self._driving.cancel()

    def health(self) -> HostHealth:
        """How it is."""
        now, driving = self._clock.now(), self._driving
        is_seen = now - driving.looked_at < STALE_LOOKS * max(self._look_s, 1.0)
        faults = {run_id: fault.text for run_id, fault in driving.faults.items()}
        running, waiting = self._places.running, self._places.waiting
        return HostHealth(self._is_open and is_seen, running, waiting, faults)

    async def start(
        self,
        agent: str,
        messages: Messages,
        *,
        run_id: str | None = None,
        thread_id: str | None = None,
        state: Mapping[str, object] | None = None,
        started_by: str | None = None,
    ) -> Accepted | HostRefusal:
        """As the port says."""
        name, at = run_id or self._chance.new_id(), self._clock.now()
        new = StoredRun(name, 0, "running", at, agent, thread_id or "")
        if thread_id == "" or not isinstance(name, str):
            return HostRefusal("invalid", "run_id and thread_id are names, or are left out")
        return await self._starting.start(NewRun(new, messages, state, None, started_by))

    async def send(self, run_id: str, said: Sent) -> Accepted | HostRefusal:
        """As the port says."""
        if isinstance(said, ChatMessage):
            return await self._starting.say(run_id, said, self._chance.new_id())
        run = await self._reading.listed(run_id)
        if run is None:
            return unknown_run(run_id)
        if run.agent not in self._legs:
            return other_agent(run, self._legs)
        people = People(self._legs[run.agent].assembly)
        event = await asked(partial(people.say, run_id, said))
        if isinstance(event, HostRefusal):
            return event
        if not self._driving.hear(run_id, event):
            now = await self._reading.listed(run_id)
            if now is not None and now.status == "running":
                self._driving.add_told(now)
        return Accepted(run_id)

    def watch(self, run_id: str, after: int | None = None) -> AsyncGenerator[Watched]:
        """As the port says."""
        return self._reading.watch(run_id, after, self._channels)

    async def result(self, run_id: str, timeout: float | None = None) -> AgentResult[Any, Any]:  # noqa: ASYNC109 - as the port says
        """As the port says."""
        async with asyncio.timeout(timeout):
            return await self._reading.result(run_id, self._channels)

    async def run(self, run_id: str) -> HostedRun:
        """As the port says."""
        return await self._reading.run(run_id)

    async def runs(
        self,
        status: str | None = None,
        *,
        agent: str | None = None,
        thread_id: str | None = None,
        before: StoredRun | Cursor | None = None,
        limit: int = 50,
    ) -> Sequence[StoredRun]:
        """As the port says."""
        return await self._reading.runs(RunQuery(status, agent, thread_id, before, limit))

    async def pending(
        self,
        *,
        agent: str | None = None,
        thread_id: str | None = None,
        before: StoredRun | Cursor | None = None,
        limit: int = 50,
    ) -> Sequence[PendingQuestion]:
        """As the port says."""
        return await self._reading.pending(RunQuery(None, agent, thread_id, before, limit))

    async def agents(self) -> Sequence[HostedAgent]:
        """As the port says."""
        return await asked(partial(hosted_agents, self._agents))
