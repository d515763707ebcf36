"""Writing: what has happened before a job goes to the journal, before the job is performed.

Each job is right whatever others have written, and twice is once.
"""

from __future__ import annotations

import asyncio
from functools import partial
from threading import Event as Flag
from typing import Any
from weakref import WeakValueDictionary

from attrs import define

from detent.adapters.agent.assembly import with_inner
from detent.adapters.drivers.loading import Loaded, loaded
from detent.adapters.drivers.observations import observing
from detent.adapters.drivers.recording import Recorder
from detent.adapters.drivers.session import Session
from detent.adapters.drivers.steps import in_event_loop
from detent.adapters.hosts.channels import Channels
from detent.adapters.hosts.effects.backlog import still_counted, without
from detent.adapters.hosts.effects.contract import require_here, require_same
from detent.adapters.hosts.effects.history import Json
from detent.adapters.hosts.effects.outcomes import LATER, entry_to_json
from detent.adapters.hosts.effects.parts import EffectParts
from detent.adapters.hosts.reading import asked
from detent.core.control.rebase import is_from_others
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.storage.journal import event_from_json, event_to_json
from detent.ports.clock import Clock
from detent.ports.journal import JournalConflictError, with_data

CONFLICTS = 20
"""How often a job is written again when others write to the same run."""
KEPT = 256
"""So many runs are kept in memory, so that the next job of one need not read it."""


@define(eq=False)
class _ToldClock:
    """Says the time that it is told, as of which things happened. Who waits, waits in earnest."""

    at: float
    own: Clock

    def now(self) -> float:
        """The time that it was told."""
        return self.at

    def wait(self, until: float, dropped: Flag) -> None:
        """As long as it is from the told time on."""
        self.own.wait(self.own.now() + until - self.at, dropped)

    async def wait_async(self, until: float) -> None:
        """As `wait`, in an event loop."""
        await self.own.wait_async(self.own.now() + until - self.at)


@define(eq=False)
class _Followed:
    """A run as it is in the journal, and who writes to it."""

    session: Session[Any]
    recorder: Recorder
    clock: _ToldClock


class Writing:
    """Writes to the journals of agents, one job of a run after the other."""

    def __init__(self, channels: Channels) -> None:
        self._channels = channels
        self._kept: dict[str, _Followed] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def length(self, run_id: str) -> int:
        """How many entries a run has, as far as it is known here."""
        kept = self._kept.get(run_id)
        return 0 if kept is None else kept.recorder.length

    async def written(self, parts: EffectParts, job: Json) -> Run[Any] | Json:
        """The run once what has happened is written down; or what others have written there."""
        run_id = job["run_id"]
        lock = self._locks.setdefault(run_id, asyncio.Lock())
        for _ in range(CONFLICTS):
            async with lock:
                try:
                    return await self._write(parts, job)
                except JournalConflictError:  # another job of the run, or a human, was faster
                    self._kept.pop(run_id, None)
                except BaseException:
                    self._kept.pop(run_id, None)
                    raise
        return LATER

    async def _write(self, parts: EffectParts, job: Json) -> Run[Any] | Json:
        spec, run_id, length = parts.spec, job["run_id"], job["length"]
        journal = parts.assembly.required_journal
        entries = await asked(lambda: list(journal.read(run_id, length - 1)))
        if not entries:  # what comes before is on its way, if anything is there
            await asked(partial(require_here, journal, spec, job))
            return LATER
        there = [entry_to_json(spec, run_id, entry, data) for entry, data in with_data(entries[1:])]
        events: list[Json] = job["events"]
        count = _same(there, events)
        followed = await self._followed(parts, job, length + len(there))
        is_other = count < min(len(there), len(events))
        if is_other:
            followed.clock.at = max(followed.clock.at, job["at"])
            there += await self._behind(spec, followed.session, there[count:], events[count:])
        if is_other or (job["look"] and count < len(there)):
            return {"missed": {"at": length + count, "events": there[count:]}}
        if new := [event_from_json(spec, event) for event in events[len(there) :]]:
            followed.clock.at = max(followed.clock.at, job["at"])
            await in_event_loop(followed.session.feed_steps(*new))
        return followed.session.run

    async def _behind(
        self, spec: AgentSpec[Any], session: Session[Any], theirs: list[Json], own: list[Json]
    ) -> list[Json]:
        """Write what has happened behind what people have said in its place, as far as it counts.

        RULE: nobody has to be quicker than they are. Were it written once they are silent, a run
        would not go on while they speak.
        """
        said, left = without(theirs, own), without(own, theirs)
        if not all(is_from_others(event_from_json(spec, one)) for one in said):
            return []
        events = [event_from_json(spec, one) for one in left]
        still = still_counted(spec, session.run, events)
        await in_event_loop(session.feed_steps(*still))
        return [event_to_json(spec, event) for event in still]

    async def _followed(self, parts: EffectParts, job: Json, length: int) -> _Followed:
        run_id = job["run_id"]
        kept = self._kept.pop(run_id, None)
        if kept is None or (kept.recorder.length, kept.session.run.nonce) != (length, job["nonce"]):
            read = partial(loaded, parts.assembly.required_journal, parts.spec, run_id)
            at = await asked(read)
            if at.length != length:
                raise JournalConflictError(run_id, length, at.length)
            kept = self._new(parts, at)
        require_same(kept.session.run, job)
        self._kept[run_id] = kept
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return kept

    def _new(self, parts: EffectParts, at: Loaded[Any]) -> _Followed:
        assembly, spec = parts.assembly, parts.spec
        clock = _ToldClock(0.0, assembly.clock)
        rules = with_inner(assembly.rules, spec) if spec.agents else assembly.rules
        if at.run.decisions:
            rules.tell(spec, at.run.decisions)
        recorder = Recorder(assembly.required_journal, spec, clock, at)
        happened = observing(partial(self._channels.happened, at.run.id))
        observers = [*assembly.watching(spec, rules, None, at.run), happened]
        session = Session(spec, at.run, observers=observers, clock=clock, record=recorder)
        return _Followed(session, recorder, clock)


def _same(there: list[Json], events: list[Json]) -> int:
    """How many are the same, from the first one on."""
    pairs = zip(there, events, strict=False)
    found = (place for place, (entry, event) in enumerate(pairs) if entry != event)
    return next(found, min(len(there), len(events)))
