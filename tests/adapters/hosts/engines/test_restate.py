"""What a server of Restate is told of workers, and is told again once it knows nothing of them."""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from detent import SQLiteJournal
from detent.adapters.hosts.engines.host import EngineHost, EngineUnavailableError
from detent.hosts import RestateHost
from detent.testing import host_agents
from tests.adapters.hosts.engines.crashes import (
    PAYMENTS,
    begun,
    is_done,
    paid_in,
    silent_in,
    stands,
    until,
    working,
)
from tests.adapters.hosts.engines.servers import free_ports
from tests.adapters.hosts.engines.sites import Site, site_of
from tests.adapters.hosts.engines.worker import host_on

PATIENCE_S = 30.0
ELSEWHERE = {"Restate": "it calls another address than this worker's"}
FOREIGN = {"Restate": "it calls for runs that are not in this journal"}
FORGOTTEN = {"Restate": "it knows no service 'detent'"}


@pytest.fixture
def site(tmp_path: Path) -> Generator[Site]:
    """A server of Restate that nobody else has."""
    with site_of("restate", tmp_path) as site:
        yield site


def host_at(site: Site, store: str = "runs.db", **options: Any) -> RestateHost:
    """A host that looks often."""
    journal, agents = SQLiteJournal(site.folder / store), {"echo": host_agents()["echo"]}
    works = options.get("works", True)
    given = {**site.told(works=works), "look_s": 0.2, "drain_s": 1, **options}
    host = host_on(given, agents, journal)
    assert isinstance(host, RestateHost)
    return host


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


def test_deployments_of_two_names_share_a_server(site: Site) -> None:
    """Each with a journal of its own; neither is called for the other's runs."""

    async def play() -> None:
        async with host_at(site, "one.db", name="one") as one:
            async with host_at(site, "two.db", name="two") as two:
                assert await said(one, "a") == await said(two, "a")
                await shows(one, {})
                await shows(two, {})
            await said(one, "b")

    asyncio.run(play())


@pytest.mark.parametrize(
    ("option", "address"),
    [
        ("listen", "127.0.0.1"),
        ("listen", ":9080"),
        ("listen", "127.0.0.1:99999"),
        ("admin", "127.0.0.1:9070"),
        ("ingress", "localhost"),
    ],
)
def test_an_address_that_is_none_is_refused(option: str, address: str, tmp_path: Path) -> None:
    """By its name, and with one that would do."""
    options: Any = {option: address}
    with pytest.raises(ValueError, match=f"{option} must be .*such as .*got '{address}'"):
        RestateHost(host_agents(), SQLiteJournal(tmp_path / "runs.db"), **options)


@pytest.mark.parametrize(
    "name", ["", "9", "a b", "a/b", "-a", "restate", "Restates", "openapi", "ä", "a\n"]
)
def test_a_name_that_restate_does_not_take_is_refused(name: str, tmp_path: Path) -> None:
    """Before anything is told of it."""
    with pytest.raises(ValueError, match="'name' is what a service of Restate can be called"):
        RestateHost(host_agents(), SQLiteJournal(tmp_path / "runs.db"), name=name)


async def refused(host: RestateHost, kind: type[Exception], text: str) -> None:
    """That a host does not open, and leaves nothing behind."""
    others = asyncio.all_tasks()
    with pytest.raises(kind, match=text):
        await host.open()
    assert asyncio.all_tasks() == others
    assert host._client is not None
    assert host._client.is_closed


def test_a_worker_that_cannot_listen_says_so(tmp_path: Path) -> None:
    """Whatever else the program does goes on."""

    async def play() -> None:
        with socket.create_server(("127.0.0.1", 0)) as other:
            listen = f"127.0.0.1:{other.getsockname()[1]}"
            host = RestateHost(host_agents(), SQLiteJournal(tmp_path / "runs.db"), listen=listen)
            await refused(host, OSError, f"cannot listen at {listen}.*by 'listen'")

    asyncio.run(play())


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b"{}"])
def test_an_admin_that_is_another_server_is_found_out(answer: bytes, tmp_path: Path) -> None:
    """No worker listens any more behind a host that is not open."""

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(answer) + answer)
        await writer.drain()
        writer.close()

    async def play() -> None:
        async with await asyncio.start_server(hear, "127.0.0.1", 0) as server:
            admin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            (own,) = free_ports(1)
            journal, listen = SQLiteJournal(tmp_path / "runs.db"), f"127.0.0.1:{own}"
            host = RestateHost(host_agents(), journal, admin=admin, listen=listen, drain_s=1)
            await refused(host, EngineUnavailableError, "is not the admin of Restate")

    asyncio.run(play())


def test_a_worker_takes_the_calls_back_when_the_later_one_has_ended(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """All calls go to the address that was told last, and a worker that lives sees so."""

    async def play() -> None:
        async with host_at(site) as first:
            async with host_at(site) as later:
                await shows(first, ELSEWHERE)
                await shows(later, {})
                await said(first, "a")
            await said(first, "b")
            await shows(first, {})

    asyncio.run(play())
    assert sum("no run goes on here" in text for text in caplog.messages) == 1


def test_workers_behind_one_address_are_none_elsewhere(site: Site) -> None:
    """Whichever of them has told it, and however that spells it."""

    async def play() -> None:
        (port,) = free_ports(1)
        own = {"listen": f"127.0.0.1:{port}", "address": f"http://127.0.0.1:{port}"}
        async with (
            host_at(site, **own) as first,
            host_at(site, address=f"http://127.0.0.1:{port}/") as later,
        ):
            assert later._registration is not None
            await said(later, "a")
            await later._registration.look()
            assert first._registration is not None
            await first._registration.look()
            assert (first.health().faults, later.health().faults) == ({}, {})

    asyncio.run(play())


def test_deployments_of_one_name_are_found_out(site: Site) -> None:
    """Each by what it sees: that it is not called, or that it is for runs that it has not got."""

    async def play() -> None:
        async with host_at(site, "one.db") as one, host_at(site, "two.db") as two:
            await one.start("echo", "hi", run_id="a")
            await shows(one, ELSEWHERE)
            await shows(two, FOREIGN)

    asyncio.run(play())


@pytest.mark.parametrize("is_killed", [True, False])
def test_runs_behind_an_address_that_is_gone_go_on_elsewhere(
    is_killed: bool,  # noqa: FBT001 - the case
    site: Site,
) -> None:
    """They are at work when their worker dies; or are called for and nobody ever answers.

    Restate waits for the answer, or tries again: the worker that lives is handed the runs anew.
    """
    folder, rule, ready = site.folder, "look up", site.folder / "ready"
    with working(site, folder, rule):
        until(ready.exists, folder)
        ready.unlink()
        with working(site, folder, rule, is_wired=not is_killed) as later:
            until(ready.exists, folder)
            if not is_killed:
                site.network.cut(is_silent=True)
            asyncio.run(begun(site, folder, rule))
            if is_killed:
                until(lambda: len(paid_in(folder)) >= 2, folder)
                later.kill()
            until(is_done(site), folder, lambda: stands(site))

    paid = paid_in(folder)
    assert (len(paid), len({*paid}), silent_in(folder)) == (PAYMENTS, PAYMENTS, 0)
