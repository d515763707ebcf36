"""What a server of Restate is told of workers, and is told again once it knows nothing of them."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from detent import SQLiteJournal
from detent.adapters.hosts.engines.host import EngineHost
from detent.testing import host_agents
from tests.adapters.hosts.engines.sites import Site, site_of
from tests.adapters.hosts.engines.worker import host_on

PATIENCE_S = 30.0
FORGOTTEN = {"Restate": "it knows no service 'detent'"}


@pytest.fixture
def site(tmp_path: Path) -> Generator[Site]:
    """A server of Restate that nobody else has."""
    with site_of("restate", tmp_path) as site:
        yield site


def host_at(site: Site, store: str = "runs.db", **options: Any) -> EngineHost:
    """A host that looks often."""
    journal, agents = SQLiteJournal(site.folder / store), {"echo": host_agents()["echo"]}
    works = options.get("works", True)
    given = {**site.told(works=works), "look_s": 0.2, "drain_s": 1, **options}
    return host_on(given, agents, journal)


async def said(host: EngineHost, run_id: str) -> str | None:
    """What a new run comes to."""
    await host.start("echo", "hi", run_id=run_id)
    return (await host.result(run_id, timeout=PATIENCE_S)).text


async def shows(host: EngineHost, faults: Mapping[str, str]) -> None:
    """Wait until these are the faults of a host."""
    async with asyncio.timeout(PATIENCE_S):
        while host.health().faults != faults:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.02)


def test_a_server_that_has_lost_all_is_told_of_the_worker_again(site: Site) -> None:
    """By the worker itself: nobody starts it again because a disk was lost."""

    async def play() -> None:
        assert site.server is not None
        async with host_at(site) as host:
            before = await said(host, "a")
            site.server.kill()
            shutil.rmtree(site.folder / "restate")
            site.server.start()
            assert await said(host, "b") == before
            await shows(host, {})

    asyncio.run(play())


def test_a_worker_that_somebody_has_removed_is_there_again(site: Site) -> None:
    """The server stays up, so that no outage says that anything is to be told again."""

    async def play() -> None:
        async with host_at(site) as host, httpx.AsyncClient(base_url=site.told()["admin"]) as admin:
            before = await said(host, "a")
            for one in (await admin.get("/deployments")).json()["deployments"]:
                removed = await admin.delete(f"/deployments/{one['id']}", params={"force": "true"})
                removed.raise_for_status()
            assert await said(host, "b") == before
            await shows(host, {})

    asyncio.run(play())


def test_a_health_says_that_the_server_knows_of_no_worker(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is owed by an engine to a service that it does not know; who asks can say so."""

    async def play() -> None:
        async with host_at(site, works=False) as asker:
            await shows(asker, FORGOTTEN)
            assert asker.health().is_ready
            await asker.start("echo", "hi", run_id="a")
            async with host_at(site):
                await asker.result("a", timeout=PATIENCE_S)
                await shows(asker, {})

    asyncio.run(play())
    assert sum("no run goes on: it knows no service" in text for text in caplog.messages) == 1
