"""Readiness: a host whose store is away says so, and so it does when that is back."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from detent.adapters.hosts import looks
from detent.adapters.hosts.engines import reach
from detent.adapters.hosts.engines.host import EngineHost
from detent.adapters.hosts.engines.reach import Reach
from detent.adapters.hosts.faults import AGAIN_S
from detent.hosts import DBOSHost
from detent.journals import PostgresJournal, SQLiteJournal
from detent.machine import ManualClock
from detent.testing import host_agents
from tests.adapters.hosts.engines.servers import Server, postgres_server
from tests.adapters.hosts.engines.sites import Site, need_sqlite_for_dbos, site_of
from tests.adapters.hosts.engines.worker import host_on
from tests.adapters.hosts.worker import payer


async def ready(host: DBOSHost) -> None:
    """Wait until it is."""
    async with asyncio.timeout(30):
        while not host.health().is_ready:  # noqa: ASYNC110 - the store says nothing when it is back
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("works", [True, False])
def test_a_host_is_not_ready_while_its_store_is_away(
    works: bool,  # noqa: FBT001 - the case
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether it drives runs itself, or only begins them and takes decisions."""
    need_sqlite_for_dbos()
    server, clock = postgres_server(), ManualClock(1_000_000.0)
    monkeypatch.setattr(looks, "monotonic", clock.now)
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
            clock.advance(30.0)
            assert not host.health().is_ready
            server.start()
            await ready(host)

    try:
        asyncio.run(play())
    finally:
        server.kill()
        shutil.rmtree(server.folder, ignore_errors=True)


@pytest.mark.parametrize(
    "engine", ["dbos", "dbos-effects", "temporal", "temporal-effects", "restate"]
)
def test_a_health_names_an_engine_that_is_away(
    engine: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing fails where nobody is given a run. The store is there, and so is the host ready."""
    name = {"dbos": "DBOS", "temporal": "Temporal", "restate": "Restate"}[engine.partition("-")[0]]

    async def until(host: EngineHost, faults: dict[str, str]) -> None:
        async with asyncio.timeout(60):
            while host.health().faults != faults:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.02)

    async def play(site: Site, server: Server) -> None:
        journal = SQLiteJournal(tmp_path / "own.db")
        agents = {"echo": host_agents()["echo"]}
        host = host_on(site.told(), agents, journal, look_s=0.05, drain_s=1)
        async with host:
            await until(host, {})
            server.kill()
            await until(host, {name: "EngineUnavailableError"})
            assert host.health().is_ready
            server.start()
            await until(host, {})

    with site_of(engine, tmp_path, has_postgres=engine.startswith("dbos")) as site:
        assert site.server is not None
        asyncio.run(play(site, site.server))
    said = [record.getMessage() for record in caplog.records if record.name == "detent"]
    assert sum(f"{name} does not answer" in text for text in said) == 1
    assert sum(f"{name} answers again" in text for text in said) == 1


def test_an_engine_that_says_nothing_is_asked_once_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it is asked may wait in a thread for minutes, and then fail where nobody hears it."""
    monkeypatch.setattr(reach, "TELL_S", 0.01)
    asked = list[asyncio.Future[None]]()

    async def ask() -> None:
        asked.append(asyncio.get_running_loop().create_future())
        await asked[-1]

    async def play() -> None:
        silent = Reach("Cron", ask, 0.0, "Away")
        assert silent.texts() == {}
        await silent.look()
        await silent.look()
        assert (len(asked), silent.texts()) == (1, {"Cron": "Away"})
        asked[0].set_exception(OSError("away"))
        await asyncio.sleep(0.01)
        asking = asyncio.create_task(silent.for_ever())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        asked[1].set_result(None)
        while silent.texts():  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0)
        await silent.end(asking)
        assert asking.cancelled()

    asyncio.run(play())


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
