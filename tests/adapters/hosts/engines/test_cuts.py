"""A worker that is cut off at the worst moment: what it could not say in time, it says later."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from detent.adapters.hosts.effects.history import Json
from tests.adapters.hosts.engines.crashes import paid_in, silent_in, stands, until, working
from tests.adapters.hosts.engines.sites import Site, need_sqlite_for_dbos, site_of
from tests.adapters.hosts.engines.worker import host_on
from tests.adapters.hosts.worker import TURNS, journal_at, payer

RULE = "ask"
"""Of a tool of which nobody knows, people are asked. There are none here."""
PATIENCE_S = 30.0


async def begun(site: Site, folder: Path) -> None:
    """Begin one run from a process that does not work."""
    agents, journal = {"payer": payer(folder, RULE)}, journal_at(site.store)
    async with host_on(site.told(works=False), agents, journal, works=False) as host:
        await host.start("payer", "pay", run_id="r")


def status_at(site: Site) -> str:
    """How the run is."""
    journal: Any = journal_at(site.store)
    return "".join(run.status for run in journal.runs())


def test_a_worker_says_of_tools_that_others_took_for_lost_that_they_never_ran(
    tmp_path: Path,
) -> None:
    """It was silent from when what the model said was stored, and before the tools began.

    Unless somebody has just had the run look at its journal, which says so before they begin.
    """
    with site_of("dbos-effects", tmp_path, has_postgres=True) as site:
        site.network.cut_behind(b"model/1/0/1", b"COMMIT")
        with working(site, tmp_path, RULE, is_wired=True):
            until((tmp_path / "ready").exists, tmp_path)
            asyncio.run(begun(site, tmp_path))
            until(lambda: site.network.is_cut, tmp_path)
            with working(site, tmp_path, RULE):
                until(lambda: status_at(site) != "running", tmp_path, lambda: stands(site))
                site.network.heal()
                until(lambda: status_at(site) == "done", tmp_path, lambda: stands(site))

    paid = paid_in(tmp_path)
    assert (len(paid), len({*paid}), silent_in(tmp_path)) == (2 * TURNS, 2 * TURNS, 0)


A_MINUTE_S = 60.0


def test_a_worker_that_is_silent_in_the_middle_of_a_transaction_holds_no_run_for_long(
    tmp_path: Path,
) -> None:
    """PostgreSQL would wait a minute for it, and everybody else with it."""
    with site_of("dbos-effects", tmp_path, has_postgres=True) as site:
        site.network.cut_behind(b"model/1/0/1")
        with working(site, tmp_path, RULE, is_wired=True):
            until((tmp_path / "ready").exists, tmp_path)
            asyncio.run(begun(site, tmp_path))
            until(lambda: site.network.is_cut, tmp_path)
            cut_at = monotonic()
            with working(site, tmp_path, RULE):
                until(lambda: status_at(site) == "done", tmp_path, lambda: stands(site))
                took_s = monotonic() - cut_at
                site.network.heal()

    paid = paid_in(tmp_path)
    assert (len(paid), len({*paid}), silent_in(tmp_path)) == (2 * TURNS, 2 * TURNS, 0)
    assert took_s < A_MINUTE_S  # 20 s on a quiet machine


@contextmanager
def dbos_at(folder: Path, workflow: Any) -> Generator[Any]:
    """DBOS in this process with one workflow, and a client of it."""
    need_sqlite_for_dbos()
    import dbos

    from detent.adapters.hosts.engines.dbos_process import launch

    url = f"sqlite:///{folder / 'queue.db'}"
    options: dict[str, Any] = {"poll_s": 0.05, "concurrency": None}
    launch(workflow, workflow_name="follow", url=url, name="here", queue="q", **options)
    client = dbos.DBOSClient(system_database_url=url)
    try:
        yield client
    finally:
        dbos.DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=1)
        client.destroy()


def test_an_execution_that_has_lost_its_run_leaves_and_says_what_it_has_begun(
    tmp_path: Path,
) -> None:
    """It was late with a tool, which the next one took for lost, and which has never run."""
    pytest.importorskip("dbos", reason="the engine is an extra of its own")
    import dbos

    from detent.adapters.hosts.effects.inside import MAIL
    from detent.adapters.hosts.engines.dbos_follow import TOPIC, DBOSHistory

    job: Json = {"effect": "tool/1/0/1", "at": 1.0}
    is_first_open, may_go, is_told = (threading.Event() for _ in range(3))
    performed, told, left = list[Json](), list[Json](), list[Json]()

    async def perform(job: Json) -> Json:
        performed.append(job)
        return {"report": "done"}

    async def tell(job: Json, came: Json) -> None:
        told.append(job)
        assert "later" in came
        is_told.set()

    async def follow(_: Json) -> Json:
        workflow_id = dbos.DBOS.workflow_id or ""
        steps = await dbos.DBOS.list_workflow_steps_async(workflow_id)
        names = {step["function_id"]: step["function_name"] for step in steps}
        engine = DBOSHistory(names, perform, tell)
        await engine.open()
        is_late = not is_first_open.is_set()
        is_first_open.set()
        if is_late:
            await asyncio.to_thread(may_go.wait, PATIENCE_S)
        tool, mail = engine.begin("tool/1/0/1", job, is_once=True), engine.hear()
        try:
            assert await engine.first({MAIL: mail, "tool": tool}) == ["tool"]
            assert not is_late
            assert "lost" in tool.result()
            may_go.set()
            async with asyncio.timeout(PATIENCE_S):
                assert await engine.first({MAIL: mail}) == [MAIL]
            await asyncio.to_thread(is_told.wait, PATIENCE_S)
        except BaseException:
            left.append(engine.left())
            await client.send_async(workflow_id, left[-1], TOPIC)
            raise
        finally:
            engine.leave(is_ending=False)
        return {}

    with dbos_at(tmp_path, follow) as client:
        options = {"queue_name": "q", "workflow_name": "follow", "workflow_id": "w"}
        handle = client.enqueue(options | {"app_version": "detent"}, {})
        assert is_first_open.wait(PATIENCE_S)
        client.resume_workflow("w", queue_name="q")
        assert handle.get_result() == {}

    assert (performed, told) == ([], [job])
    assert [one["begun"] for one in left] == [[]]
