"""Temporal as the truth about runs: a workflow for each, whose effects are activities."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from temporalio import activity
from temporalio.api.workflowservice.v1 import GetSystemInfoRequest
from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from detent.adapters.hosts.effects.changed import ChangedRuns
from detent.adapters.hosts.effects.contract import require_rules
from detent.adapters.hosts.effects.history import NOTHING_SAID, Json
from detent.adapters.hosts.effects.identity import nonce_of, workflow_id
from detent.adapters.hosts.effects.lost import HistoryLostError
from detent.adapters.hosts.effects.outside import Outside
from detent.adapters.hosts.effects.pages import without_events, without_run
from detent.adapters.hosts.effects.parts import EffectParts
from detent.adapters.hosts.engines.temporal_activity import BEATS, EffectActivity, pauses
from detent.adapters.hosts.engines.temporal_follow import (
    EFFECT,
    LOOK,
    PAGE,
    ROOM,
    SAY,
    DetentEffects,
    Followers,
)
from detent.adapters.hosts.engines.temporal_worker import fault_of, worker_of
from detent.adapters.hosts.reading import asked
from detent.adapters.system.failures import outcome_of
from detent.core.errors import AgentChangedError, DetentError
from detent.ports.journal import Journal, JournalUnavailableError
from detent.ports.listing import StoredRun

if TYPE_CHECKING:
    from temporalio.client import WorkflowHandle
    from temporalio.worker import Worker

SAY_S = 10.0
"""How long a word waits for a worker to hear it."""
ENDED = frozenset(
    {
        WorkflowExecutionStatus.COMPLETED,
        WorkflowExecutionStatus.FAILED,
        WorkflowExecutionStatus.CANCELED,
        WorkflowExecutionStatus.TERMINATED,
        WorkflowExecutionStatus.TIMED_OUT,
    }
)


class TemporalEffects:
    """What `EffectsDriving` asks of Temporal, and the worker that performs."""

    def __init__(  # noqa: PLR0917 - what a worker is made of
        self,
        client: Client,
        queue: str,
        beat_s: float,
        journal: Journal,
        parts: Mapping[str, EffectParts],
        outside: Outside,
        *,
        running: int,
        drain_s: float,
    ) -> None:
        self._client, self._queue, self._beat_s = client, queue, beat_s
        self._journal, self._parts = journal, parts
        self._outside, self._activity = outside, EffectActivity(client, beat_s, outside)
        self._running, self._drain_s = running, drain_s
        self._followers = Followers({name: part.spec for name, part in parts.items()})
        self._worker: Worker | None = None
        self._serving: asyncio.Task[None] | None = None

    async def connect(self, *, works: bool) -> None:
        """Begin to take jobs, and to follow runs."""
        if not works:
            return

        @activity.defn(name=EFFECT)
        async def detent_effect(job: Json) -> Json:
            return await self._activity.perform(job)

        @activity.defn(name=PAGE)
        async def detent_page(wanted: Json, offset: int) -> Json:
            return await self._activity.page(wanted, offset)

        self._worker = worker_of(
            self._client,
            self._queue,
            DetentEffects,
            [detent_effect, detent_page],
            running=self._running,
            drain_s=self._drain_s,
            pause_s=self._beat_s / BEATS,
            interceptors=[self._followers],
        )
        self._serving = asyncio.create_task(self._worker.run(), name="detent temporal worker")

    async def answer(self) -> str | None:
        """By the call with which each client begins."""
        await self._client.workflow_service.get_system_info(GetSystemInfoRequest())
        return fault_of(self._serving)

    async def disconnect(self) -> None:
        """Hear out what is at work for a while, and leave."""
        if self._worker is not None and self._serving is not None:
            # RULE: an engine that is away is not waited for, and the worker waits for whoever does
            leaving = asyncio.get_running_loop().call_later(self._drain_s, self._outside.cancel)
            await self._worker.shutdown()
            await outcome_of(self._serving)  # why it has ended before, it has said
            leaving.cancel()

    @property
    def changed(self) -> ChangedRuns:
        """The runs that cannot be followed here, as their agents have changed."""
        return self._followers.changed

    async def begin(self, given: Json, *, is_again: bool) -> bool:
        """Begin a workflow. RULE: one that has not failed is never begun again, however late."""
        policy = WorkflowIDReusePolicy.REJECT_DUPLICATE
        if is_again:
            policy = WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY
        try:
            await self._client.start_workflow(
                DetentEffects.run,
                args=[without_run(given, ROOM), self._beat_s],
                id=workflow_id(given["run_id"], given["nonce"]),
                task_queue=self._queue,
                id_reuse_policy=policy,
                memo={"agent": given["agent"], "rules": given["rules"]},
                static_summary=given["agent"],
            )
        except WorkflowAlreadyStartedError:
            return False
        except RPCError as error:
            raise JournalUnavailableError(f"Temporal cannot be told: {error.message}") from error
        return True

    async def say(self, run_id: str, said: Json) -> bool:
        """An update: the workflow itself says whether it has changed the run."""
        handle = await self._handle(run_id)
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

    async def _handle(self, run_id: str) -> WorkflowHandle[Any, Any]:
        """The workflow of a run as the journal has it; raises RunNotFoundError where it is gone."""
        nonce = await asked(partial(nonce_of, self._journal, run_id))
        return self._client.get_workflow_handle(workflow_id(run_id, nonce))

    async def _updated(self, handle: WorkflowHandle[Any, Any], run_id: str, message: Json) -> bool:
        """RULE: what its last worker could not follow is not ready until another one has."""
        waits = pauses()
        while True:
            try:
                update = handle.execute_update(SAY, message, id=message["id"], result_type=bool)
                return bool(await update)
            except RPCError as error:
                if error.status is not RPCStatusCode.FAILED_PRECONDITION:
                    raise
                with suppress(RPCError):  # it is asked once more
                    await self._require_followed(handle, run_id)
                await asyncio.sleep(next(waits))

    async def _require_followed(
        self, handle: WorkflowHandle[Any, Any], run_id: str
    ) -> WorkflowExecutionDescription:
        if (text := self.changed.texts().get(run_id)) is not None:
            raise AgentChangedError(text)
        found = await handle.describe()
        memo = await found.memo()
        agent = memo.get("agent", "")
        if agent in self._parts:
            require_rules(self._parts[agent].spec, agent, run_id, memo.get("rules"))
        return found

    async def require_followable(self, run_id: str) -> None:
        """By the memo of the workflow, and by its status."""
        handle = await self._handle(run_id)
        try:
            found = await self._require_followed(handle, run_id)
        except RPCError as error:
            raise _said(error, run_id) from error
        _require_alive(run_id, found)

    async def look(self, run: StoredRun, message: Json = NOTHING_SAID) -> None:
        """A signal. A workflow that is not there has ended, and so has its run; or it is lost."""
        handle = await self._handle(run.run_id)
        try:
            await handle.signal(LOOK, without_events(message, ROOM))
        except RPCError as error:
            raise _said(error, run.run_id) from error


def _require_alive(run_id: str, found: WorkflowExecutionDescription) -> None:
    """Raise HistoryLostError where the workflow of a run that has not ended has."""
    if found.status in ENDED:
        raise HistoryLostError(run_id, "Temporal")


def _said(error: RPCError, run_id: str) -> DetentError:
    """What a refusal of the server says of a run that has not ended.

    RULE: a namespace that is not there says nothing of the run, which goes on in its own.
    """
    details = error.grpc_status.details
    is_elsewhere = any("NamespaceNotFound" in detail.type_url for detail in details)
    if error.status is RPCStatusCode.NOT_FOUND and not is_elsewhere:
        return HistoryLostError(run_id, "Temporal")
    return JournalUnavailableError(f"Temporal cannot be told: {error.message}")
