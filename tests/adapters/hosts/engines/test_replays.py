"""What Temporal has stored of runs can be replayed, whatever has become of their agents."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import Client, WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from detent import SQLiteJournal
from detent.adapters.hosts.effects.identity import workflow_id
from detent.adapters.hosts.engines.temporal_run import DetentRun
from detent.hosts import TemporalHost
from detent.testing import host_agents
from tests.adapters.hosts.engines.example_agents import (
    Told,
    by_legs_alone,
    coder_in,
    of_examples,
)
from tests.adapters.hosts.engines.sites import Site, site_of


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    """Temporal with its server, for all tests of the module."""
    with site_of("temporal", tmp_path_factory.mktemp("temporal")) as site:
        yield site


async def stored(where: str, run_id: str, queue: str = "detent") -> WorkflowHistory:
    """What Temporal has of the last workflow of a run, once that has ended."""
    client = await Client.connect(where)
    handle = client.get_workflow_handle(workflow_id(run_id, queue))
    await handle.result()
    return await handle.fetch_history()


async def lived(site: Mapping[str, Any], folder: Path) -> list[WorkflowHistory]:
    """A run that ends at once, and one about which somebody decides, before and after that."""
    journal, where = SQLiteJournal(folder / "runs.db"), site["client"]
    async with (
        TemporalHost(host_agents(), journal, client=where, beat_s=1.0) as host,
        asyncio.timeout(60),
    ):
        await host.start("echo", "hi", run_id="plain")
        await host.result("plain")
        await host.start("clerk", "pay", run_id="asked")
        while not (questions := await host.pending()):  # noqa: ASYNC110 - it comes elsewhere
            await asyncio.sleep(0.02)
        histories = [await stored(where, "plain"), await stored(where, "asked")]
        await host.send("asked", questions[0].call.confirm(by="Ada"))
        await host.result("asked")
        return [*histories, await stored(where, "asked")]


async def lived_of_examples(where: str, told: Told, folder: Path) -> list[WorkflowHistory]:
    """A run of each agent, to which people say yes: all that Temporal has of its last workflow."""
    agents = {name: agent for name, (agent, _) in told.items()}
    journal = SQLiteJournal(folder / "runs.db")
    host = TemporalHost(agents, journal, client=where, beat_s=1.0, queue="examples")
    async with host, asyncio.timeout(120):
        for name, (_, said) in told.items():
            await host.start(name, said, run_id=f"of-{name}")
        while {run.agent for run in await host.runs("done")} != set(told):
            for question in await host.pending():
                await host.send(question.call.run_id, question.call.confirm(by="Ada"))
            await asyncio.sleep(0.05)
        return [await stored(where, f"of-{name}", "examples") for name in told]


@workflow.defn(name="detent_run", sandboxed=False)
class ChangedRun:
    """Another workflow under the same name."""

    @workflow.run
    async def run(self, run_id: str, beat_s: float) -> None:
        """Sleep, where the stored one has had a leg driven."""
        await asyncio.sleep(beat_s)


def replayed(kind: type, histories: list[WorkflowHistory]) -> None:
    """Have the worker of a workflow go through what is stored."""
    replayer = Replayer(workflows=[kind], workflow_runner=UnsandboxedWorkflowRunner())

    async def replay() -> None:
        for history in histories:
            await replayer.replay_workflow(history)

    asyncio.run(replay())


def test_what_is_stored_can_be_replayed(site: Site, tmp_path: Path) -> None:
    """Each leg is in it, and nothing of an agent, so that none of them can break it."""
    histories = asyncio.run(lived(site.told(), tmp_path))
    assert len({history.run_id for history in histories}) == 3
    replayed(DetentRun, histories)
    with pytest.raises(workflow.NondeterminismError):
        replayed(ChangedRun, histories)
    raw = b"".join(event.SerializeToString() for one in histories for event in one.events)
    for word in (b"detent_leg", b'"plain"', b'"asked"'):
        assert word in raw
    for word in (b"clerk", b"echo", b"paid", b"Ada"):
        assert word not in raw


def test_histories_of_every_example_can_be_replayed(site: Site, tmp_path: Path) -> None:
    """Those with hooks and with a UI of their own as well. Only that of trio needs its own loop."""
    with coder_in(tmp_path / "project") as coder:
        told = of_examples(tmp_path) | by_legs_alone() | coder
        histories = asyncio.run(lived_of_examples(site.told()["client"], told, tmp_path))
    assert len(histories) == len(told)
    replayed(DetentRun, histories)
    raw = b"".join(event.SerializeToString() for one in histories for event in one.events)
    assert b"detent_leg" in raw
    for name, (_, said) in told.items():
        assert name.encode() in raw  # the id of the run
        assert said.encode() not in raw
