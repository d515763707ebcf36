"""The same steps on an engine alone: two of them a turn, and no agent. See `hosts.py`."""
# ruff: noqa: INP001  # a part of a script

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, TypeAlias
from uuid import uuid4

import restate
from temporalio import activity, workflow

Play: TypeAlias = Callable[[int, int], Awaitable[object]]
"""Have so many turns played, whose tool gives so many characters."""
TIMES: list[float] = []
"""When a tool was called, in this process."""


def step(kind: str, size: int) -> str:
    """What a step does: nothing, for the model's; the tool's gives something."""
    if kind == "model":
        return "go on"
    TIMES.append(time.perf_counter())
    return "x" * size


@asynccontextmanager
async def dbos_steps(url: str) -> AsyncGenerator[Play]:
    """Steps of DBOS, in the database of this URL."""
    from dbos import DBOS

    config: Any = {
        "name": "bare",
        "system_database_url": url,
        "log_level": "WARNING",
    }
    DBOS(config=config)

    @DBOS.step()
    async def bare_step(kind: str, size: int) -> str:
        return step(kind, size)

    @DBOS.workflow()
    async def bare_run(turns: int, size: int) -> None:
        for _ in range(turns):
            await bare_step("model", size)
            await bare_step("tool", size)

    async def play(turns: int, size: int) -> None:
        handle = await DBOS.start_workflow_async(bare_run, turns, size)
        await handle.get_result(polling_interval_sec=0.01)

    DBOS.launch()
    try:
        yield play
    finally:
        await asyncio.to_thread(DBOS.destroy, destroy_registry=True)


@activity.defn(name="bare_step")
async def bare_activity(kind: str, size: int) -> str:
    """A step."""
    return step(kind, size)


@workflow.defn(name="bare_run", sandboxed=False)
class BareRun:
    """Turns of two activities each."""

    @workflow.run
    async def run(self, turns: int, size: int) -> None:
        """Play them."""
        for _ in range(turns):
            for kind in ("model", "tool"):
                await workflow.execute_activity(
                    "bare_step", args=[kind, size], start_to_close_timeout=timedelta(seconds=60)
                )


@asynccontextmanager
async def temporal_steps(address: str) -> AsyncGenerator[Play]:
    """Activities of Temporal."""
    from temporalio.client import Client
    from temporalio.worker import Worker

    client = await Client.connect(address)

    async def play(turns: int, size: int) -> None:
        run_id = f"bare-{uuid4().hex}"
        queue = "bare"
        await client.execute_workflow(BareRun.run, args=[turns, size], id=run_id, task_queue=queue)

    async with Worker(client, task_queue="bare", workflows=[BareRun], activities=[bare_activity]):
        yield play


@asynccontextmanager
async def restate_steps(ingress: str, admin: str, port: int) -> AsyncGenerator[Play]:
    """Steps of Restate, of a service at this port."""
    import httpx

    from detent.adapters.hosts.engines.restate_service import Serving

    service = restate.Service("bare")

    @service.handler()
    async def bare_run(context: restate.Context, given: list[int]) -> None:
        turns, size = given
        for _ in range(turns):
            await context.run_typed("model", step, kind="model", size=size)
            await context.run_typed("tool", step, kind="tool", size=size)

    at = f"127.0.0.1:{port}"
    serving = Serving(restate.app([service], protocol="request_response"), at, 5)
    async with httpx.AsyncClient(timeout=600) as client:
        told = {"uri": f"http://{at}", "force": True, "use_http_11": True}
        for _ in range(50):
            if (await client.post(f"{admin}/deployments", json=told)).is_success:
                break
            await asyncio.sleep(0.1)

        async def play(turns: int, size: int) -> None:
            url = f"{ingress}/bare/bare_run"
            (await client.post(url, json=[turns, size])).raise_for_status()

        try:
            yield play
        finally:
            await serving.end()
