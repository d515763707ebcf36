"""What a host on an engine costs: ``python benchmarks/hosts.py [ROUNDS] [FOLDER]``.

Agents whose model and tool do nothing, on `LocalHost`, `DBOSHost`, `TemporalHost` and
`RestateHost`, beside bare steps of the same engine (two a turn), in turns and in the same process.
Journals are SQLite, and PostgreSQL, which then has the queue of DBOS as well. A ratio is that of a
host to the bare steps of its engine. A turn is measured between two calls of the tool, so that what
it takes to begin a run is no part of it. For the time of failover two workers with defaults are
there, and the one that goes on with the run is killed. The folder should be on the disk that is to
be measured.

Restate is left out where there is no restate-server on the path or at DETENT_TEST_RESTATE. Its
workers stand behind one address, and here is nothing that would divide the calls: for the time of
failover the second one is told to Restate in the place of the first. pydantic-ai is there where
BENCH_ENVS has a virtual environment "durable", with pydantic-ai-slim[dbos,temporal].
"""
# ruff: noqa: INP001, T201  # a script that talks to a terminal

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from importlib import import_module
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias
from uuid import uuid4

from bare_steps import TIMES, Play, dbos_steps, restate_steps, step, temporal_steps
from durable_peers import PYTHON, peer

from detent import Agent, ChatMessage, SQLiteJournal, ToolCall, tool
from detent.hosts import DBOSHost, LocalHost, RestateHost, TemporalHost, serve_until_signal
from detent.journals import PostgresJournal
from detent.models import ChatReply

TURNS, RUNS, TURNS_AT_ONCE = 20, 30, 5
LONG, LARGE = 60, 20_000
PAUSE_S = 0.05
HOSTS = (
    *("local", "local, PostgreSQL", "dbos", "dbos effects", "dbos, PostgreSQL"),
    *("dbos effects, PostgreSQL", "temporal", "temporal effects", "restate"),
)
KINDS = (
    *("local", "local, PostgreSQL"),
    *("bare dbos", "dbos", "dbos effects", "pydantic-ai dbos"),
    *("bare dbos, PostgreSQL", "dbos, PostgreSQL", "dbos effects, PostgreSQL"),
    "pydantic-ai dbos, PostgreSQL",
    *("bare temporal", "temporal", "temporal effects", "pydantic-ai temporal"),
    *("bare restate", "restate"),
)

Where: TypeAlias = Mapping[str, str]
"""Where the servers are: "temporal", "ingress" and "admin" of Restate, "postgres"."""


class Model:
    """Calls the tool as often as it is told, and then answers."""

    def __init__(self, pause_s: float = 0.0) -> None:
        self._pause_s = pause_s

    async def run_async(self, messages: Sequence[ChatMessage], **rest: Any) -> ChatReply:
        """The next call."""
        await asyncio.sleep(self._pause_s)
        turns, size = map(int, (messages[0].text or "").split())
        turn = sum(1 for message in messages if message.tool_call_results)
        if turn >= turns:
            return ChatReply(ChatMessage.from_assistant("Done."))
        call = ToolCall("work", {"size": size}, f"c{turn}")
        return ChatReply(ChatMessage.from_assistant(tool_calls=[call]))


@tool
async def work(size: int) -> str:
    """Do a step."""
    return step("tool", size)


def has_postgres(kind: str) -> bool:
    """Whether what is stored is in PostgreSQL."""
    return kind.endswith("PostgreSQL")


def queue_of(kind: str, folder: Path, where: Where) -> str:
    """The URL of DBOS's database."""
    return where["postgres"] if has_postgres(kind) else f"sqlite:///{folder / 'queue.db'}"


def host_on(
    kind: str,
    agents: dict[str, Agent[Any, Any]],
    folder: Path,
    where: Where,
    *,
    works: bool = True,
) -> Any:
    """A host with its defaults, all of whose files are in the folder."""
    in_files = SQLiteJournal(folder / "runs.db")
    journal = PostgresJournal(where["postgres"]) if has_postgres(kind) else in_files
    engine, _, mode = kind.partition(",")[0].partition(" ")
    by: Any = ({"mode": mode} if mode else {}) | ({} if works else {"works": False})
    match engine:
        case "dbos":
            return DBOSHost(agents, journal, url=queue_of(kind, folder, where), **by)
        case "temporal":
            return TemporalHost(agents, journal, client=where["temporal"], **by)
        case "restate":
            listen = where.get("listen") or f"127.0.0.1:{free_port()}"
            ingress, admin = where["ingress"], where["admin"]
            return RestateHost(agents, journal, ingress=ingress, admin=admin, listen=listen)
        case _:
            return LocalHost(agents, journal)


@asynccontextmanager
async def hosted(kind: str, folder: Path, where: Where) -> AsyncGenerator[Play]:
    """Turns of an agent on a host."""
    agents: dict[str, Agent[Any, Any]] = {"it": Agent(chat_generator=Model(), tools=[work])}
    async with host_on(kind, agents, folder, where) as host:

        async def play(turns: int, size: int) -> None:
            run_id = uuid4().hex
            await host.start("it", f"{turns} {size}", run_id=run_id)
            await host.result(run_id)

        yield play


@asynccontextmanager
async def played(kind: str, folder: Path, where: Where) -> AsyncGenerator[Play]:
    """What is measured: a host, or bare steps."""
    async with AsyncExitStack() as stack:
        match kind.partition(",")[0]:
            case "bare dbos":
                steps = dbos_steps(queue_of(kind, folder, where))
                yield await stack.enter_async_context(steps)
            case "bare temporal":
                yield await stack.enter_async_context(temporal_steps(where["temporal"]))
            case "bare restate":
                at = (where["ingress"], where["admin"], free_port())
                yield await stack.enter_async_context(restate_steps(*at))
            case "pydantic-ai dbos":
                yield await stack.enter_async_context(peer("dbos", queue_of(kind, folder, where)))
            case "pydantic-ai temporal":
                yield await stack.enter_async_context(peer("temporal", where["temporal"]))
            case _:
                yield await stack.enter_async_context(hosted(kind, folder, where))


def stored(folder: Path) -> int:
    """How many bytes the databases in a folder use, also of what their logs still hold."""
    size = 0
    for file in folder.glob("*.db"):
        with closing(sqlite3.connect(file, timeout=30)) as base:
            names = ("page_count", "freelist_count", "page_size")
            pages, free, each = (base.execute(f"pragma {name}").fetchone()[0] for name in names)
        size += (pages - free) * each
    return size


def files_in(folder: Path) -> int:
    """How many bytes the files of a server have on the disk; those of Restate grow by steps."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


def stored_in(url: str) -> int:
    """How many bytes a database of PostgreSQL uses."""
    import psycopg

    with psycopg.connect(url) as base:
        row = base.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None  # noqa: S101 - it has a size
    return int(row[0])


async def measured(kind: str, folder: Path, server: Path, where: Where) -> tuple[float, ...]:
    """Milliseconds to begin and for a turn, runs a second, bytes for a long run."""

    def size() -> int:
        if has_postgres(kind):
            return stored_in(where["postgres"])
        if kind.endswith("restate"):
            return stored(folder) + files_in(server.with_name("restate"))
        both = [folder, server] if "temporal" in kind else [folder]
        return sum(map(stored, both))

    async with played(kind, folder, where) as play:
        await play(2, 10)
        TIMES.clear()
        began = time.perf_counter()
        await play(TURNS, 10)
        begin, turn = TIMES[0] - began, (TIMES[-1] - TIMES[0]) / (TURNS - 1)
        began = time.perf_counter()
        await asyncio.gather(*[play(TURNS_AT_ONCE, 10) for _ in range(RUNS)])
        rate = RUNS / (time.perf_counter() - began)
        before = size()
        await play(LONG, LARGE)
    return 1000 * begin, 1000 * turn, rate, size() - before


def worker(kind: str, folder: str, where: str) -> None:
    """A process that goes on with runs, and says so in a file at each call of its tool."""
    said = Path(folder) / "calls"

    @tool(name="work", on_unknown="rerun")
    async def noted(size: int) -> str:
        """Write down who works, and when."""
        with said.open("a") as file:
            file.write(f"{os.getpid()} {time.time()}\n")
        return "done"

    agents: dict[str, Agent[Any, Any]] = {"it": Agent(chat_generator=Model(PAUSE_S), tools=[noted])}
    host = host_on(kind, agents, Path(folder), json.loads(where))
    asyncio.run(serve_until_signal(host, lambda: None))


def calls(folder: Path) -> list[tuple[int, float]]:
    """Who has worked, and when."""
    file = folder / "calls"
    lines = file.read_text().split("\n")[:-1] if file.exists() else []
    return [(int(pid), float(at)) for pid, at in map(str.split, lines)]


async def begun(kind: str, folder: Path, where: Where) -> None:
    """Begin a run in an engine whose history is the truth."""

    @tool(name="work", on_unknown="rerun")
    async def unused(size: int) -> str:
        """Do nothing here."""
        return "done"

    agents: dict[str, Agent[Any, Any]] = {"it": Agent(chat_generator=Model(), tools=[unused])}
    async with host_on(kind, agents, folder, where, works=False) as host:
        await host.start("it", "1000 10", run_id="r")


def told_instead(admin: str, listen: str) -> None:
    """Have Restate call the worker that is left, as whoever stands before the workers would."""
    import httpx

    told = {"uri": f"http://{listen}", "force": True, "use_http_11": True}
    httpx.post(f"{admin}/deployments", json=told).raise_for_status()


def failover_s(kind: str, folder: Path, where: Where) -> float:
    """How long nobody works after a worker was killed."""
    folder.mkdir()
    program = [sys.executable, __file__, "--worker", kind, str(folder)]
    listens = [f"127.0.0.1:{free_port()}" for _ in range(2)]
    told = [json.dumps({**where, "listen": listen}) for listen in listens]
    workers = [subprocess.Popen([*program, one]) for one in told]  # noqa: S603 - our own
    try:
        time.sleep(5)
        in_files = SQLiteJournal(folder / "runs.db")
        journal = PostgresJournal(where["postgres"]) if has_postgres(kind) else in_files
        agent = Agent(chat_generator=Model(), tools=[work], name="it", journal=journal)
        if "effects" in kind:
            asyncio.run(begun(kind, folder, where))
        else:
            asyncio.run(agent.begin("1000 10", run_id="r").leave_async())
        while len(calls(folder)) < 10:  # noqa: PLR2004 - it is under way
            time.sleep(0.01)
        killed = calls(folder)[-1][0]
        os.kill(killed, signal.SIGKILL)
        if kind == "restate":
            left = next(
                listen for one, listen in zip(workers, listens, strict=True) if one.pid != killed
            )
            told_instead(where["admin"], left)
        at, end = time.time(), time.time() + 60
        while time.time() < end:
            if later := [when for pid, when in calls(folder) if pid != killed]:
                return later[0] - at
            time.sleep(0.01)
        return float("inf")
    finally:
        for process in workers:
            process.kill()
            process.wait()


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def serving(program: Sequence[str], *ports: int) -> Generator[None]:
    """A server, once it listens."""
    server = subprocess.Popen(  # noqa: S603 - from its package
        program, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        for port in ports:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.1)
        yield
    finally:
        os.killpg(server.pid, signal.SIGKILL)  # what the program has begun in its place, too
        server.wait()


@contextmanager
def temporal(folder: Path) -> Generator[Where]:
    """Temporal's server for development."""
    folder.mkdir()
    port = free_port()
    program = [str(Path(sys.executable).with_name("temporal")), "server", "start-dev"]
    program += ["--headless", "--ip", "127.0.0.1", "--port", str(port), "--log-level", "error"]
    program += ["--db-filename", str(folder / "temporal.db")]
    with serving(program, port):
        yield {"temporal": f"127.0.0.1:{port}"}


@contextmanager
def restate(folder: Path) -> Generator[Where]:
    """Restate's server, where there is one."""
    program = os.environ.get("DETENT_TEST_RESTATE") or shutil.which("restate-server")
    if program is None:
        print("no restate-server: npm install @restatedev/restate-server", file=sys.stderr)
        yield {}
        return
    folder.mkdir()
    ingress, admin, node = (free_port() for _ in range(3))
    settings = folder / "restate.toml"
    settings.write_text(
        f'base-dir = "{folder / "data"}"\ncluster-name = "bench"\nlog-filter = "error"\n'
        f'disable-telemetry = true\nbind-ip = "127.0.0.1"\nbind-port = {node}\n'
        f'advertised-host = "127.0.0.1"\n[ingress]\nbind-address = "127.0.0.1:{ingress}"\n'
        f'[admin]\nbind-address = "127.0.0.1:{admin}"\n'
    )
    with serving([program, "--config-file", str(settings)], ingress, admin):
        yield {"ingress": f"http://127.0.0.1:{ingress}", "admin": f"http://127.0.0.1:{admin}"}


@contextmanager
def postgres() -> Generator[Callable[[], str]]:
    """PostgreSQL from its wheel, with a new database each time it is asked for one."""
    import psycopg
    from psycopg import sql

    pgserver: Any = import_module("pgserver")
    with TemporaryDirectory() as folder:  # of its own: when root runs this, another user serves
        server = pgserver.get_server(folder)

        def database() -> str:
            name = f"b{uuid4().hex}"
            with psycopg.connect(server.get_uri(), autocommit=True) as base:
                base.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            found: str = server.get_uri(name)
            return found

        try:
            yield database
        finally:
            server.cleanup()


def main() -> None:
    """Print a table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    disk = sys.argv[2] if len(sys.argv) > 2 else None  # noqa: PLR2004
    got: dict[str, list[tuple[float, ...]]] = {}
    over: dict[str, float] = {}
    with (
        TemporaryDirectory(dir=disk) as name,
        temporal(Path(name) / "temporal") as at_temporal,
        restate(Path(name) / "restate") as at_restate,
        postgres() as database,
    ):
        folder, servers = Path(name), {**at_temporal, **at_restate}
        for turn in range(rounds):
            for number, kind in enumerate(KINDS):
                is_there = PYTHON.exists() if kind.startswith("pydantic-ai") else at_restate
                if kind.startswith(("pydantic-ai", "bare restate", "restate")) and not is_there:
                    continue
                own = folder / f"{number}-{turn}"
                own.mkdir()
                where = {**servers, "postgres": database()}
                one = asyncio.run(measured(kind, own, folder / "temporal", where))
                got.setdefault(kind, []).append(one)
        for number, kind in enumerate(HOSTS):
            if kind in got:
                where = {**servers, "postgres": database()}
                over[kind] = failover_s(kind, folder / f"{number}-over", where)
    print(f"load of the machine: {', '.join(f'{one:.1f}' for one in os.getloadavg())}")
    print(
        "| | a turn, to bare | a turn | to begin | runs a second | bytes, to content | failover |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    middle = {
        kind: [median(column) for column in zip(*all_, strict=True)] for kind, all_ in got.items()
    }
    for kind, (begin, turn_ms, rate, size) in middle.items():
        engine, _, store = kind.removeprefix("pydantic-ai ").partition(",")
        bare = middle.get(f"bare {engine.split()[0]}{store and ','}{store}")
        bare = None if kind.startswith("bare") else bare
        ratio = "" if bare is None else f"{turn_ms / bare[1]:.2f}"
        gap = f"{over[kind]:.1f} s" if kind in over else ""
        figures = f"{turn_ms:.1f} ms | {begin:.0f} ms | {rate:.1f} | {size / (LONG * LARGE):.1f}"
        print(f"| {kind} | {ratio} | {figures} | {gap} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:])
    else:
        main()
