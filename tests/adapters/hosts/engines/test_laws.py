"""Hosts on engines keep the laws of the port, and what is special about them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from detent import Agent, ScriptedChatGenerator, SQLiteJournal
from detent.adapters.hosts.engines.dbos import sqlite_fault
from detent.adapters.hosts.engines.driving import Wake
from detent.adapters.hosts.engines.host import EngineHost
from detent.adapters.hosts.stored import StoredHost
from detent.approvals import PendingCall
from detent.hosts import (
    Accepted,
    DBOSHost,
    EngineUnavailableError,
    HostRefusal,
    LocalHost,
    RestateHost,
    TemporalHost,
)
from detent.journals import MemoryJournal, PostgresJournal
from detent.testing import check_host, host_agents
from tests.adapters.hosts.engines.sites import EFFECTS, ENGINES, Site, site_of
from tests.adapters.hosts.engines.worker import host_on

pytestmark = pytest.mark.filterwarnings("ignore:Cannot find activity to cancel")
"""Temporal's library warns where the server cancels an activity that has just been completed."""


@pytest.fixture(scope="module", params=[*ENGINES, *EFFECTS])
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Site]:
    """An engine with its server, for all tests of the module."""
    with site_of(request.param, tmp_path_factory.mktemp(request.param)) as site:
        yield site


@pytest.mark.usefixtures("quick_ends_of_dbos")
def test_it_keeps_the_laws(site: Site, tmp_path: Path) -> None:
    """Those of the port; by effects, agents with hooks are refused."""
    journal, has_hooks = SQLiteJournal(tmp_path / "runs.db"), site.mode == "legs"
    agents = partial(host_agents, has_hooks=has_hooks)
    options: dict[str, Any] = {"look_s": 0.5, "drain_s": 5}
    check_host(lambda: host_on(site.told(), agents(), journal, **options), has_hooks=has_hooks)


def test_what_one_process_begins_another_one_does(site: Site, tmp_path: Path) -> None:
    """A web service begins, decides and waits; a worker elsewhere does the rest."""
    journal = SQLiteJournal(tmp_path / "runs.db")
    agents = host_agents(has_hooks=False)
    worker = host_on(site.told(), agents, journal, look_s=0.5, drain_s=5)
    decided_elsewhere(worker, host_on(site.told(works=False), agents, journal, works=False))


@pytest.mark.parametrize(
    ("url", "python", "sqlite", "is_refused"),
    [
        ("sqlite:///q.db", (3, 12, 1), (3, 40, 1), True),
        ("sqlite:///q.db", (3, 12, 1), (3, 42, 0), False),
        ("sqlite:///q.db", (3, 11, 7), (3, 40, 1), False),
        ("postgresql://db/q", (3, 12, 1), (3, 40, 1), False),
    ],
)
def test_dbos_is_refused_a_sqlite_that_is_too_old_for_it(
    url: str, python: tuple[int, ...], sqlite: tuple[int, ...], *, is_refused: bool
) -> None:
    """DBOS itself fails at its first write, by a constraint that says nothing of versions."""
    fault = sqlite_fault(url, python, sqlite)
    assert (fault is not None) is is_refused
    assert fault is None or "needs SQLite 3.42" in fault


def test_dbos_keeps_its_queue_in_postgresql(postgres_url: str) -> None:
    """Beside the runs, in one database."""
    journal = PostgresJournal(postgres_url)
    for run in journal.runs():
        journal.delete(run.run_id)
    worker = DBOSHost(host_agents(), journal, url=postgres_url, poll_s=0.05, drain_s=5)
    asker = DBOSHost(host_agents(), journal, url=postgres_url, works=False)
    decided_elsewhere(worker, asker)


@pytest.mark.parametrize("engine", ["dbos", "temporal", "restate"])
def test_an_engine_that_is_not_there_is_one_clear_error(engine: str, tmp_path: Path) -> None:
    """It says which, where, and what to do; a password in the place is not repeated."""
    journal = SQLiteJournal(tmp_path / "runs.db")
    nowhere: dict[str, EngineHost] = {
        "dbos": DBOSHost(host_agents(), journal, url="postgresql://u:pw12345@127.0.0.1:9/none"),
        "temporal": TemporalHost(host_agents(), journal, client="127.0.0.1:9"),
        "restate": RestateHost(
            host_agents(), journal, admin="http://u:pw12345@127.0.0.1:9", listen="127.0.0.1:0"
        ),
    }

    async def main() -> None:
        async with nowhere[engine]:
            pass

    for _ in range(2):  # the first leaves nothing behind that would be in the way
        with pytest.raises(EngineUnavailableError, match=r"cannot be reached.*start it") as caught:
            asyncio.run(main())
        assert "pw12345" not in str(caught.value)
        assert caught.value.__cause__ is not None


def decided_elsewhere(worker: EngineHost, asker: EngineHost) -> None:
    """One process begins a run and decides, another one works."""

    async def main() -> str | None:
        async with worker, asker, asyncio.timeout(30):
            await asker.start("clerk", "pay", run_id="far")
            while not (questions := await asker.pending()):  # noqa: ASYNC110 - it comes elsewhere
                await asyncio.sleep(0.02)
            assert asker.health().running == 0
            assert worker.health().is_ready
            said = await asker.send("far", questions[0].call.confirm(by="Ada"))
            assert isinstance(said, Accepted)
            return (await asker.result("far")).text

    assert asyncio.run(main()) == "Done: paid 5"


@pytest.mark.parametrize("engine", ENGINES)
def test_runs_move_to_an_engine_and_back(engine: str, tmp_path: Path) -> None:
    """With the same agents: what is asked before is answered behind it, whoever drives the run."""
    agents, journal = host_agents(), SQLiteJournal(tmp_path / "runs.db")

    async def asked(host: StoredHost) -> PendingCall:
        while not (questions := await host.pending()):  # noqa: ASYNC110 - it comes elsewhere
            await asyncio.sleep(0.02)
        return questions[0].call

    async def main(site: Site) -> list[str | None]:
        async with asyncio.timeout(90):
            async with LocalHost(agents, journal) as before:
                await before.start("clerk", "pay", run_id="there", thread_id="there")
                await asked(before)
            async with host_on(site.told(), agents, journal, look_s=0.5, drain_s=5) as host:
                await host.send("there", (await asked(host)).confirm(by="Ada"))
                there = await host.result("there")
                await host.start("clerk", "pay", run_id="back", thread_id="back")
                call = await asked(host)
            async with LocalHost(agents, journal) as after:
                await after.send("back", call.confirm(by="Ada"))
                return [there.text, (await after.result("back")).text]

    with site_of(engine, tmp_path) as site:
        assert asyncio.run(main(site)) == ["Done: paid 5"] * 2


def test_what_the_engine_was_never_told_is_found(site: Site, tmp_path: Path) -> None:
    """A process that dies between the journal and the engine leaves no run behind."""
    journal = SQLiteJournal(tmp_path / "runs.db")

    async def main() -> str | None:
        handle = host_agents()["echo"]
        named = Agent(chat_generator=ScriptedChatGenerator("never"), name="echo", journal=journal)
        await named.begin("hi", run_id="orphan").leave_async()
        async with asyncio.timeout(30):
            worker = host_on(site.told(), {"echo": handle}, journal, look_s=0.2, drain_s=5)
            async with worker:
                return (await worker.result("orphan")).text

    assert asyncio.run(main()) == "hi (1)"


class Away(DBOSHost):
    """An engine that is away."""

    told: list[Wake]

    async def _connect(self, leg: object) -> None:
        self.told = []

    async def _wake(self, wake: Wake) -> None:
        self.told.append(wake)
        raise ConnectionError("the engine is away")

    async def _disconnect(self) -> None:
        """There is nothing to leave."""


def test_an_engine_that_is_away_loses_no_run(caplog: pytest.LogCaptureFixture) -> None:
    """It is stored, and told of again; whoever begins it hears nothing of that."""

    async def main() -> None:
        host = Away(host_agents(), MemoryJournal(), url="", look_s=0.01)
        async with host, asyncio.timeout(10):
            begun = await host.start("echo", "hi", run_id="r")
            assert begun == Accepted("r", is_new=True)
            while len(host.told) < 3:  # noqa: ASYNC110 - it is elsewhere that something comes
                await asyncio.sleep(0.005)
            assert host.told[1].name == host.told[2].name  # which an engine takes for one
            assert await host._driving.leg("r") is None
            assert (await host.result("r")).text == "hi (1)"
        refused = await host.start("echo", "hi")
        assert isinstance(refused, HostRefusal)
        assert refused.why == "shutting_down"

    asyncio.run(main())
    assert "the engine could not be told of run r: ConnectionError" in caplog.text


def test_a_leg_of_what_is_owed_nothing_does_nothing() -> None:
    """Of no run, of one that has ended, of another's agent, of one that waits."""

    async def main() -> None:
        journal = MemoryJournal()
        async with Away(host_agents(), journal, url="", look_s=9) as host, asyncio.timeout(10):
            leg = host._driving.leg
            assert await leg("nowhere") is None
            await host.start("clerk", "pay", run_id="asks")
            assert await leg("asks") is None
            length = (await host.run("asks")).listed.length
            assert await leg("asks") is None
            assert (await host.run("asks")).listed.length == length
            others = {"else": Agent(chat_generator=ScriptedChatGenerator("x"))}
            await host.start("echo", "hi", run_id="left")
            async with Away(others, journal, url="") as other:
                assert await other._driving.leg("left") is not None  # for another worker
                assert (await host.run("left")).listed.length == 1

    asyncio.run(main())


class Slow:
    """A model that is at work for long."""

    async def run_async(self, *given: object, **options: object) -> Any:
        """Never."""
        await asyncio.sleep(3600)


@asynccontextmanager
async def at_work(host: Away) -> AsyncGenerator[asyncio.Task[float | None]]:
    """A leg that is at work on the run `r`."""
    async with host, asyncio.timeout(10):
        await host.start("slow", "go", run_id="r")
        leg = asyncio.create_task(host._driving.leg("r"))
        while not host.health().running:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.005)
        yield leg


def test_what_is_at_work_at_the_end_is_given_back() -> None:
    """After its time it is cancelled, and somebody else's at once."""

    async def main() -> None:
        agents = {"slow": Agent(chat_generator=Slow())}
        host = Away(agents, MemoryJournal(), url="", drain_s=0.05, look_s=9)
        async with at_work(host) as leg:
            assert await host._driving.leg("r") is None  # it is at work already
            await host.close()
            assert isinstance(await leg, float)
            assert await host._driving.leg("r") is not None
        assert not host.health().is_ready

    asyncio.run(main())


def test_a_leg_that_its_engine_gives_up_goes_on() -> None:
    """It may have slept, and be the only one who knows what a tool has done."""

    async def main() -> None:
        agents = {"slow": Agent(chat_generator=Slow())}
        host = Away(agents, MemoryJournal(), url="", drain_s=0.05, look_s=9)
        async with at_work(host) as leg:
            leg.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leg
            assert host.health().running == 1

    asyncio.run(main())


class PanicError(BaseException):
    """As a library raises that is written in Rust."""


@pytest.mark.parametrize(
    "error",
    [OSError("no model here"), PanicError(), SystemExit(3), asyncio.CancelledError()],
    ids=repr,
)
def test_a_run_that_cannot_go_on_is_tried_later(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    """Each time later; the log says why, and the health says so."""

    class Broken:
        def warm_up(self) -> None:
            raise error

        async def run_async(self, *given: object, **options: object) -> Any:
            raise AssertionError

    async def main() -> None:
        journal = MemoryJournal()
        whole = Agent(chat_generator=ScriptedChatGenerator("x"), name="it", journal=journal)
        await whole.begin("hi", run_id="r").leave_async()
        agents = {"it": Agent(chat_generator=Broken())}
        async with Away(agents, journal, url="", look_s=9) as host, asyncio.timeout(10):
            first = await host._driving.leg("r")
            second = await host._driving.leg("r")
            assert first is not None
            assert second is not None
            assert second - first > 0.5
            assert host.health().faults == {"r": type(error).__name__}

    asyncio.run(main())
    assert "run r could not go on, for the 2. time" in caplog.text


@pytest.mark.parametrize("kind", [DBOSHost, TemporalHost, RestateHost])
def test_a_host_needs_places(kind: Any) -> None:
    """At least one."""
    where: dict[str, Any] = {"url": ""} if kind is DBOSHost else {}
    with pytest.raises(ValueError, match="'running' is 1 or more, got 0"):
        kind(host_agents(), MemoryJournal(), running=0, **where)
