"""Temporal as the truth about runs: a workflow for each, whose effects are activities."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from temporalio import activity
from temporalio.client import (
    AsyncActivityCancelledError,
    Client,
    RPCTimeoutOrCancelledError,
    WorkflowExecutionStatus,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

from detent.adapters.hosts.effects.contract import require_rules
from detent.adapters.hosts.effects.history import NOTHING_SAID, Json
from detent.adapters.hosts.effects.outcomes import is_tool
from detent.adapters.hosts.effects.outside import Outside
from detent.adapters.hosts.effects.parts import EffectParts
from detent.adapters.hosts.engines.temporal_follow import (
    BEGUN,
    EFFECT,
    FOLLOWERS,
    LOOK,
    SAY,
    DetentEffects,
    Followers,
)
from detent.adapters.telemetry.logs import LOGGER
from detent.core.errors import AgentChangedError
from detent.ports.journal import JournalUnavailableError
from detent.ports.listing import StoredRun

if TYPE_CHECKING:
    from temporalio.client import WorkflowHandle

BEATS = 4
"""An effect beats so often in the time in which its worker is missed."""
SAY_S = 10.0
"""How long a word waits for a worker to hear it."""
TELL_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""How far apart the tries are to say what a tool has done; the last one again and again."""


class TemporalEffects:
    """What `EffectsDriving` asks of Temporal, and the worker that performs."""

    def __init__(
        self,
        client: Client,
        queue: str,
        beat_s: float,
        parts: Mapping[str, EffectParts],
        outside: Outside,
        *,
        running: int,
        drain_s: float,
    ) -> None:
        self._client, self._queue, self._beat_s = client, queue, beat_s
        self._parts, self._outside = parts, outside
        self._running, self._drain_s = running, drain_s
        self._followers = Followers({name: part.spec for name, part in parts.items()})
        self._worker: Worker | None = None

    async def connect(self, *, works: bool) -> None:
        """Begin to take jobs, and to follow runs."""
        if not works:
            return
        FOLLOWERS[self._queue] = self._followers

        @activity.defn(name=EFFECT)
        async def detent_effect(job: Json) -> Json:
            return await self._effect(job)

        self._worker = Worker(
            self._client,
            task_queue=self._queue,
            workflows=[DetentEffects],
            activities=[detent_effect],
            max_concurrent_activities=self._running,
            graceful_shutdown_timeout=timedelta(seconds=self._drain_s),
            max_heartbeat_throttle_interval=timedelta(seconds=self._beat_s / BEATS),
        )
        self._serving = asyncio.create_task(self._worker.run(), name="detent temporal worker")

    async def disconnect(self) -> None:
        """Hear out what is at work for a while, and leave."""
        if self._worker is not None:
            await self._worker.shutdown()
            await self._serving
            if FOLLOWERS.get(self._queue) is self._followers:
                del FOLLOWERS[self._queue]

    @property
    def changed(self) -> Mapping[str, str]:
        """The runs that cannot be followed here, as their agents have changed."""
        return self._followers.changed

    async def _effect(self, job: Json) -> Json:
        """An activity. One for which the engine waits no longer goes on, and tells what it did.

        RULE: a known outcome is never thrown away. A tool that the run itself has dropped is void.
        RULE: a tool begins once the engine knows that it does, and beats from then on. One that was
        given to a worker which nobody has heard of since has not begun.
        """
        token = activity.info().task_token
        beating = asyncio.create_task(self._beat(None))

        async def begins() -> bool:
            nonlocal beating
            is_known = await self._known_to_begin(token)
            beating = asyncio.create_task(self._beat(BEGUN))
            return is_known

        if is_tool(job):
            beating.cancel()  # it must not say less, later
        performed = asyncio.create_task(self._outside.perform(job, begins))
        performed.add_done_callback(lambda _: beating.cancel())  # what has ended beats no more
        report = asyncio.create_task(self._report(job, performed))
        try:
            outcome = await asyncio.shield(report)
        except asyncio.CancelledError:
            why = activity.cancellation_details()
            is_dropped = why is None or why.cancel_requested
            if why is not None and why.not_found:  # a run that has ended asks for nothing more
                is_dropped = await self._is_over(activity.info().workflow_id or "")
            if why is None or is_dropped or why.worker_shutdown or not is_tool(job):
                performed.cancel()
            if is_dropped or not is_tool(job):
                report.cancel()
                raise
            outcome = await report
        finally:
            beating.cancel()
        if is_tool(job):
            activity.raise_complete_async()
        return outcome

    async def _is_over(self, workflow_id: str) -> bool:
        handle: WorkflowHandle[Any, Any] = self._client.get_workflow_handle(workflow_id)
        try:
            status = (await handle.describe()).status
        except RPCError as error:
            return error.status is RPCStatusCode.NOT_FOUND
        return status is not WorkflowExecutionStatus.RUNNING

    async def _beat(self, what: str | None) -> None:
        while True:
            activity.heartbeat(*[] if what is None else [what])
            await asyncio.sleep(self._beat_s / BEATS)

    async def _known_to_begin(self, token: bytes) -> bool:
        handle = self._client.get_async_activity_handle(task_token=token)
        for pause_s in _pauses():
            try:
                await handle.heartbeat(BEGUN)
            except AsyncActivityCancelledError:
                return False
            except RPCError as error:
                if error.status is RPCStatusCode.NOT_FOUND:
                    return False
                await asyncio.sleep(pause_s)
            else:
                break
        return True

    async def _report(self, job: Json, performed: asyncio.Task[Json]) -> Json:
        """What came of a job; of a tool the engine has been told."""
        await asyncio.wait([performed])
        if performed.cancelled():
            outcome: Json = {"lost": "its worker was ended while it was at work"}
        else:
            outcome = performed.result()
        if is_tool(job):
            late = self._outside.late(job, outcome)
            outcome.pop("wrapped", None)
            info = activity.info()
            if not await self._completed(info.task_token, outcome) and late is not None:
                await self._heard_late(info.workflow_id or "", late)
        return outcome

    async def _completed(self, token: bytes, outcome: Json) -> bool:
        """Complete the activity of a tool; False says that it was given up."""
        handle = self._client.get_async_activity_handle(task_token=token)
        for pause_s in _pauses():
            try:
                await handle.complete(outcome)
            except RPCError as error:
                if error.status is RPCStatusCode.NOT_FOUND:
                    return False
                LOGGER.warning("the engine could not be told of a tool: %s", error.status.name)
                await asyncio.sleep(pause_s)
            else:
                break
        return True

    async def _heard_late(self, workflow_id: str, late: Json) -> None:
        """Have the run hear what a tool has done that was given up; one that has ended does not."""
        handle: WorkflowHandle[Any, Any] = self._client.get_workflow_handle(workflow_id)
        for pause_s in _pauses():
            try:
                await handle.execute_update(SAY, late)
            except WorkflowUpdateFailedError:
                return
            except (RPCError, RPCTimeoutOrCancelledError) as error:  # nobody hears it yet
                if isinstance(error, RPCError) and error.status is RPCStatusCode.NOT_FOUND:
                    return
                await asyncio.sleep(pause_s)
            else:
                return

    async def begin(self, given: Json, *, is_again: bool) -> bool:
        """Begin a workflow. RULE: one that has not failed is never begun again, however late."""
        policy = WorkflowIDReusePolicy.REJECT_DUPLICATE
        if is_again:
            policy = WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY
        try:
            await self._client.start_workflow(
                DetentEffects.run,
                args=[given | {"queue": self._queue}, self._beat_s],
                id=_id_of(given["run_id"]),
                task_queue=self._queue,
                id_reuse_policy=policy,
                memo={"agent": given["agent"], "rules": given["rules"]},
                static_summary=given["agent"],
            )
        except WorkflowAlreadyStartedError:
            return False
        return True

    async def say(self, run_id: str, said: Json) -> bool:
        """An update: the workflow itself says whether it has changed the run."""
        handle: WorkflowHandle[Any, Any] = self._client.get_workflow_handle(_id_of(run_id))
        try:
            async with asyncio.timeout(SAY_S):
                return await self._updated(handle, run_id, said)
        except WorkflowUpdateFailedError:
            return False
        except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError):
            with suppress(RPCError):  # what was the matter is said in any case
                await self._require_followed(handle, run_id)
            raise JournalUnavailableError(
                f"no worker has heard what was said to run {run_id!r}: start one, and say it again"
            ) from None
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return False
            raise JournalUnavailableError(f"Temporal cannot be told: {error.message}") from error

    async def _updated(self, handle: WorkflowHandle[Any, Any], run_id: str, message: Json) -> bool:
        """RULE: what its last worker could not follow is not ready until another one has."""
        pauses = _pauses()
        while True:
            try:
                update = handle.execute_update(SAY, message, id=message["id"], result_type=bool)
                return bool(await update)
            except RPCError as error:
                if error.status is not RPCStatusCode.FAILED_PRECONDITION:
                    raise
                with suppress(RPCError):  # it is asked once more
                    await self._require_followed(handle, run_id)
                await asyncio.sleep(next(pauses))

    async def _require_followed(self, handle: WorkflowHandle[Any, Any], run_id: str) -> None:
        if run_id in self.changed:
            raise AgentChangedError(self.changed[run_id])
        memo = await (await handle.describe()).memo()
        agent = memo.get("agent", "")
        if agent in self._parts:
            require_rules(self._parts[agent].spec, agent, run_id, memo.get("rules"))

    async def require_followable(self, run_id: str) -> None:
        """By the memo of the workflow. A worker that cannot says so from then on."""
        handle: WorkflowHandle[Any, Any] = self._client.get_workflow_handle(_id_of(run_id))
        try:
            await self._require_followed(handle, run_id)
        except AgentChangedError as error:
            if self._worker is not None:
                self._followers.changed[run_id] = str(error)
            raise
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                said = f"Temporal cannot be told: {error.message}"
                raise JournalUnavailableError(said) from error

    async def look(self, run: StoredRun, message: Json = NOTHING_SAID) -> None:
        """A signal. A workflow that is not there has ended."""
        try:
            handle: WorkflowHandle[Any, Any] = self._client.get_workflow_handle(_id_of(run.run_id))
            await handle.signal(LOOK, message)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise


def _pauses() -> Iterator[float]:
    return chain(TELL_S, repeat(TELL_S[-1]))


def _id_of(run_id: str) -> str:
    return f"detent-{run_id}"
