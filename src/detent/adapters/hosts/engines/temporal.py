"""Temporal: a workflow for each run, whose legs are activities.

Source: https://docs.temporal.io/develop/python and https://python.temporal.io.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from detent.adapters.agent.agent import Agent
from detent.adapters.hosts.effects.bounds import Bound
from detent.adapters.hosts.effects.driving import HistoryKeeper
from detent.adapters.hosts.effects.identity import workflow_id
from detent.adapters.hosts.effects.outside import Outside
from detent.adapters.hosts.effects.parts import EffectParts
from detent.adapters.hosts.engines.driving import Wake
from detent.adapters.hosts.engines.host import (
    EngineHost,
    EngineOptions,
    EngineUnavailableError,
    Leg,
    Mode,
)
from detent.adapters.system.failures import outcome_of
from detent.adapters.system.installation import install_command
from detent.ports.journal import Journal

if TYPE_CHECKING:
    from temporalio.client import Client
    from temporalio.worker import Worker

BEATS = 4
"""A leg beats so often in the time in which its worker is missed."""
LET_GO_S = 0.1
"""The SDK's own threads have let go of the interpreter so long after its worker has ended.

One that still holds an answer while the interpreter is finalized aborts the process, which has then
done all its work and ends by SIGABRT. The SDK has no way to wait for its threads.
Source: https://github.com/temporalio/sdk-python/issues/300.
"""


class TemporalHost(EngineHost):
    """Runs that are workflows of Temporal: ``async with TemporalHost(…)``.

    By legs, a run that waits for a time sleeps in Temporal; one that waits for a human is nowhere
    but in the journal: its workflow has completed, and a decision begins it again. By effects, each
    call of a model or tool is an activity, and a run that waits is a workflow that does.

    Args:
        agents: by the names that runs are started with; the same in each process.
        journal: where the runs are; one with claims that all processes reach.
        client: of Temporal, or the address of its server, such as ``localhost:7233``.
        queue: the name of the task queue; by effects, with "-effects" behind it.
        beat_s: a worker that has not been heard of for so long is given up, in seconds.
        mode: what Temporal keeps: "legs", or "effects". A store has runs of one of them.
        options: see `EngineOptions`.

    Raises:
        ImportError: temporalio is not installed: ``pip install 'detent[temporal]'``.
        ValueError: the journal has no claims, there is no agent, or no such mode; or, when it is
            opened, another host of this process works on the same queue by the same client.
    """

    engine_name = "Temporal"

    def __init__(
        self,
        agents: Mapping[str, Agent[Any, Any]],
        journal: Journal,
        *,
        client: Client | str = "localhost:7233",
        queue: str = "detent",
        beat_s: float = 3.0,
        mode: Mode = "legs",
        **options: Unpack[EngineOptions],
    ) -> None:
        super().__init__(agents, journal, mode=mode, **options)
        self._engine, self._queue, self._beat_s = client, queue, beat_s
        self._worker: Worker | None = None
        self._serving: asyncio.Task[None] | None = None

    async def _effects_engine(
        self, parts: Mapping[str, EffectParts], outside: Outside
    ) -> HistoryKeeper:
        client = await _reached(self._engine)
        from detent.adapters.hosts.engines.temporal_effects import TemporalEffects
        from detent.adapters.hosts.engines.temporal_follow import STEP_MAX

        if client.data_converter.external_storage is None:
            outside.bound = Bound(self.engine_name, STEP_MAX)
        return TemporalEffects(
            *(client, f"{self._queue}-effects", self._beat_s),
            *(self._journal, parts, outside),
            running=self._running,
            drain_s=self._drain_s,
        )

    async def _connect(self, leg: Leg | None) -> None:
        self._client = await _reached(self._engine)
        if leg is None:
            return
        from temporalio import activity

        from detent.adapters.hosts.engines.temporal_run import LEG, DetentRun
        from detent.adapters.hosts.engines.temporal_worker import worker_of

        pause_s = self._beat_s / BEATS

        @activity.defn(name=LEG)
        async def detent_leg(run_id: str) -> float | None:
            async def beat() -> None:
                while True:
                    activity.heartbeat()
                    await asyncio.sleep(pause_s)

            beating = asyncio.create_task(beat())
            try:
                return await leg(run_id)
            finally:
                beating.cancel()

        self._worker = worker_of(
            *(self._client, self._queue, DetentRun, [detent_leg]),
            running=self._running,
            drain_s=self._drain_s,
            pause_s=pause_s,
        )
        self._serving = asyncio.create_task(self._worker.run(), name="detent temporal worker")

    async def _wake(self, wake: Wake) -> None:
        from temporalio.common import WorkflowIDReusePolicy

        from detent.adapters.hosts.engines.temporal_run import WAKE, DetentRun

        # A time is slept for by the workflow itself: its leg has said it. One of an earlier run of
        # the id is as good: it has whatever the journal has driven.
        await self._client.start_workflow(
            DetentRun.run,
            args=[wake.run_id, self._beat_s],
            id=workflow_id(wake.run_id, self._queue),
            task_queue=self._queue,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            start_signal=WAKE,
            request_eager_start=False,
        )

    async def _answer(self) -> str | None:
        from temporalio.api.workflowservice.v1 import GetSystemInfoRequest

        from detent.adapters.hosts.engines.temporal_worker import fault_of

        await self._client.workflow_service.get_system_info(GetSystemInfoRequest())
        return fault_of(self._serving)

    async def _close(self) -> None:
        await super()._close()
        await asyncio.sleep(LET_GO_S)

    async def _disconnect(self) -> None:
        if self._worker is not None and self._serving is not None:
            await self._worker.shutdown()
            await outcome_of(self._serving)  # why it has ended before, it has said


async def _reached(at: Client | str) -> Client:
    try:
        from temporalio.client import Client
    except ModuleNotFoundError as error:
        raise ImportError(
            f"TemporalHost needs temporalio: {install_command('temporal')}"
        ) from error
    if not isinstance(at, str):
        return at
    try:
        return await Client.connect(at)
    except RuntimeError as error:  # which is all that the SDK says
        raise EngineUnavailableError("Temporal", f" at {at}", error) from error
