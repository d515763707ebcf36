"""Stored runs: what every host does that has its runs in a journal, whoever drives them."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

from attrs import evolve

from detent.adapters.agent.agent import Agent
from detent.adapters.drivers.leases import keeper_of
from detent.adapters.hosts.channels import Channels
from detent.adapters.hosts.faults import Faults, HostHealth
from detent.adapters.hosts.finder import Finder
from detent.adapters.hosts.legs import Legs
from detent.adapters.hosts.looks import Looks, QuestionLooks
from detent.adapters.hosts.noticed import NoticedJournal
from detent.adapters.hosts.people import People, Spoken, spoken
from detent.adapters.hosts.reading import Reading, asked
from detent.adapters.hosts.registry import NAMELESS, alias_in, hosted_agents, with_nameless
from detent.adapters.hosts.releases.asking import AskingAnew
from detent.adapters.hosts.starting import (
    Drives,
    NewRun,
    Starting,
    other_agent,
    too_many_write,
    unknown_run,
)
from detent.adapters.system.chance import SystemChance
from detent.adapters.system.clocks import SystemClock
from detent.adapters.telemetry.flushing import flush
from detent.adapters.telemetry.gauges import measured
from detent.core.run.events import MessageReceived
from detent.ports.chance import Chance
from detent.ports.chat import Messages
from detent.ports.clock import Clock
from detent.ports.hosting import (
    Accepted,
    Fork,
    HostedAgent,
    HostedRun,
    HostRefusal,
    PendingQuestion,
    RunProof,
    Sent,
    Watched,
)
from detent.ports.journal import Journal, JournalConflictError, JournalUnavailableError
from detent.ports.listing import (
    ENDED,
    Cursor,
    HostNotOpenError,
    HostOpenError,
    RunQuery,
    StoredRun,
    WaitingQuestions,
)
from detent.ports.names import new_name_fault
from detent.ports.pending import OutdatedQuestionError
from detent.ports.results import AgentResult
from detent.ports.telemetry import HostFigures, Telemetry

OTHER = "_OTHER"
"""The type of an error that has no name, as OpenTelemetry's conventions have it."""
NOT_HEARD = HostRefusal("ended", "it has ended")
OPENED = frozenset(
    {"_anew", "_channels", "_legs", "_reading", "_drives", "_driving", "_starting", "_way"}
    | {"_questions"}
)
"""What a host has once it is open."""


def _nothing() -> None:
    """Ends what nobody has begun."""


class StoredHost(ABC):
    """A host whose runs are in a journal: it begins, reads and tells them.

    Who sees that they go on is told by `_open`.
    """

    def __init__(
        self,
        agents: Mapping[str, Agent[Any, Any]],
        journal: Journal,
        *,
        claim_s: float,
        clock: Clock | None,
        chance: Chance | None,
    ) -> None:
        name, given = type(self).__name__, cast(object, agents)
        if not isinstance(given, Mapping):
            kind = type(given).__name__
            raise TypeError(f"agents have names: {name}({{'clerk': agent}}, …), got {kind}")
        if not agents:
            raise ValueError(f"a host needs agents: {name}({{'clerk': agent}}, journal)")
        keeper = keeper_of(journal, claim_s)
        if keeper is None:
            raise ValueError(
                "a host needs a journal with claims, such as SQLiteJournal('runs.db'): without "
                "them two processes may drive one run"
            )
        self._keeper, self._journal, self._agents = keeper, journal, with_nameless(agents)
        self._alias, self._claim_s = alias_in(agents), claim_s
        self._clock, self._chance = clock or SystemClock(), chance or SystemChance()
        self._is_open = self._is_begun = False
        self._end_measuring: Callable[[], object] = _nothing
        self._history = ""  # of which engine the runs are driven by, where by any
        self.is_held = False
        """Once it is closed: whether threads of a library that nobody can end hold the process."""

    @property
    def is_open(self) -> bool:
        """Whether it drives runs, or has others do so."""
        return self._is_open

    if not TYPE_CHECKING:  # what `open` makes is known to checkers

        def __getattr__(self, name: str) -> object:
            if name in OPENED:
                raise HostNotOpenError(
                    f"the {type(self).__name__} is not open: use it in `async with host:`, or "
                    "`await host.open()` first, in the event loop that it is to live in"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Begin to drive runs, in the running event loop.

        Raises:
            HostOpenError: it is open: whoever has opened it closes it, for all who use it.
        """
        if self._is_begun:
            raise HostOpenError(
                f"the {type(self).__name__} is open, or not closed to the end: use it as it "
                "is, and leave `async with` to whoever has opened it, or make another host"
            )
        self._is_begun = True
        try:
            await self._begin()
        except BaseException:
            self._is_begun = False
            raise

    async def _begin(self) -> None:
        self._channels = Channels()
        writes = self._keeper.writes
        journal = NoticedJournal(self._journal, self._channels.written, writes.note)
        self._legs = {
            name: Legs.of(name, agent, journal, self._claim_s, self._history)
            for name, agent in self._agents.items()
        }
        if self._alias:
            self._legs[NAMELESS] = evolve(self._legs[NAMELESS], alias=self._alias)
        self._reading = Reading(journal, self._legs)
        finder = Finder(self._journal, self._keeper, self._legs.keys(), self._clock)
        self._drives = await self._open(finder)
        ask = self._drives.ask_anew
        self._anew = anew = AskingAnew(ask, self._keeper, self._clock, self._read_again)
        reading = evolve(self._reading, outdated=anew.tell, current=anew.drop)
        self._reading = evolve(reading, is_bound=self._drives.is_bound)
        parts = (self._legs, self._reading, self._drives, self._channels)
        self._starting = Starting(*parts)
        self._questions = QuestionLooks(self._reading.questions, self._clock)
        self._is_open = True
        self._end_measuring()
        self._end_measuring = measured(self._telemetries(), self._figures)

    @abstractmethod
    async def _open(self, finder: Finder) -> Drives:
        """Begin to see that runs go on."""

    async def close(self) -> None:
        """End at the next place where nothing is lost, and give the runs back to whoever is next.

        What is at work is heard out for `drain_s`. Afterwards runs can still be read; whoever waits
        for one that has not ended is raised a `HostNotOpenError`.
        """
        self._is_open = False
        if self._is_begun:
            try:
                await self._close()
                self._is_begun = False
            finally:
                self._channels.end()

    @abstractmethod
    async def _close(self) -> None:
        """The same, where it was opened."""

    def _read_again(self, run_id: str) -> None:
        self._reading.read_again(run_id)

    def _looking_back(self, faults: Faults) -> Callable[[], None]:
        """What each look does besides, in a thread: it looks at runs that wait.

        `faults` is what keeps others from going on here.
        """
        sweep = self._reading.sweep(self._clock, faults)

        def look() -> None:
            sweep.look()
            self._anew.look()

        return look

    def _texts(self) -> Mapping[str, str]:
        """By run that waits, the name of what keeps people from answering it here."""
        held = dict.fromkeys(self._anew.held(), OutdatedQuestionError.__name__)
        return {**held, **self._reading.unreadable.texts()}

    async def _flush(self) -> None:
        """Have what was measured of the runs sent, at the end of `close`."""
        await flush(self._telemetries())
        self._end_measuring()

    def _telemetries(self) -> Iterator[Telemetry | None]:
        return (agent.assembly.telemetry for agent in self._agents.values())

    def _figures(self) -> HostFigures:
        """What is measured of it, in any thread."""
        health, asked_for = self.health(), self._questions.now()
        names = (fault if fault.isidentifier() else OTHER for fault in health.faults.values())
        count = None if asked_for is None else asked_for.count
        waited = None if asked_for is None else asked_for.waited_s(self._clock.now())
        faults = Counter(names) + Counter(health.more_faults)
        figures = (health.is_ready, health.running, health.waiting, faults)
        return HostFigures(*figures, count, waited)

    @abstractmethod
    def hurry(self) -> None:
        """While it closes: wait no longer for what is at work, and cancel it."""

    @abstractmethod
    def health(self) -> HostHealth:
        """How it is."""

    def _health(
        self, looks: Looks, running: int, waiting: int, faults: Mapping[str, str]
    ) -> HostHealth:
        """The same, where that is how many runs go on and wait here, and what keeps others."""
        unready = looks.trouble if self._is_open else "this host is closed: ask another one"
        all_of_them, more = {**self._texts(), **faults}, self._reading.unreadable.more()
        return HostHealth(not unready, running, waiting, all_of_them, unready, more)

    async def questions(self) -> WaitingQuestions | None:
        """How many questions wait in the store.

        Where it takes longer than two seconds to say so, what it said last, no more than ten
        minutes ago: `at` is when. None where that is not known, or the store is away.
        """
        return await self._questions.now_async()

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
        """As `Host.start` says."""
        for what, given in (("run_id", run_id), ("thread_id", thread_id)):
            if given is not None and (fault := new_name_fault(what, given)):
                return HostRefusal("invalid", fault)
        name = self._chance.new_id() if run_id is None else run_id
        new = StoredRun(name, 0, "running", self._clock.now(), agent, thread_id or "")
        return await self._starting.start(NewRun(new, messages, state, None, started_by))

    async def send(self, run_id: str, said: Sent) -> Accepted | HostRefusal:
        """As `Host.send` says."""
        if isinstance(said, Fork):
            return await self._starting.fork(run_id, said, self._chance.new_id())
        run = await self._reading.listed(run_id)
        if run is None:
            return unknown_run(run_id)
        if run.agent not in self._legs:
            return other_agent(run, self._legs)
        heard = spoken(said)
        if isinstance(heard, HostRefusal):
            return heard
        came: Accepted | HostRefusal = NOT_HEARD
        if run.status not in ENDED or not isinstance(heard, MessageReceived):
            legs = self._legs[run.agent]
            try:
                came = await self._say(run, heard, People(legs.assembly, legs.require_own))
            except JournalConflictError:  # again and again, for seconds
                return too_many_write(run_id)
        if isinstance(came, HostRefusal) and came.why == "outdated":
            await asked(partial(self._read_again, run_id))
        is_late = isinstance(came, HostRefusal) and came.why == "ended"
        if is_late and isinstance(heard, MessageReceived):
            return await self._starting.say(run_id, heard, self._chance.new_id())
        return came

    async def _say(self, run: StoredRun, said: Spoken, people: People) -> Accepted | HostRefusal:
        """Write to the journal what is said to a run, and have it go on."""
        written = await people.write_async(run.run_id, said)
        if isinstance(written, HostRefusal):
            return written
        if not self._drives.hear(run.run_id, written.event):
            # RULE: it is written, and is not said twice. A look finds it once the store is back
            with suppress(JournalUnavailableError):
                now = await self._reading.listed(run.run_id)
                if now is not None and now.status == "running":
                    await self._drives.go_on(now)
        return Accepted(run.run_id)

    def watch(self, run_id: str, after: int | None = None) -> AsyncGenerator[Watched]:
        """As `Host.watch` says."""
        return self._reading.watch(run_id, after, self._channels)

    async def result(self, run_id: str, timeout: float | None = None) -> AgentResult[Any, Any]:  # noqa: ASYNC109 - as the port says
        """As `Host.result` says."""
        async with asyncio.timeout(timeout):
            return await self._reading.result(run_id, self._channels)

    async def run(self, run_id: str, length: int | None = None) -> HostedRun:
        """As `Host.run` says."""
        return await self._reading.run(run_id, length)

    async def verify(self, run_id: str) -> RunProof:
        """As `Host.verify` says."""
        return await self._reading.verify(run_id)

    async def runs(
        self,
        status: str | None = None,
        *,
        agent: str | None = None,
        thread_id: str | None = None,
        label: str | None = None,
        before: StoredRun | Cursor | None = None,
        limit: int = 50,
    ) -> Sequence[StoredRun]:
        """As `Host.runs` says."""
        return await self._reading.runs(
            RunQuery(status, agent, thread_id, before, limit, label=label)
        )

    async def pending(
        self,
        *,
        agent: str | None = None,
        thread_id: str | None = None,
        before: StoredRun | Cursor | None = None,
        limit: int = 50,
    ) -> Sequence[PendingQuestion]:
        """As `Host.pending` says."""
        return await self._reading.pending(RunQuery(None, agent, thread_id, before, limit))

    async def agents(self) -> Sequence[HostedAgent]:
        """As `Host.agents` says."""
        return await asked(partial(hosted_agents, self._agents))


@asynccontextmanager
async def opened(host: object) -> AsyncGenerator[None]:
    """While an app of a host is served: the host, unless somebody else has opened it."""
    if isinstance(host, StoredHost) and not host.is_open:
        async with host:
            yield
    else:
        yield
