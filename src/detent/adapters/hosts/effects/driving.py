"""Driving by the effects of an engine: it is told of new runs, and of what is said to them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from attrs import frozen

from detent.adapters.drivers.loading import loaded
from detent.adapters.drivers.steps import NO_STEPS, Steps
from detent.adapters.hosts.effects.contract import new_run
from detent.adapters.hosts.effects.history import NOTHING_SAID, Json
from detent.adapters.hosts.effects.lost import Histories, HistoryLostError, LostHistories
from detent.adapters.hosts.effects.outside import Outside
from detent.adapters.hosts.effects.own_rules import MustWaitError
from detent.adapters.hosts.effects.parts import EffectParts
from detent.adapters.hosts.effects.versions import versions_of
from detent.adapters.hosts.faults import TELL_S
from detent.adapters.hosts.legs import AnyHandle
from detent.adapters.hosts.looks import Looks
from detent.adapters.hosts.people import People, Spoken
from detent.adapters.hosts.reading import Reading, asked
from detent.adapters.telemetry.logs import LOGGER
from detent.core.control.decisions import ToolExecutionDecision
from detent.core.errors import AgentChangedError
from detent.core.machine.delegation import unwrap_event
from detent.core.machine.rejudging import is_open
from detent.core.run.events import Event, HumanDecided
from detent.core.storage.journal import event_to_json
from detent.ports.chance import Chance
from detent.ports.clock import Clock
from detent.ports.hosting import Accepted, HostRefusal, TryAgain
from detent.ports.journal import JournalUnavailableError
from detent.ports.listing import StoredRun

PAUSES_S = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""How long it is waited, again and again, until the engine has heard that a run has failed."""
FIRST_PAUSE_S, LAST_PAUSE_S = 5.0, 600.0
"""After how long the engine is told again of a run that stands still: at first, and at most."""


class HistoryKeeper(Histories, Protocol):
    """What an engine is asked for by a host whose runs it drives by their effects."""

    async def connect(self, *, works: bool) -> None:
        """Reach the engine, and take jobs from it."""
        ...

    async def begin(self, given: Json, *, is_again: bool) -> bool:
        """Begin a run, once; `is_again` is one that has failed. Whether it was begun by this."""
        ...

    async def say(self, run_id: str, said: Json) -> bool:
        """Tell a run; whether that has changed it. It is in the history then.

        Raises:
            AgentChangedError: no worker can follow the run, as its agent has changed.
            JournalUnavailableError: the engine is away, or no worker is there to hear it.
        """
        ...

    async def look(self, run: StoredRun, message: Json = NOTHING_SAID) -> None:
        """Have a run that stands still look whether somebody has written to the journal itself.

        `message` has what is known to be written there, and where, or by which versions of its
        tools it is to go on.

        Raises:
            HistoryLostError: the engine has it no more.
        """
        ...

    async def answer(self) -> str | None:
        """Have the engine answer, and nothing else. Raises where it does not.

        Where it answers, and no run goes on by this host, this says why not.
        """
        ...

    async def disconnect(self) -> None:
        """Take no more jobs, hear out those at work, and leave the engine."""
        ...


@frozen
class _Told:
    """That the engine was told of a run of this length which stands still, and when it is again."""

    length: int
    next_at: float = 0.0
    pause_s: float = FIRST_PAUSE_S


class EveryRun:
    """Finds a run free whoever has claimed it: the engine knows who follows it."""

    def require_free(self, run_id: str) -> Steps[None]:
        """It is."""
        return NO_STEPS


class EffectsDriving:
    """Has an engine drive runs. What is said to them counts once the journal has it."""

    def __init__(  # noqa: PLR0917 - what a host is made of
        self,
        parts: Mapping[str, EffectParts],
        reading: Reading,
        looks: Looks,
        outside: Outside,
        engine: HistoryKeeper,
        clock: Clock,
        chance: Chance,
        is_away: Callable[[], bool] = lambda: False,
    ) -> None:
        self._parts, self._reading = parts, reading
        self._outside, self._engine, self._chance = outside, engine, chance
        self.looks, self.faults = looks, outside.faults
        self.is_halted = False
        self._seen: dict[str, int] = {}
        self._told: dict[str, _Told] = {}
        self._clock, self._is_away = clock, is_away
        self._lost = LostHistories(reading, engine, self.go_on, clock)

    @property
    def running(self) -> int:
        """How many effects are at work here."""
        return self._outside.running

    def refusal(self) -> HostRefusal | None:
        """Why no run is begun now."""
        if self.is_halted:
            return HostRefusal("shutting_down", "this host is shutting down: ask another one")
        return None

    async def begin(self, run: StoredRun, begin: Callable[[], Awaitable[AnyHandle]]) -> None:
        """Begin a run in the journal, and then in the engine; a look finds one left in between."""
        handle = await begin()
        given = new_run(self._parts[run.agent].spec, run.agent, handle.session.run, 1)
        await handle.leave_async()
        await self._begun(given)

    async def _begun(self, given: Json) -> None:
        try:
            async with asyncio.timeout(TELL_S):
                await self._engine.begin(given, is_again=False)
        except Exception as error:  # noqa: BLE001 - an engine that is away comes back
            name = type(error).__name__
            LOGGER.warning("the engine could not be told of run %s: %s", given["run_id"], name)

    async def go_on(self, run: StoredRun) -> None:
        """Have a run go on of which the engine may not know, or not know all.

        One of which nothing is written but its beginning may have been begun in the engine, too, by
        a worker that has died since.
        """
        await asked(partial(self._reading.legs[run.agent].require_own, run.run_id))
        if run.length == 1:
            spec = self._parts[run.agent].spec
            at = await asked(partial(loaded, self._reading.journal, spec, run.run_id))
            if at.length == 1:
                await self._begun(new_run(spec, run.agent, at.run, 1))
        await self._engine.look(run)

    def hear(self, run_id: str, event: Event) -> bool:
        """Nobody drives runs here: what is said goes to the engine."""
        return False

    async def say(self, run: StoredRun, said: Spoken, people: People) -> Accepted | HostRefusal:
        """Write to the journal what somebody says, if it counts, and have the run hear of it.

        RULE: what is accepted is in the journal, where the first one counts, whoever writes there.
        What a run has heard alone could come behind what others have written there meanwhile.
        """
        try:
            if isinstance(said, TryAgain):
                return await self._again(run, said, people)
            await asked(partial(self._reading.legs[run.agent].require_own, run.run_id))
            lost = await self._require_known(run)
            if isinstance(said, ToolExecutionDecision):
                refusal = await self._refusal_anew(run, said, people)
                if refusal is not None:
                    return refusal
        except AgentChangedError as error:
            return HostRefusal("unreadable", str(error))
        written = await people.write_async(run.run_id, said)
        if isinstance(written, HostRefusal):
            return written
        if lost is not None:  # the journal alone has heard it, and may have ended the run by it
            return Accepted(run.run_id, text=await self._lost.sentence(run, lost))
        await self._tell(run, self._message(run, [written.event]) | {"at": written.position})
        return Accepted(run.run_id)

    async def _require_known(self, run: StoredRun) -> HistoryLostError | None:
        """Make sure that the engine has a run, and that its agent is here as it was.

        RULE: what people say is taken also where the engine has lost the run, as only they may be
        able to say it; whoever takes the run over finds it. They are told that it is for them.
        """
        if run.length == 1:  # RULE: nobody begins it once more is written of it
            spec = self._parts[run.agent].spec
            at = await asked(partial(loaded, self._reading.journal, spec, run.run_id, 1))
            await self._engine.begin(new_run(spec, run.agent, at.run, 1), is_again=False)
        try:
            await self._require_followable(run)
        except HistoryLostError as error:
            return error
        return None

    async def _require_followable(self, run: StoredRun) -> None:
        """As the engine says; whoever looks is told of a run that only others can follow."""
        try:
            await self._engine.require_followable(run.run_id)
        except AgentChangedError as error:
            self._engine.changed.find(run.run_id, str(error))
            raise

    async def _tell(self, run: StoredRun, message: Json) -> None:
        """Have a run hear what is in the journal; a look has it do so where this fails."""
        try:
            async with asyncio.timeout(TELL_S):
                await self._engine.look(run, message)
        except Exception as error:  # noqa: BLE001 - an engine that is away comes back
            name = type(error).__name__
            LOGGER.warning("the engine could not be told of run %s: %s", run.run_id, name)

    async def _again(
        self, run: StoredRun, said: TryAgain, people: People
    ) -> Accepted | HostRefusal:
        """Begin a run in the engine that has failed."""
        spec = self._parts[run.agent].spec
        for pause_s in PAUSES_S:
            await asyncio.sleep(pause_s)
            events = await asked(partial(people.weigh, run.run_id, said))
            if isinstance(events, HostRefusal):
                return events
            at = await asked(partial(loaded, self._reading.journal, spec, run.run_id))
            told = self._message(run, events)["events"]
            given = new_run(spec, run.agent, at.run, at.length) | {"events": told}
            if await self._engine.begin(given, is_again=True):
                return Accepted(run.run_id)
        return HostRefusal("full", f"others begin run {run.run_id!r} again: try it later")

    async def _refusal_anew(
        self, run: StoredRun, said: ToolExecutionDecision, people: People
    ) -> HostRefusal | None:
        """Why a decision does not count by the rules that are here; what they want is asked then.

        RULE: whoever takes a decision asks its own policies about what others have judged.
        """
        events = await asked(partial(people.weigh, run.run_id, said))
        if isinstance(events, HostRefusal):
            return events
        path, decided = unwrap_event(events[0])
        assert isinstance(decided, HumanDecided)  # noqa: S101 - what a decision is
        parts = self._parts[run.agent]
        at = await asked(partial(loaded, self._reading.journal, parts.spec, run.run_id))
        if not is_open(at.run, path, decided.ref):  # others were faster, and have closed the turn
            return await self._refusal_anew(run, said, people)
        try:
            judged = await self._outside.judged_anew(parts, at.run, path, decided.ref)
        except MustWaitError:
            text = f"a policy is just asked about another call of run {run.run_id!r}: try again"
            return HostRefusal("full", text)
        if judged is None:
            return None
        with suppress(JournalUnavailableError):  # whoever begins the call judges it as well
            await self._engine.say(run.run_id, self._message(run, [judged]))
        weighed = await asked(partial(people.weigh, run.run_id, said, [judged]))
        return weighed if isinstance(weighed, HostRefusal) else None

    def _message(self, run: StoredRun, events: Sequence[Event]) -> Json:
        spec = self._parts[run.agent].spec
        return {
            "id": self._chance.new_id(),
            "events": [event_to_json(spec, event) for event in events],
            "versions": versions_of(spec),
        }

    async def ask_anew(self, run: StoredRun) -> None:
        """Have a run ask once more, by the tools that are here, unless only others can follow it.

        RULE: an engine takes such a word also for a worker of other rules, which it changes nothing
        for. That nothing comes of it is said here, or nobody would.
        """
        if self.is_halted:
            return
        try:
            await self._require_followable(run)
            await self._engine.look(run, {"versions": versions_of(self._parts[run.agent].spec)})
        except AgentChangedError:
            return
        except Exception as error:  # noqa: BLE001 - the next one who reads it has it asked
            self.faults.add(run.run_id, type(error).__name__)

    def is_bound(self, run_id: str) -> bool:
        """Whether a run goes on by a worker of another release alone, as far as that is known."""
        return run_id in self._engine.changed

    async def look(self) -> None:
        """Look once for runs at which nothing is at work, though something is owed to them.

        And for some of those that wait, whether the engine still has them.
        """
        found = await self.looks.found(self.faults.resting)
        seen, self._seen = self._seen, {run.run_id: run.length for run in found}
        self._told = {name: one for name, one in self._told.items() if name in self._seen}
        now = self._clock.now()
        for run in found:
            told = self._told.get(run.run_id, _Told(run.length))
            if told.length != run.length:
                told = _Told(run.length)
            if self.is_halted or self._is_away():
                return
            is_late = not now < told.next_at <= now + told.pause_s
            if seen.get(run.run_id) == run.length and is_late:
                pause_s = min(2 * told.pause_s, LAST_PAUSE_S)
                self._told[run.run_id] = _Told(run.length, now + told.pause_s, pause_s)
                await self._told_again(run)
        await self._look_for_lost()

    async def reached(self) -> None:
        """Look whether the store is there, and what the engine has lost, and tell nobody."""
        await self.looks.reached()
        await self._look_for_lost()

    async def _look_for_lost(self) -> None:
        if not (self.is_halted or self._is_away()):
            await self._lost.look()
            await self._engine.changed.look(self._reading)

    async def _told_again(self, run: StoredRun) -> None:
        """Have a run go on. That the engine is away is no fault of the run.

        RULE: a look is over soon, or a host whose engine is away would not be ready any more.
        """
        try:
            async with asyncio.timeout(TELL_S):
                await self.go_on(run)
        except (TimeoutError, JournalUnavailableError) as error:
            name = type(error).__name__
            LOGGER.warning("the engine could not be told of run %s: %s", run.run_id, name)
        except Exception as error:  # noqa: BLE001 - it is tried again, later and later
            now = await self._reading.listed(run.run_id)
            if now is not None and (now.status, now.length) == (run.status, run.length):
                self.faults.add(run.run_id, type(error).__name__)  # and has not just ended
        else:
            self.faults.succeed(run.run_id)

    def texts(self) -> dict[str, str]:
        """By run, the name of what keeps it from going on."""
        changed = dict.fromkeys(self._engine.changed.texts(), AgentChangedError.__name__)
        return self._lost.texts() | self.faults.texts() | changed

    async def halt(self, drain_s: float) -> None:
        """Begin nothing more. The engine's worker hears out what is at work."""
        self.is_halted = True
        self.looks.end()

    def cancel(self) -> None:
        """Cancel what is at work. Of a tool it is said that nobody knows what it has done."""
        self._outside.cancel()
