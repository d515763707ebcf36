"""An engine that is played: it keeps what it gave, and gives the same again to another inside."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from attrs import define, field

from detent import Agent
from detent.adapters.hosts.channels import Channels
from detent.adapters.hosts.effects.contract import new_run
from detent.adapters.hosts.effects.history import Json
from detent.adapters.hosts.effects.inside import MAIL, Inside
from detent.adapters.hosts.effects.outcomes import is_fault
from detent.adapters.hosts.effects.outside import Outside
from detent.adapters.hosts.effects.parts import EffectParts
from detent.adapters.hosts.faults import Faults
from detent.adapters.system.clocks import SystemClock
from detent.journals import Journal

Given = tuple[list[str], dict[str, Any], float]
"""Which came first, what came of them, and the time then."""


@define(eq=False)
class Flight:
    """What is under way."""

    task: asyncio.Future[Any]

    def result(self) -> Any:
        """What came of it."""
        return self.task.result()


@define(eq=False)
class Played:
    """An engine in memory. `mail` takes what is said; `lost` names jobs whose worker dies.

    Those that are `kept` as well it has written into the journal before.

    Waits whose names begin with one of `endless` are over after all else. Those of `unheard` were
    never begun by their worker, and those of `held` are not, before they may. One that `is_patient`
    has a job that a fault was in the way of performed again by itself, unless it is a tool.
    """

    outside: Outside
    lost: set[str] = field(factory=set)
    kept: set[str] = field(factory=set)
    unheard: set[str] = field(factory=set)
    held: dict[str, asyncio.Event] = field(factory=dict)
    mail: asyncio.Queue[Any] = field(factory=asyncio.Queue)
    history: list[Given] = field(factory=list)
    jobs: list[Json] = field(factory=list)
    length_max: int = 10_000
    room: int | None = None
    endless: tuple[str, ...] = ()
    is_patient: bool = False
    _at: float = 1_800_000_000.0

    def now(self) -> float:
        """A second for each thing that came."""
        return self._at

    def number(self) -> float:
        """Always the same."""
        return 0.5

    def is_long(self) -> bool:
        """After so many jobs."""
        return len(self.jobs) >= self.length_max

    def begin(self, name: str, job: Json, *, is_once: bool) -> Flight:
        """A job, which travels as JSON."""
        job = json.loads(json.dumps(job))
        self.jobs.append(job)
        return Flight(asyncio.ensure_future(self._performed(name, job, is_once=is_once)))

    async def _performed(self, name: str, job: Json, *, is_once: bool) -> Json:
        if name in self.unheard:
            self.unheard.discard(name)
            return {"later": "it was not begun"}
        if (held := self.held.pop(name, None)) is not None:
            await held.wait()
            self.lost.discard(name)
            return {"lost": "its worker was given up"}
        came = json.loads(json.dumps(await self.outside.perform(job)))
        while self.is_patient and is_fault(came) and not is_once:
            await asyncio.sleep(0)
            came = json.loads(json.dumps(await self.outside.perform(job)))
        if name in self.kept:
            late = self.outside.late(job, came)
            if late is not None:
                await self.outside.keep(job, late)
        if name in self.lost:
            self.lost.discard(name)
            return {"lost": "its worker died"} if is_once else {"later": "its worker died"}
        return dict(came)

    def sleep(self, name: str, until: float) -> Flight:
        """Is over when nothing else happens."""
        if name.startswith(self.endless):
            return Flight(asyncio.get_running_loop().create_future())

        async def sleep() -> None:
            await asyncio.sleep(0.01)
            self._at = max(self._at, until)

        return Flight(asyncio.ensure_future(sleep()))

    def hear(self) -> Flight:
        """The next of the mail."""
        return Flight(asyncio.ensure_future(self.mail.get()))

    async def first(self, futures: Mapping[str, Any]) -> Sequence[str]:
        """Keeps what came, and in which order."""
        tasks = [one.task for one in futures.values()]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        names = [name for name, one in futures.items() if one.task.done()]
        self._at += 1.0
        came = {name: futures[name].result() for name in names}
        self.history.append((names, came, self._at))
        return names

    def drop(self, future: Any) -> None:
        """Cancel it."""
        future.task.cancel()


@define(eq=False)
class Again:
    """The same history once more: nothing is performed, and nothing is asked for."""

    history: list[Given]
    room: int | None = None
    jobs: list[Json] = field(factory=list)
    _at: float = 1_800_000_000.0
    _place: int = 0

    def now(self) -> float:
        """As it was."""
        return self._at

    def number(self) -> float:
        """As it was."""
        return 0.5

    def is_long(self) -> bool:
        """One history is followed."""
        return False

    def begin(self, name: str, job: Json, *, is_once: bool) -> Flight:
        """It is known what came of it, if anything did."""
        self.jobs.append(json.loads(json.dumps(job)))
        return self.hear()

    def sleep(self, name: str, until: float) -> Flight:
        """As above."""
        return self.hear()

    def hear(self) -> Flight:
        """As above."""
        return Flight(asyncio.get_running_loop().create_future())

    async def first(self, futures: Mapping[str, Any]) -> Sequence[str]:
        """As it was; what is not asked for any more says that the history is another one."""
        if self._place == len(self.history):
            raise EOFError
        names, came, self._at = self.history[self._place]
        self._place += 1
        for name in names:
            said = came[name]
            futures[name].task.set_result((said[0], None) if name == MAIL else said)
        return names

    def drop(self, future: Any) -> None:
        """Nobody waits for it."""


@define(eq=False)
class Stage:
    """A run of an agent, followed in a played engine, with a journal."""

    agent: Agent[Any, Any]
    journal: Journal
    engine: Played = field(init=False)
    parts: dict[str, EffectParts] = field(init=False)

    def __attrs_post_init__(self) -> None:
        assembly = self.agent.evolve(journal=self.journal, name="it").assembly
        self.parts = {"it": EffectParts(assembly, assembly.current_spec)}
        self.engine = Played(Outside(self.parts, Channels(), Faults(SystemClock())))

    async def given(self, said: str = "go") -> Json:
        """A new run, which is in the journal."""
        assembly = self.parts["it"].assembly
        agent = self.agent.evolve(journal=self.journal, name="it")
        handle = agent.begin(said, run_id="r")
        made = new_run(assembly.current_spec, "it", handle.session.run, 1)
        await handle.leave_async()
        return dict(json.loads(json.dumps(made)))

    def inside(self, given: Json, engine: Any = None) -> Inside:
        """Who follows it."""
        return Inside(self.parts["it"].spec, given, engine or self.engine)

    async def again(self, given: Json) -> tuple[Inside, Again]:
        """The same history once more."""
        engine = Again(list(self.engine.history), self.engine.room)
        inside = self.inside(given, engine)
        with suppress(EOFError):
            await inside.follow()
        return inside, engine

    async def asked(self) -> None:
        """Until the journal says that a human is asked."""
        agent = self.agent.evolve(journal=self.journal, name="it")
        while not agent.pending("r"):  # noqa: ASYNC110 - it comes in this loop
            await asyncio.sleep(0)
