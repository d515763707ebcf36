"""DBOS as the truth about runs: a workflow for each, whose effects are steps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import dbos
from dbos._error import DBOSWorkflowConflictIDError
from sqlalchemy.exc import SQLAlchemyError

from detent.adapters.drivers.leases import Keeper, Lease
from detent.adapters.drivers.steps import in_event_loop
from detent.adapters.hosts.effects.contract import require_rules
from detent.adapters.hosts.effects.history import NOTHING_SAID, Json
from detent.adapters.hosts.effects.inside import Inside
from detent.adapters.hosts.effects.outside import Outside
from detent.adapters.hosts.effects.parts import EffectParts
from detent.adapters.hosts.engines.dbos_follow import ANSWER, TOPIC, DBOSHistory
from detent.adapters.hosts.engines.dbos_process import VERSION, client_of, launch
from detent.adapters.hosts.engines.host import EngineUnavailableError
from detent.adapters.hosts.reading import asked
from detent.adapters.telemetry.logs import LOGGER
from detent.core.errors import AgentChangedError
from detent.core.storage.journal import status_of
from detent.ports.claims import RunBusyError
from detent.ports.journal import (
    Journal,
    JournalError,
    JournalUnavailableError,
    RunNotFoundError,
)
from detent.ports.listing import StoredRun

T = TypeVar("T")

WORKFLOW = "detent_effects"
SAY_S = 10.0
"""How long a word waits for a worker to hear it."""
ANSWER_S = 1.0
"""How long an answer is waited for until it is looked whether anybody is there to give it."""
LEAVE_S = 2.0
"""How long an execution tries to say that it has left. Unless it can, people are asked of tools."""
BUSY_S = 0.2
"""How far apart the looks are at a run that another worker is just leaving."""
ENDED = frozenset({"SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"})


class ModelFailedError(Exception):
    """A run has failed, as its model gave no answer."""


class DBOSEffects:
    """What `EffectsDriving` asks of DBOS, and the worker that performs.

    A worker has the claim of each run that it follows. One whose claim is free has lost its worker,
    and is handed on.
    """

    def __init__(  # noqa: PLR0917 - what a worker is made of
        self,
        url: str,
        name: str,
        queue: str,
        poll_s: float,
        journal: Journal,
        keeper: Keeper,
        parts: Mapping[str, EffectParts],
        outside: Outside,
        *,
        running: int,
        drain_s: float,
    ) -> None:
        self._url, self._name, self._queue, self._poll_s = url, name, queue, poll_s
        self._journal, self._keeper = journal, keeper
        self._parts, self._outside, self._drain_s = parts, outside, drain_s
        self._places = asyncio.Semaphore(running)
        self._own = asyncio.get_running_loop()
        self._following: dict[asyncio.Task[Any], asyncio.AbstractEventLoop] = {}
        self._works = self._is_ending = False
        self.changed: dict[str, str] = {}

    async def connect(self, *, works: bool) -> None:
        """Begin to take runs."""
        self._works = works
        try:
            if works:
                await asyncio.to_thread(self._launch)
            self._client = await asyncio.to_thread(client_of, self._url)
        except SQLAlchemyError as error:
            if works:  # or no other host of this process could begin
                await asyncio.to_thread(dbos.DBOS.destroy, destroy_registry=True)
            raise EngineUnavailableError("the database of DBOS", "", error) from error

    def _launch(self) -> None:
        async def detent_effects(opening: Json) -> Json:
            return await self._follow(opening)

        launch(
            detent_effects,
            workflow_name=WORKFLOW,
            url=self._url,
            name=self._name,
            queue=self._queue,
            poll_s=self._poll_s,
            concurrency=None,  # one that waits takes no place of those that work
        )

    async def _follow(self, opening: Json) -> Json:
        """A workflow. It is in an event loop of DBOS; what it does to the world is in ours.

        RULE: DBOS writes down what a workflow raises, for ever. So what is the matter with a worker
        is not raised: the workflow is left as it is, and is handed on.
        """
        task, run_id = asyncio.current_task(), opening["run_id"]
        assert task is not None  # noqa: S101 - a coroutine that awaits is in one
        self._following[task] = asyncio.get_running_loop()
        try:
            inside = await self._followed(opening)
        except DBOSWorkflowConflictIDError:  # another one has it
            raise
        except Exception as error:
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
        while True:
            try:
                if agent in self._parts:
                    return Inside(self._parts[agent].spec, opening, engine)
                self.changed[run_id] = f"there is no agent {agent!r}"
            except AgentChangedError as error:
                self.changed[run_id] = str(error)
            LOGGER.warning("run %s stands still: %s", run_id, self.changed[run_id])
            await asyncio.Event().wait()

    def _here(self, coroutine: Any) -> Awaitable[Any]:
        """What a coroutine gives in our own event loop."""
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self._own))

    async def _claimed(self, run_id: str) -> Lease:
        while True:
            try:
                return await in_event_loop(self._keeper.take_steps(run_id))
            except RunBusyError:
                await asyncio.sleep(BUSY_S)

    async def _recorded(self, workflow_id: str) -> dict[int, str]:
        steps = await self._client.list_workflow_steps_async(workflow_id, load_output=False)
        return {step["function_id"]: step["function_name"] for step in steps}

    async def _performed(self, job: Json) -> Json:
        outcome: Json = await self._here(self._placed(job))
        return outcome

    async def _placed(self, job: Json) -> Json:
        async with self._places:
            if self._is_ending:
                await asyncio.Event().wait()  # until it is cancelled: nothing more is begun
            return await self._outside.perform(job)

    async def _late(self, workflow_id: str, job: Json, outcome: Json) -> None:
        """Another execution has the run: it hears what a tool has done here.

        That a tool never ran is said once, whoever knows it, and however often the run is followed.
        """
        if (late := self._outside.late(job, outcome)) is not None:
            unrun = late.get("never_ran")
            key = None if unrun is None else f"{workflow_id} {unrun}"
            send = self._client.send_async(workflow_id, late, TOPIC, idempotency_key=key)
            await self._here(send)

    async def _left(self, workflow_id: str, left: Json) -> None:
        """An execution leaves a run: whoever has it now hears that."""
        try:
            async with asyncio.timeout(LEAVE_S):
                await self._client.send_async(workflow_id, left, TOPIC)
        except Exception as error:  # noqa: BLE001 - people are asked about what is lost, then
            LOGGER.warning("run %s could not be left: %s", workflow_id, type(error).__name__)

    async def disconnect(self) -> None:
        """Begin nothing more, hear out what is at work for a while, and leave the rest."""
        if self._works:
            self._is_ending = True
            await self._outside.drained(self._drain_s)
            for task, loop in list(self._following.items()):
                loop.call_soon_threadsafe(task.cancel)
            with suppress(TimeoutError):  # where the database is gone, nobody hears of the end
                async with asyncio.timeout(2 * LEAVE_S):
                    while self._following:  # noqa: ASYNC110 - they are in another event loop
                        await asyncio.sleep(0.01)
            await asyncio.to_thread(
                dbos.DBOS.destroy, destroy_registry=True, workflow_completion_timeout_sec=1
            )
        await asyncio.to_thread(self._client.destroy)

    async def begin(self, given: Json, *, is_again: bool) -> bool:
        """Enqueue a workflow. RULE: an id is of one workflow, however often it is begun."""
        workflow_id = _workflow_id(given["run_id"], given["length"] if is_again else 0)
        await self._client.enqueue_async(
            {
                "queue_name": self._queue,
                "workflow_name": WORKFLOW,
                "workflow_id": workflow_id,
                "app_version": VERSION,
            },
            given,
        )
        return True

    async def say(self, run_id: str, said: Json) -> bool:
        """A message, which the workflow answers by an event."""
        workflow_id = await asked(partial(self._id_of, run_id))
        try:
            await self._client.send_async(workflow_id, said, TOPIC, idempotency_key=said["id"])
        except dbos.error.DBOSNonExistentWorkflowError:
            return False
        key = f"{ANSWER} {said['id']}"
        for _ in range(int(SAY_S / ANSWER_S)):
            answer = await self._client.get_event_async(workflow_id, key, ANSWER_S)
            if answer is not None:
                return bool(answer)
            (status, *_) = await self._client.list_workflows_async(workflow_ids=[workflow_id])
            if status.status in ENDED:
                return False
            await self._handed_on(run_id, workflow_id)
        (status, *_) = await self._client.list_workflows_async(workflow_ids=[workflow_id])
        self._require_followed(run_id, status)
        raise JournalUnavailableError(
            f"no worker has heard yet what was said to run {run_id!r}: see that one is there"
        )

    def _require_followed(self, run_id: str, status: dbos.WorkflowStatus) -> None:
        opening: Json = status.input["args"][0] if status.input is not None else {}
        agent = opening.get("agent", "")
        if agent in self._parts:
            require_rules(self._parts[agent].spec, agent, run_id, opening["rules"])

    async def _handed_on(self, run_id: str, workflow_id: str) -> None:
        """Have another worker follow a run whose worker has died."""
        try:
            await in_event_loop(self._keeper.require_free(run_id))
        except RunBusyError:
            return
        (status, *_) = await self._client.list_workflows_async(workflow_ids=[workflow_id])
        if status.status == "PENDING":  # and not in the queue
            await self._client.resume_workflow_async(workflow_id, queue_name=self._queue)

    async def require_followable(self, run_id: str) -> None:
        """By what the workflow was given."""
        workflow_id = await asked(partial(self._id_of, run_id))
        try:
            found = await self._client.list_workflows_async(workflow_ids=[workflow_id])
        except SQLAlchemyError as error:
            raise JournalUnavailableError("the database of DBOS cannot be reached") from error
        for status in found:
            self._require_followed(run_id, status)

    async def look(self, run: StoredRun, message: Json = NOTHING_SAID) -> None:
        """Hand on a run that nobody follows; one that somebody does looks at the journal."""
        workflow_id = await asked(partial(self._id_of, run.run_id))
        told = {name: message[name] for name in message if name != "id"}  # nobody waits
        await self._client.send_async(workflow_id, told | {"look": True}, TOPIC)
        await self._handed_on(run.run_id, workflow_id)

    def _id_of(self, run_id: str) -> str:
        """The workflow that has the run now: each time that it is tried again, it is another."""
        entries = list(self._journal.read(run_id))
        if not entries:
            raise RunNotFoundError(f"there is no run {run_id!r}")
        tried = [entry.position for entry in entries if entry.kind == "Resumed"]
        return _workflow_id(run_id, tried[-1] if tried else 0)


def _workflow_id(run_id: str, tried: int) -> str:
    """The workflow of a run that was tried again behind so many entries, or 0 of them: never.

    RULE: no two runs share one, whatever their users have called them.
    """
    return f"{run_id}~{tried}" if tried or "~" in run_id else run_id
