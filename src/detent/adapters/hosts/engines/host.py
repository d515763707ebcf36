"""A host on an engine: what all of them share."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, Literal, TypeAlias, TypedDict

from detent.adapters.agent.agent import Agent
from detent.adapters.drivers.leases import CLAIM_S
from detent.adapters.hosts.effects.contract import require_followable
from detent.adapters.hosts.effects.driving import EffectsDriving, EveryRun, HistoryKeeper
from detent.adapters.hosts.effects.outside import Outside
from detent.adapters.hosts.effects.parts import EffectParts
from detent.adapters.hosts.engines.driving import EngineDriving, Wake
from detent.adapters.hosts.engines.reach import Reach
from detent.adapters.hosts.faults import Faults, HostHealth
from detent.adapters.hosts.finder import Finder
from detent.adapters.hosts.looks import Looks
from detent.adapters.hosts.people import People, Spoken
from detent.adapters.hosts.reading import asked
from detent.adapters.hosts.stored import StoredHost
from detent.core.errors import DetentError
from detent.ports.chance import Chance
from detent.ports.clock import Clock
from detent.ports.hosting import Accepted, HostRefusal
from detent.ports.journal import Journal
from detent.ports.listing import StoredRun

Leg: TypeAlias = Callable[[str], Awaitable[float | None]]
"""Drives a run as far as it goes, and says from when on it is to go on again."""


Mode: TypeAlias = Literal["legs", "effects"]
"""What an engine keeps of a run: when it goes on, or each of its effects."""


class EngineUnavailableError(DetentError, RuntimeError):
    """An engine cannot be reached when its host is opened; what its library says is the cause."""

    def __init__(self, engine: str, place: str, cause: Exception) -> None:
        said = next(iter(str(cause).splitlines()), type(cause).__name__)
        super().__init__(f"{engine} cannot be reached{place}: {said}; start it, or say where it is")


class EngineOptions(TypedDict, total=False):
    """What every host on an engine can be told.

    Attributes:
        works: whether runs go on in this process as well. A web service that only begins runs and
            decides says False. The default is True.
        running: how many runs go on in this process at once; 256 by default.
        look_s: how often a worker looks in the store for runs that nobody drives: those of which
            the engine was never told, because a process died in between, or somebody decided at
            the command line. 4 seconds by default.
        drain_s: how long what is at work is waited for when the host ends; 30 by default.
        claim_s: how long a run stays with a process that falls silent; 15 by default.
        clock: the time.
        chance: gives new ids.
    """

    works: bool
    running: int
    look_s: float
    drain_s: float
    claim_s: float
    clock: Clock | None
    chance: Chance | None


class EngineHost(StoredHost):
    """A host whose runs are driven by workers that an engine gives them to.

    By legs, the journal is the truth: each leg of a run ends where a human is asked, or where it
    waits, and the next one may be anywhere. By effects, the engine's history is: each call of a
    model or tool, and each wait, is a step of it, and the journal follows, for whoever looks. All
    processes must reach the same journal.

    Raises:
        EffectsRefusedError: by effects, when it is opened: an agent has hooks, or the journal seals
            or redacts what it keeps.
        EngineUnavailableError: nobody answers where the engine should be, when it is opened.
        ValueError: the journal has no claims, there is no agent, or `running` is below 1.
    """

    def __init__(
        self,
        agents: Mapping[str, Agent[Any, Any]],
        journal: Journal,
        *,
        works: bool = True,
        running: int = 256,
        look_s: float = 4.0,
        drain_s: float = 30.0,
        claim_s: float = CLAIM_S,
        clock: Clock | None = None,
        chance: Chance | None = None,
        mode: Mode = "legs",
    ) -> None:
        super().__init__(agents, journal, claim_s=claim_s, clock=clock, chance=chance)
        if running < 1:
            raise ValueError(f"'running' is 1 or more, got {running!r}")
        if mode not in {"legs", "effects"}:
            raise ValueError(f'\'mode\' is "legs" or "effects", got {mode!r}')
        self._mode: Mode = mode
        self._history = self.engine_name if mode == "effects" else ""
        self._works, self._running = works, running
        self._look_s, self._drain_s = look_s, drain_s
        self._looking: asyncio.Task[None] | None = None
        self._reach: Reach | None = None

    engine_name: ClassVar[str]
    """What people call the engine."""
    _way: EngineDriving | EffectsDriving

    async def _open(self, finder: Finder) -> EngineDriving | EffectsDriving:
        if self._mode == "effects":
            every = Finder(self._journal, EveryRun(), self._legs.keys(), self._clock)
            looks = Looks(every, self._clock, self._look_s)
            self._way = await self._open_effects(looks)
        else:
            looks = Looks(finder, self._clock, self._look_s)
            parts = (self._reading, self._channels, looks, self._wake, self._clock)
            self._way = self._driving = driving = EngineDriving(*parts, is_away=self._is_away)
            await self._connect(driving.leg if self._works else None)
        look = self._way.look if self._works else self._way.reached
        also = self._looking_back(self._way.faults)
        looking = looks.for_ever(look, also, self._keeper.writes)
        self._looking = asyncio.create_task(looking, name="detent host")
        ask = self._answer if self._mode == "legs" else self._effects.answer
        fault = EngineUnavailableError.__name__
        self._reach = reach = Reach(self.engine_name, ask, self._look_s, fault)
        self._reaching = asyncio.create_task(reach.for_ever(), name="detent engine")
        return self._way

    async def _open_effects(self, looks: Looks) -> EffectsDriving:
        assemblies = {name: legs.assembly for name, legs in self._legs.items()}
        require_followable(assemblies, self._journal)
        parts = await asked(
            lambda: {name: EffectParts(one, one.current_spec) for name, one in assemblies.items()}
        )
        outside = Outside(parts, self._channels, Faults(self._clock))
        self._effects = await self._effects_engine(parts, outside)
        await self._effects.connect(works=self._works)
        given = (self._reading, looks, outside, self._effects, self._clock, self._chance)
        return EffectsDriving(parts, *given, self._is_away)

    def _is_away(self) -> bool:
        """Whether the engine is known not to answer."""
        return self._reach is not None and self._reach.is_away

    async def _effects_engine(
        self, parts: Mapping[str, EffectParts], outside: Outside
    ) -> HistoryKeeper:
        """Reach an engine whose history is the truth."""
        raise ValueError(f"{type(self).__name__} has no mode 'effects'")

    async def _say(self, run: StoredRun, said: Spoken, people: People) -> Accepted | HostRefusal:
        if isinstance(self._way, EffectsDriving):
            return await self._way.say(run, said, people)
        return await super()._say(run, said, people)

    @abstractmethod
    async def _connect(self, leg: Leg | None) -> None:
        """Reach the engine, and take runs from it for `leg`, if there is one."""

    @abstractmethod
    async def _wake(self, wake: Wake) -> None:
        """Have the engine give a run to a worker."""

    @abstractmethod
    async def _answer(self) -> str | None:
        """Have the engine answer. Raises where it does not.

        Where it answers, and cannot have any run go on, this says why not.
        """

    @abstractmethod
    async def _disconnect(self) -> None:
        """Take no more runs, and leave the engine."""

    async def _close(self) -> None:
        if self._looking is None:
            return
        looking, self._looking = self._looking, None
        self._was_at_work = self._way.running > 0
        if self._reach is not None:
            await self._reach.end(self._reaching)
        await self._anew.close()
        await self._way.halt(self._drain_s)
        await looking
        await (self._disconnect() if self._mode == "legs" else self._effects.disconnect())
        await self._flush()

    def hurry(self) -> None:
        """While it closes: wait no longer for what is at work, and cancel it."""
        self._way.cancel()

    def health(self) -> HostHealth:
        """How it is. What waits for a place waits in the engine, and is not counted here.

        An engine that does not answer is among the faults, by its name. The host is as ready as
        before: what is begun and decided is in the store, and goes on once the engine is back.
        """
        driving = self._way
        away = {} if self._reach is None else self._reach.texts()
        return self._health(driving.looks, driving.running, 0, driving.texts() | away)
