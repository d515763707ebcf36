"""Workers of engines in processes of their own, as they are deployed."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from detent import Agent, ScriptedChatGenerator, SQLiteJournal, ToolCall, tool
from detent.adapters.hosts.faults import TELL_S
from detent.hosts import Accepted, DBOSHost
from tests.adapters.hosts.engines.crashes import (
    PAYMENTS,
    RUNS,
    begun,
    is_done,
    paid_in,
    silent_in,
    stands,
    until,
    working,
)
from tests.adapters.hosts.engines.sites import EFFECTS, ENGINES, need_sqlite_for_dbos, site_of
from tests.adapters.hosts.engines.worker import host_on
from tests.adapters.hosts.worker import payer

PATIENCE_S = 30.0


@pytest.mark.parametrize("engine", [*ENGINES, *EFFECTS])
def test_a_worker_that_has_worked_ends_when_it_is_told_to(engine: str, tmp_path: Path) -> None:
    """Libraries of engines, too, like to hear signals; the worker is whose they are."""
    with site_of(engine, tmp_path) as site, working(site, tmp_path, "look up") as worker:
        until((tmp_path / "ready").exists, tmp_path)
        asyncio.run(begun(site, tmp_path, "look up"))
        until(is_done(site), tmp_path)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(PATIENCE_S) == 0


def are_ready(folder: Path, count: int) -> bool:
    """Whether so many workers are ready."""
    ready = folder / "ready"
    return ready.exists() and len(ready.read_text().split()) == count


@pytest.mark.parametrize("engine", [*ENGINES, *EFFECTS])
def test_workers_of_two_releases_live_side_by_side(engine: str, tmp_path: Path) -> None:
    """As in each deployment that replaces one worker after another. Then the old ones end."""
    old, new, hold = "ask", "ask and send a receipt", tmp_path / "hold"
    hold.touch()
    with site_of(engine, tmp_path) as site, working(site, tmp_path, old) as worker:
        until(lambda: are_ready(tmp_path, 1), tmp_path)
        asyncio.run(begun(site, tmp_path, old))
        until(lambda: len(paid_in(tmp_path)) >= RUNS, tmp_path)
        with working(site, tmp_path, new):
            until(lambda: are_ready(tmp_path, 2), tmp_path)
            hold.unlink()
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(PATIENCE_S) == 0
            until(is_done(site), tmp_path, lambda: stands(site))

    paid = paid_in(tmp_path)
    assert (len(paid), len({*paid}), silent_in(tmp_path)) == (PAYMENTS, PAYMENTS, 0)


def test_a_run_that_is_at_work_when_its_worker_of_dbos_ends_is_handed_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The queue is told by the leg itself, which ends while the host is closing."""
    need_sqlite_for_dbos()
    has_begun, may_end = threading.Event(), threading.Event()

    @tool
    def work() -> str:
        """Work until somebody says so."""
        has_begun.set()
        may_end.wait(PATIENCE_S)
        return "worked"

    script = ScriptedChatGenerator(ToolCall("work", {}), "Done.")
    agents = {"worker": Agent(chat_generator=script, tools=[work])}
    url = f"sqlite:///{tmp_path / 'queue.db'}"

    async def play() -> None:
        host = DBOSHost(agents, SQLiteJournal(tmp_path / "runs.db"), url=url, poll_s=0.05)
        await host.open()
        await host.start("worker", "work", run_id="r")
        await asyncio.to_thread(has_begun.wait, PATIENCE_S)
        ending = asyncio.create_task(host.close())
        await asyncio.sleep(0)
        may_end.set()
        await ending

    asyncio.run(play())
    assert "could not be told" not in caplog.text
    with closing(sqlite3.connect(tmp_path / "queue.db")) as queue:
        states = "SELECT status FROM workflow_status WHERE workflow_uuid LIKE 'detent-r@%'"
        assert [state for (state,) in queue.execute(states)].count("ENQUEUED") == 1


@pytest.mark.parametrize("mode", ["legs", "effects"])
def test_whoever_begins_a_run_does_not_wait_for_an_engine_that_is_away(
    mode: str, tmp_path: Path
) -> None:
    """The run is stored, and a look has the engine told of it once that is back."""
    with site_of("temporal" if mode == "legs" else "temporal-effects", tmp_path) as site:
        agents = {"payer": payer(tmp_path)}
        journal = SQLiteJournal(tmp_path / "runs.db")

        async def play() -> object:
            async with host_on(site.told(), agents, journal, works=False) as host:
                assert site.server is not None
                site.server.kill()
                async with asyncio.timeout(TELL_S + 3):
                    return await host.start("payer", "pay", run_id="r")

        try:
            assert asyncio.run(play()) == Accepted("r", is_new=True)
        finally:
            assert site.server is not None
            site.server.start()


@pytest.mark.parametrize("engine", ["dbos", "dbos-effects"])
def test_a_worker_whose_database_is_gone_ends_soon_after_it_is_told_to(
    engine: str, tmp_path: Path
) -> None:
    """Threads of DBOS would try to reach it for ever, and hold the process."""
    with site_of(engine, tmp_path, has_postgres=True) as site:
        assert site.server is not None
        with working(site, tmp_path, "look up") as worker:
            until((tmp_path / "ready").exists, tmp_path)
            asyncio.run(begun(site, tmp_path, "look up"))
            until((tmp_path / "noted.txt").exists, tmp_path)
            site.server.kill()
            try:
                worker.send_signal(signal.SIGTERM)
                assert worker.wait(PATIENCE_S) == 0
            finally:
                site.server.start()
