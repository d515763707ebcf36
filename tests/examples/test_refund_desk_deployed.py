"""The refund desk as people deploy it: several processes on PostgreSQL, or on each host."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from detent.journals import PostgresJournal
from tests.adapters.hosts.engines.servers import free_ports, wait_for
from tests.adapters.hosts.engines.sites import Site, site_of
from tests.examples import desk_crashes
from tests.examples.loading import EXAMPLES, ROOT
from tests.examples.test_refund_desk import TOKEN, decide, desk, paid, sent, told

WORKERS = 4
PATIENCE_S = 60.0


@contextmanager
def serving(folder: Path, store: str) -> Generator[tuple[str, int]]:
    """The service by uvicorn's own command: its address, and the process of its workers."""
    (port,) = free_ports(1)
    paths = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH", ""))))
    environment = {
        **os.environ,
        "PYTHONPATH": paths,
        "DESK_FOLDER": str(folder),
        "DESK_STORE": store,
        "DESK_TOKEN": TOKEN,
        "DESK_SECRET": "one for all of the workers, for this test",
    }
    how = ("--factory", "desk:served", "--workers", str(WORKERS), "--port", str(port))
    command = [sys.executable, "-m", "uvicorn", *how, "--log-level", "warning"]
    service = subprocess.Popen(command, cwd=EXAMPLES / "refund_desk", env=environment)
    try:
        wait_for(port)
        yield f"http://127.0.0.1:{port}", service.pid
    finally:
        service.send_signal(signal.SIGTERM)
        assert service.wait(PATIENCE_S) is not None


def workers_of(service: int) -> list[int]:
    """The processes that answer; not the one of Python that counts what they share."""
    found = Path(f"/proc/{service}/task/{service}/children").read_text().split()
    return [int(one) for one in found if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


@pytest.mark.skipif(sys.platform != "linux", reason="who is whose child is read from /proc")
def test_four_workers_share_the_runs_of_one_store(tmp_path: Path, postgres_url: str) -> None:
    """Whoever is asked by whichever of them: each refund is paid once, though one is killed."""
    journal = PostgresJournal(postgres_url)
    for run in journal.runs():
        journal.delete(run.run_id)
    orders = [str(number) for number in range(6)]

    async def visit(url: str, service: int) -> list[object]:
        async with asyncio.timeout(PATIENCE_S), httpx.AsyncClient(base_url=url) as client:
            for order in orders:
                assert await sent(client, order, "a table, 300 euros") == 202
            for order in orders:
                waiting = await told(client, order)
                assert waiting == {"status": "waiting", "answer": None}
            os.kill(workers_of(service)[0], signal.SIGKILL)
            for _ in orders:
                await decided(client)
            for order in orders:
                await told(client, order, unlike="waiting")
            return [await told(client, order) for order in orders]

    with serving(tmp_path, postgres_url) as (url, service):
        assert len(workers_of(service)) == WORKERS
        done = asyncio.run(visit(url, service))
    assert done == [{"status": "done", "answer": "Done: 300.0 refunded."}] * len(orders)
    assert sorted(paid(tmp_path)) == [[order, 300.0] for order in orders]


async def decided(client: httpx.AsyncClient) -> None:
    """Confirm the first question of the page; a request to the killed worker is made again."""
    while True:
        try:
            return await decide(client, "confirm")
        except httpx.TransportError:
            await asyncio.sleep(0.05)


@pytest.fixture(scope="module", params=["local", "dbos", "temporal", "restate"])
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """Where runs live, with its server if it has one."""
    with site_of(request.param, tmp_path_factory.mktemp(request.param)) as found:
        yield found


def argument_for(site: Site) -> str:
    """The one argument that says where the runs are to live."""
    told = site.told()
    names = ("client", "ingress", "admin", "listen")
    where = ",".join(told[name] for name in names if name in told)
    return f"{site.engine}:{where}" if where else site.engine


@contextmanager
def serving_on(engine: str, folder: Path) -> Generator[tuple[str, subprocess.Popen[bytes]]]:
    """The program itself, with this argument."""
    (port,) = free_ports(1)
    paths = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH", ""))))
    environment = {**os.environ, "PYTHONPATH": paths, "DESK_TOKEN": TOKEN}
    command = [sys.executable, str(EXAMPLES / "refund_desk" / "desk.py"), "--engine", engine]
    command += ["--folder", str(folder), "--port", str(port)]
    with subprocess.Popen(command, env=environment) as service:
        try:
            wait_for(port)
            yield f"http://127.0.0.1:{port}", service
        finally:
            service.send_signal(signal.SIGINT)
            assert service.wait(PATIENCE_S) is not None


def test_one_program_runs_on_every_host_and_survives_its_death(site: Site, tmp_path: Path) -> None:
    """It is killed while somebody thinks about a refund; the next one on the same host goes on."""

    async def ask(url: str) -> None:
        async with asyncio.timeout(PATIENCE_S), httpx.AsyncClient(base_url=url) as client:
            assert await sent(client, "7", "a cup, 12.50 euros") == 202
            assert await sent(client, "8", "a table, 300 euros") == 202
            assert (await told(client, "7"))["status"] == "done"
            assert await told(client, "8") == {"status": "waiting", "answer": None}

    async def answer(url: str) -> object:
        async with asyncio.timeout(PATIENCE_S), httpx.AsyncClient(base_url=url) as client:
            await decide(client, "confirm")
            await told(client, "8", unlike="waiting")
            return await told(client, "8")

    with serving_on(argument_for(site), tmp_path) as (url, service):
        asyncio.run(ask(url))
        service.kill()
    assert paid(tmp_path) == [["7", 12.5]]
    with serving_on(argument_for(site), tmp_path) as (url, _):
        done = asyncio.run(answer(url))
    assert done == {"status": "done", "answer": "Done: 300.0 refunded."}
    assert sorted(paid(tmp_path)) == [["7", 12.5], ["8", 300.0]]


@pytest.mark.parametrize(
    ("host", "what", "seed"),
    [
        *(("local", "server", 7), ("temporal", "cut", 7), ("restate", "kill", 7)),
        ("dbos", "freeze", 36),  # for little longer than a claim holds, which is 15 s
    ],
)
def test_each_refund_is_paid_once_whatever_dies(host: str, what: str, seed: int) -> None:
    """A sample of `python3 dev.py crashes desk`: between two orders, on each host."""
    counts = desk_crashes.played(host, what, seed)

    assert counts[what] == 1
    assert (counts["repeated"], counts["lost"]) == (0, 0)


def test_an_engine_that_there_is_not_is_said_to_be_none(tmp_path: Path) -> None:
    """With those that there are."""
    with pytest.raises(ValueError, match="no engine 'ray': local, dbos, temporal or restate"):
        desk.make_host(tmp_path, engine="ray")
