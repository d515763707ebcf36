"""The same agent by pydantic-ai, on an engine: ``durable_peer.py ENGINE WHERE``. See `hosts.py`.

It plays what lines of JSON say, ``[id, turns, size]``, and answers each with one: the id, and when
its tool was called in the meantime.
"""
# ruff: noqa: INP001, T201  # a script that talks to another one

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import UsageLimits

TIMES: list[float] = []
ENGINE = sys.argv[1]


async def script(messages: list[Any], info: Any) -> ModelResponse:
    """Calls the tool as often as it is told, and then answers."""
    turns, size = map(int, messages[0].parts[-1].content.split())
    parts = [part for message in messages for part in message.parts]
    turn = sum(isinstance(part, ToolReturnPart) for part in parts)
    if turn >= turns:
        return ModelResponse(parts=[TextPart("Done.")])
    return ModelResponse(parts=[ToolCallPart("work", {"size": size}, f"c{turn}")])


async def work(size: int) -> str:
    """Do a step."""
    TIMES.append(time.perf_counter())
    return "x" * size


Play = Callable[[str], Awaitable[object]]
MODEL = FunctionModel(script)
ENDLESS = UsageLimits(request_limit=None)

if ENGINE == "dbos":
    from dbos import DBOS
    from pydantic_ai.durable_exec.dbos import DBOSDurability

    AGENT = Agent(MODEL, name="peer", tools=[DBOS.step()(work)], capabilities=[DBOSDurability()])

    @DBOS.workflow()
    async def peer_run(said: str) -> str:
        """A run: model and tool are steps."""
        return (await AGENT.run(said, usage_limits=ENDLESS)).output

    @asynccontextmanager
    async def on_engine(where: str) -> AsyncGenerator[Play]:
        """On DBOS, in the database of this URL."""

        async def play(said: str) -> None:
            handle = await DBOS.start_workflow_async(peer_run, said)
            await handle.get_result(polling_interval_sec=0.01)

        DBOS(config={"name": "peer", "system_database_url": where, "log_level": "ERROR"})
        DBOS.launch()
        try:
            yield play
        finally:
            await asyncio.to_thread(DBOS.destroy)

else:
    from pydantic_ai.durable_exec.temporal import (
        PydanticAIPlugin,
        PydanticAIWorkflow,
        TemporalDurability,
    )
    from temporalio import workflow
    from temporalio.client import Client
    from temporalio.worker import UnsandboxedWorkflowRunner, Worker

    AGENT = Agent(MODEL, name="peer", tools=[work], capabilities=[TemporalDurability()])

    @workflow.defn(name="peer_run", sandboxed=False)
    class PeerRun(PydanticAIWorkflow):
        """A run: model and tool are activities."""

        __pydantic_ai_agents__ = (AGENT,)

        @workflow.run
        async def run(self, said: str) -> str:
            """Play it."""
            return (await AGENT.run(said, usage_limits=ENDLESS)).output

    @asynccontextmanager
    async def on_engine(where: str) -> AsyncGenerator[Play]:
        """On Temporal, at this address."""
        client = await Client.connect(where, plugins=[PydanticAIPlugin()])

        async def play(said: str) -> None:
            run_id = f"peer-{uuid4().hex}"
            await client.execute_workflow(PeerRun.run, said, id=run_id, task_queue="peer")

        runner = UnsandboxedWorkflowRunner()
        async with Worker(client, task_queue="peer", workflows=[PeerRun], workflow_runner=runner):
            yield play


async def main() -> None:
    """Play what is asked for, until nothing is."""
    tasks = set[asyncio.Task[None]]()
    async with on_engine(sys.argv[2]) as play:

        async def one(name: int, turns: int, size: int) -> None:
            try:
                await play(f"{turns} {size}")
            except BaseException:
                print(json.dumps([name, None]), flush=True)
                raise
            times, TIMES[:] = list(TIMES), []
            print(json.dumps([name, times]), flush=True)

        print("ready", flush=True)
        while line := (await asyncio.to_thread(sys.stdin.readline)).strip():
            task = asyncio.create_task(one(*json.loads(line)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)


asyncio.run(main())
