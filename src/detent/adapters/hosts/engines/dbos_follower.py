"""The worker of runs on DBOS whose effects are steps: it follows them in workflows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import dbos
from attrs import define, field
from dbos._error import DBOSWorkflowConflictIDError

from detent.adapters.drivers.leases import Keeper, Lease
from detent.adapters.drivers.steps import in_event_loop
from detent.adapters.hosts.effects.changed import ChangedRuns
from detent.adapters.hosts.effects.history import Json
from detent.adapters.hosts.effects.inside import Inside
from detent.adapters.hosts.effects.outside import Outside
from detent.adapters.hosts.effects.parts import EffectParts
from detent.adapters.hosts.engines.dbos_follow import TOPIC, DBOSHistory
from detent.adapters.telemetry.logs import LOGGER
from detent.core.errors import AgentChangedError, require_failure
from detent.core.storage.journal import status_of
from detent.ports.claims import RunBusyError
from detent.ports.journal import JournalError

LEAVE_S = 2.0
"""How long an execution tries to say that it has left. Unless it can, people are asked of tools."""
BUSY_S = 0.2
"""How far apart the looks are at a run that another worker is just leaving."""


class ModelFailedError(Exception):
    """A run has failed, as its model gave no answer."""


@define(eq=False)
class DBOSFollower:
    """Follows runs in workflows of this process, and performs their effects.

    It has the claim of each run that it follows.

    Attributes:
        keeper: has the claims.
        parts: the agents, by name.
        outside: carries effects out, in the event loop of the host.
        places: so many effects at once.
        client: for what is said to workflows from outside of them. DBOS may hand this process a run
            before there is one.
        changed: the runs that stand still here.
    """

    keeper: Keeper
    parts: Mapping[str, EffectParts]
    outside: Outside
    places: asyncio.Semaphore
    client: asyncio.Future[dbos.DBOSClient] = field(init=False, factory=asyncio.Future)
    changed: ChangedRuns = field(init=False, factory=partial(ChangedRuns, are_held=True))
    _own: asyncio.AbstractEventLoop = field(init=False, factory=asyncio.get_running_loop)
    _following: dict[asyncio.Task[Any], asyncio.AbstractEventLoop] = field(init=False, factory=dict)
    _is_ending: bool = field(init=False, default=False)

    async def follow(self, opening: Json) -> Json:
        """A workflow. It is in an event loop of DBOS; what it does to the world is in ours.

        RULE: DBOS writes down what a workflow raises, for ever. So what is the matter with a worker
        is not raised: the workflow is left as it is, and is handed on.
        """
        task, run_id = asyncio.current_task(), opening["run_id"]
        assert task is not None  # noqa: S101 - a coroutine that awaits is in one
        self._following[task] = asyncio.get_running_loop()
        try:
            inside = await self._followed(opening)
        except (DBOSWorkflowConflictIDError, asyncio.CancelledError):  # another one has it
            raise
        except BaseException as error:
            require_failure(error)
            LOGGER.warning("run %s could not go on here: %s", run_id, type(error).__name__)
            raise asyncio.CancelledError from error
        finally:
            del self._following[task]
        if (status := status_of(inside.run)) == "failed":
            raise ModelFailedError("the model gave no answer")
        return {"status": status, "length": inside.length}

    async def _followed(self, opening: Json) -> Inside:
        """Follow a run to its end. Its claim is ours meanwhile."""
        lease: Lease = await self._here(self._claimed(opening["run_id"]))
        workflow_id = dbos.DBOS.workflow_id or ""
        engine: DBOSHistory | None = None
        try:
            recorded = await self._here(self._recorded(workflow_id))
            engine = DBOSHistory(recorded, self._performed, partial(self._late, workflow_id))
            await engine.open()
            inside = await self._inside(opening, engine)
            await inside.follow()
            await engine.answer()
        except BaseException:
            if engine is not None:
                await self._here(self._left(workflow_id, engine.left()))
            raise
        finally:
            if engine is not None:
                engine.leave(is_ending=self._is_ending)
            with suppress(JournalError):  # then it lapses
                await self._here(in_event_loop(lease.release_steps()))
        return inside

    async def _inside(self, opening: Json, engine: DBOSHistory) -> Inside:
        """One that follows a run. Where its agent has changed, the run stands still."""
        agent, run_id = opening["agent"], opening["run_id"]
        text = f"there is no agent {agent!r}"
        try:
            if agent in self.parts:
                return Inside(self.parts[agent].spec, opening, engine)
        except AgentChangedError as error:
            text = str(error)
        LOGGER.warning("run %s stands still: %s", run_id, text)
        self.changed.note(run_id, text)
        try:
            return await asyncio.Future[Inside]()  # until it is cancelled
        finally:
            self.changed.drop(run_id)

    def _here(self, coroutine: Any) -> Awaitable[Any]:
        """What a coroutine gives in our own event loop."""
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self._own))

    async def _claimed(self, run_id: str) -> Lease:
        while True:
            try:
                return await in_event_loop(self.keeper.take_steps(run_id))
            except RunBusyError:
                await asyncio.sleep(BUSY_S)

    async def _recorded(self, workflow_id: str) -> dict[int, str]:
        client = await asyncio.shield(self.client)  # who waits may be cancelled, and it is not
        steps = await client.list_workflow_steps_async(workflow_id, load_output=False)
        return {step["function_id"]: step["function_name"] for step in steps}

    async def _performed(self, job: Json) -> Json:
        outcome: Json = await self._here(self._placed(job))
        return outcome

    async def _placed(self, job: Json) -> Json:
        async with self.places:
            if self._is_ending:
                await asyncio.Event().wait()  # until it is cancelled: nothing more is begun
            return await self.outside.perform(job)

    async def _late(self, workflow_id: str, job: Json, outcome: Json) -> None:
        """Another execution has the run: it hears what a tool has done here.

        That a tool never ran is said once, whoever knows it, and however often the run is followed.
        """
        if (late := self.outside.late(job, outcome)) is not None:
            unrun = late.get("never_ran")
            key = None if unrun is None else f"{workflow_id} {unrun}"
            client = self.client.result()  # there was one before anything was performed
            await self._here(client.send_async(workflow_id, late, TOPIC, idempotency_key=key))

    async def _left(self, workflow_id: str, left: Json) -> None:
        """An execution leaves a run: whoever has it now hears that."""
        try:
            async with asyncio.timeout(LEAVE_S):
                await self.client.result().send_async(workflow_id, left, TOPIC)
        except Exception as error:  # noqa: BLE001 - people are asked about what is lost, then
            LOGGER.warning("run %s could not be left: %s", workflow_id, type(error).__name__)

    async def drain(self, seconds: float) -> None:
        """Begin nothing more, hear out what is at work for so long, and leave the rest."""
        self._is_ending = True
        await self.outside.drained(seconds)
        for task, loop in list(self._following.items()):
            loop.call_soon_threadsafe(task.cancel)
        with suppress(TimeoutError):  # where the database is gone, nobody hears of the end
            async with asyncio.timeout(2 * LEAVE_S):
                while self._following:  # noqa: ASYNC110 - they are in another event loop
                    await asyncio.sleep(0.01)
