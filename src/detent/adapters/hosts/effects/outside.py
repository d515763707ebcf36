"""The outside: performs the jobs of the inside on a worker, and writes to the journal for it.

A job says what has happened before it. That is written down first, unless it is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar

from attrs import evolve

from detent.adapters.agent.assembly import nested_performers
from detent.adapters.drivers.company.lost_outcomes import LostOutcomes
from detent.adapters.drivers.loading import loaded
from detent.adapters.drivers.recording import ForeignRecorder
from detent.adapters.drivers.steps import in_event_loop
from detent.adapters.hosts.channels import Channels
from detent.adapters.hosts.effects.bounds import Bound
from detent.adapters.hosts.effects.contract import (
    require_rules,
)
from detent.adapters.hosts.effects.history import Json
from detent.adapters.hosts.effects.outcomes import (
    LATER,
    is_tool,
    later,
    reported,
    with_judgement,
)
from detent.adapters.hosts.effects.own_rules import MustWaitError, OwnRules
from detent.adapters.hosts.effects.pages import Pages
from detent.adapters.hosts.effects.parts import EffectParts
from detent.adapters.hosts.effects.versions import versions_of
from detent.adapters.hosts.effects.writing import Writing
from detent.adapters.hosts.faults import Faults
from detent.adapters.hosts.legs import leave
from detent.adapters.hosts.reading import asked
from detent.adapters.system.failures import outcome_of
from detent.adapters.system.threads_and_loops import in_another_thread
from detent.adapters.telemetry.logs import LOGGER
from detent.core.errors import StoredDataError
from detent.core.machine.beginning import Begun, begun_by
from detent.core.machine.due import due
from detent.core.machine.rejudging import without_attempt
from detent.core.run.effects import Effect, Judge, RunTool
from detent.core.run.events import Event
from detent.core.run.refs import CallRef, Path
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.storage.journal import event_from_json
from detent.ports.journal import JournalError
from detent.ports.listing import UnknownAgentError

T = TypeVar("T")
Begins: TypeAlias = Callable[[], Awaitable[bool]]
"""Has the engine know that a tool begins now; False says that it waits for it no longer."""


class Outside:
    """Performs jobs, in the running event loop.

    Attributes:
        faults: by run, what keeps its jobs from being performed here.
        bound: what the engine takes of one effect; None is as much as there is.
    """

    bound: Bound | None = None

    def __init__(
        self, parts: Mapping[str, EffectParts], channels: Channels, faults: Faults
    ) -> None:
        self._parts, self._channels, self.faults = parts, channels, faults
        self._rules, self.pages = OwnRules(), Pages()
        self._writing = Writing(channels)
        self._tasks: dict[asyncio.Task[Any], str] = {}
        self.left = asyncio.Event()
        """Whether nothing is waited for any more: neither what is at work nor who is to hear."""

    @property
    def running(self) -> int:
        """How many effects are at work here."""
        return len(self._tasks)

    def cancel(self) -> None:
        """Cancel what is at work, and wait for nobody."""
        self.left.set()
        for task, run_id in self._tasks.items():
            leave(run_id, task)

    async def drained(self, drain_s: float) -> None:
        """Hear out what is at work for so long, and cancel the rest."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=drain_s)
        self.cancel()

    async def perform(self, job: Json, begins: Begins | None = None) -> Json:
        """What came of a job: a report; or what has kept it from being begun, or reported.

        It raises nothing, as an engine would only do it again: the run knows when to do so. A tool
        is not begun unless `begins` says so. RULE: nor is it, nor an agent, where what has let it
        run does so no longer, by the tool, the rules and the clock here: then it never ran.
        """
        parts = await outcome_of(self._parts_of(job))
        if isinstance(parts, BaseException):
            return self._later(job, parts)
        outcome = await outcome_of(self._writing.written(parts, job))
        if isinstance(outcome, BaseException):
            return self._later(job, outcome)  # nothing has begun
        if not isinstance(outcome, Run):
            return outcome
        if job["effect"] is None:
            self.faults.drop(job["run_id"])
            return {"written": True}
        came = await self._begun(parts, outcome, job, begins)
        return came | {"written": True} if "later" in came else came

    async def _begun(
        self, parts: EffectParts, run: Run[Any], job: Json, begins: Begins | None
    ) -> Json:
        """As `perform`, once what has happened is written down."""
        effect = _owed(parts.spec, run, job["effect"])
        if effect is None:
            return await self._not_owed(parts, job)
        begun = begun_by(run, effect)
        if begun is not None and (left := await self._left(parts, run, begun, job)) is not None:
            return left
        if isinstance(effect, RunTool) and begins is not None and not await begins():
            return parts.never_ran(job)
        if begun is not None and not parts.lets(run, begun):  # it has lapsed in the meantime
            return parts.left(begun, job)
        return await self._reported(parts, run, effect, job)

    async def page(self, wanted: Json, offset: int) -> Json:
        """A page of what is in the journal. Raises what has kept it from being read."""
        try:
            parts = await self._parts_of(wanted)
            return await self.pages.page(parts, wanted, offset)
        except Exception as error:
            self._later(wanted | {"effect": None}, error)
            raise

    def _later(self, job: Json, error: BaseException) -> Json:
        """A job could not be performed, or not be told of: the run has it tried again."""
        self.faults.note(job["run_id"], type(error).__name__)
        return later(job, error)

    async def _left(
        self, parts: EffectParts, run: Run[Any], begun: Begun, job: Json
    ) -> Json | None:
        """Why an attempt at a call does not begin here, though it is owed; None where it may.

        RULE: the journal is read behind the policies, which may take long: what is revoked by then
        lets nothing begin.
        """
        if not parts.lets(run, begun):
            return parts.left(begun, job)
        try:
            before = without_attempt(run, begun)
            judged = await self.judged_anew(parts, before, begun.path, begun.ref)
            read = partial(loaded, parts.assembly.required_journal, parts.spec, run.id)
            now = (await asked(read)).run
        except MustWaitError:
            return LATER
        except (JournalError, StoredDataError) as error:
            return self._later(job, error)
        if judged is not None:
            return with_judgement(parts.spec, parts.left(begun, job), judged)
        is_there = now.nonce == run.nonce and parts.lets(now, begun)
        return None if is_there else parts.left(begun, job)

    async def judged_anew(
        self, parts: EffectParts, run: Run[Any], path: Path, ref: CallRef
    ) -> Event | None:
        """What the rules here say of a call, where they want another thing than was said of it.

        Raises:
            MustWaitError: they cannot say it yet.
        """
        ask = partial(self._event, parts, run)
        return await self._rules.said_anew(parts.spec, run, path, ref, ask)

    async def _parts_of(self, job: Json) -> EffectParts:
        """The agent of a job.

        Raises:
            UnknownAgentError: it is not here.
            AgentChangedError: it has other rules here.
        """
        agent, run_id = job["agent"], job["run_id"]
        if agent not in self._parts:
            raise UnknownAgentError(agent, sorted(self._parts), run_id)
        parts = self._parts[agent]
        require_rules(parts.spec, agent, run_id, job["rules"])
        if not parts.assembly.is_warm:
            await asyncio.wrap_future(in_another_thread(parts.assembly.warm_up))
        return parts

    def late(self, job: Json, outcome: Json) -> Json | None:
        """What the inside is told of a tool for which the engine waits no longer, if anything.

        RULE: a known outcome is never thrown away.
        """
        if not is_tool(job) or job["agent"] not in self._parts:
            return None
        if "later" in outcome or "missed" in outcome:  # it was not begun: nobody else can know
            outcome = self._parts[job["agent"]].never_ran(job)
        wrapped = outcome.get("wrapped")
        if wrapped is None:
            return None
        unrun = {"never_ran": [job["effect"], job["at"]]} if outcome.get("never_ran") else {}
        return {"events": [wrapped], "is_late": True} | unrun

    async def keep(self, job: Json, late: Json) -> None:
        """Write into the journal what is `late`, where this worker leaves and no engine hears it.

        The run finds it there once it goes on, as it finds what people have written. RULE: that a
        tool never ran is said of one job alone, and no entry names that: another worker may have
        been given the tool since.
        """
        if "never_ran" in late:
            return
        parts, run_id = self._parts[job["agent"]], job["run_id"]
        spec, journal = parts.spec, parts.assembly.required_journal
        held = [event_from_json(spec, event) for event in late["events"]]
        writer_at = partial(ForeignRecorder, journal, spec, parts.assembly.clock)
        try:
            at = await asked(partial(loaded, journal, spec, run_id))
            if at.run.nonce != job["nonce"]:
                return
            lost = LostOutcomes(journal, spec, held, writer_at)
            await in_event_loop(lost.tell(at.run, at.length))
        except (JournalError, StoredDataError) as error:
            LOGGER.warning("what a tool gave to run %s is lost: %s", run_id, type(error).__name__)

    async def _not_owed(self, parts: EffectParts, job: Json) -> Json:
        """The run has moved past it while the job was on its way: a tool has not run here.

        What keeps anything else from being performed is said, if others have written it. A policy
        is not to be asked, perhaps, by the tools that are here.
        """
        if is_tool(job):
            return parts.never_ran(job)
        outcome = await outcome_of(self._writing.written(parts, job | {"look": True}))
        if isinstance(outcome, BaseException):
            return self._later(job, outcome)
        return (
            outcome if isinstance(outcome, dict) else LATER | {"versions": versions_of(parts.spec)}
        )

    async def _reported(self, parts: EffectParts, run: Run[Any], effect: Effect, job: Json) -> Json:
        """The report of an effect, or what has kept it from being made."""
        report = await outcome_of(self._performed(parts, run, effect))
        if not isinstance(report, BaseException):
            self.faults.drop(run.id)
            return report
        if isinstance(report, asyncio.CancelledError):  # what was at work is cancelled
            raise report
        if not is_tool(job):
            return self._later(job, report)
        return {"lost": f"what it gave could not be told: {type(report).__name__}"}

    async def _performed(self, parts: EffectParts, run: Run[Any], effect: Effect) -> Json:
        with self._channels.open(run.id) as channel:
            channel.length = max(channel.length, self._writing.length(run.id))
            event = await self._event(parts, run, effect)
        if isinstance(effect, Judge) and event is not None:
            self._rules.note(parts.spec, run, effect, event)
        report = reported if self.bound is None else self.bound.report
        return report(parts.spec, effect, event)

    async def _event(self, parts: EffectParts, run: Run[Any], effect: Effect) -> Event | None:
        assembly = evolve(parts.assembly, listener=partial(self._channels.tell, run.id))
        own = assembly.performer(parts.spec, assembly.streaming_callback, None)
        performed = nested_performers(parts.spec, own).perform_async(effect)
        return await self._cancellable(run.id, performed)

    async def _cancellable(self, run_id: str, performed: Coroutine[Any, Any, T]) -> T:
        task = asyncio.create_task(outcome_of(performed))
        self._tasks[task] = run_id
        task.add_done_callback(self._tasks.pop)
        came = await task
        if isinstance(came, asyncio.CancelledError):  # nobody has cancelled anything
            text = f"what was performed has raised {came!r}"
            raise RuntimeError(text) from came  # noqa: TRY004 - no type is wrong
        if isinstance(came, BaseException):
            raise came
        return came


def _owed(spec: AgentSpec[Any], run: Run[Any], name: str) -> Effect | None:
    return next((effect for effect in due(spec, run) if effect.key.to_text() == name), None)
