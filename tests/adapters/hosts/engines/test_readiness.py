"""Readiness: a host whose store is away says so, and so it does when that is back."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from detent.adapters.hosts.faults import AGAIN_S
from detent.hosts import DBOSHost
from detent.journals import PostgresJournal, SQLiteJournal
from detent.machine import ManualClock
from detent.testing import host_agents
from tests.adapters.hosts.engines.servers import postgres_server
from tests.adapters.hosts.engines.sites import need_sqlite_for_dbos
from tests.adapters.hosts.worker import payer


async def ready(host: DBOSHost) -> None:
    """Wait until it is."""
    async with asyncio.timeout(30):
        while not host.health().is_ready:  # noqa: ASYNC110 - the store says nothing when it is back
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("works", [True, False])
def test_a_host_is_not_ready_while_its_store_is_away(works: bool, tmp_path: Path) -> None:  # noqa: FBT001 - the case
    """Whether it drives runs itself, or only begins them and takes decisions."""
    need_sqlite_for_dbos()
    server, clock = postgres_server(), ManualClock(1_000_000.0)
    url = f"sqlite:///{tmp_path / 'queue.db'}"

    async def play() -> None:
        server.start()
        host = DBOSHost(
            {"payer": payer(tmp_path)},
            PostgresJournal(server.url),
            url=url,
            works=works,
            look_s=0.05,
            clock=clock,
        )
        async with host:
            await ready(host)
            server.kill()
            clock.advance(10.0)
            assert not host.health().is_ready
            server.start()
            await ready(host)

    try:
        asyncio.run(play())
    finally:
        server.kill()
        shutil.rmtree(server.folder, ignore_errors=True)


def test_what_has_ended_elsewhere_is_no_fault_of_an_engine_any_more(tmp_path: Path) -> None:
    """Nobody here would be told of it, and a health named the run for ever."""
    need_sqlite_for_dbos()
    clock, journal = ManualClock(1_000_000.0), SQLiteJournal(tmp_path / "runs.db")
    agents = {"echo": host_agents()["echo"]}
    url = f"sqlite:///{tmp_path / 'queue.db'}"

    async def play() -> None:
        async with DBOSHost(agents, journal, url=url, look_s=0.02, clock=clock) as host:
            await host.start("echo", "hi", run_id="r")
            await host.result("r", timeout=30)
            host._driving.faults.add("r", "JournalUnavailableError")
            assert host.health().faults == {"r": "JournalUnavailableError"}
            async with asyncio.timeout(30):
                while host.health().faults:
                    clock.advance(AGAIN_S + 1)
                    await asyncio.sleep(0.02)

    asyncio.run(play())
