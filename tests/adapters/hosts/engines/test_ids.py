"""A run id is of the run that a journal has of it, whatever an engine has had, or has, besides."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from detent import Agent, SQLiteJournal
from detent.adapters.hosts.engines.host import EngineHost
from detent.hosts import Accepted
from detent.testing import host_agents
from tests.adapters.hosts.engines.sites import EFFECTS, ENGINES, Site, site_of
from tests.adapters.hosts.engines.worker import host_on

PATIENCE_S = 60.0


@pytest.fixture(scope="module", params=[*ENGINES, *EFFECTS])
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Site]:
    """An engine with its server, for all tests of the module."""
    with site_of(request.param, tmp_path_factory.mktemp(request.param)) as site:
        yield site


def agents() -> dict[str, Agent[Any, Any]]:
    """One that asks nobody, and one that does."""
    return host_agents(has_hooks=False)


async def begun(host: EngineHost, agent: str, run_id: str) -> None:
    """A run that was not there."""
    assert await host.start(agent, "pay", run_id=run_id) == Accepted(run_id, is_new=True)


def test_an_id_that_is_used_again_is_of_another_run(site: Site, tmp_path: Path) -> None:
    """Once the first one is deleted, whether that has ended or waits; each runs to its end."""
    journal = SQLiteJournal(tmp_path / "runs.db")

    async def main() -> None:
        host = host_on(site.told(), agents(), journal, look_s=0.5, drain_s=5)
        async with host, asyncio.timeout(PATIENCE_S):
            for agent in ("echo", "clerk", "echo"):
                await begun(host, agent, "again")
                if agent == "echo":
                    assert (await host.result("again")).text
                else:
                    while not await host.pending():  # noqa: ASYNC110 - it comes elsewhere
                        await asyncio.sleep(0.02)
                assert (await host.start(agent, "pay", run_id="again")) == Accepted("again")
                journal.delete("again")

    asyncio.run(main())


def test_each_deployment_has_runs_of_its_own(site: Site, tmp_path: Path) -> None:
    """Another journal and another queue in one engine: one id is of two runs, which both end."""
    journals = [SQLiteJournal(tmp_path / f"{number}.db") for number in (1, 2)]
    where = site.told()

    def deployed(number: int) -> EngineHost:
        queue = {} if site.engine == "restate" else {"queue": f"deployment {number}"}
        return host_on(where | queue, agents(), journals[number], look_s=0.5, drain_s=5)

    async def main() -> None:
        async with asyncio.timeout(PATIENCE_S):
            async with deployed(0) as first:
                await begun(first, "clerk", "same")
                while not (questions := await first.pending()):  # noqa: ASYNC110 - elsewhere
                    await asyncio.sleep(0.02)
            async with deployed(1) as second:
                await begun(second, "echo", "same")
                assert (await second.result("same")).text
            async with deployed(0) as first:
                await first.send("same", questions[0].call.confirm(by="Ada"))
                assert (await first.result("same")).text

    asyncio.run(main())
