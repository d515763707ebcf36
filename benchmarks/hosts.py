"""What a host on an engine costs: ``python benchmarks/hosts.py [ROUNDS] [FOLDER]``.

Agents whose model and tool do nothing, on `LocalHost`, `DBOSHost` and `TemporalHost`, beside bare
steps of the same engine (two a turn), in turns and in the same process; all journals are SQLite.
A ratio is that of a host to the bare steps of its engine. A turn is measured between two calls of
the tool, so that what it takes to begin a run is no part of it. For the time of failover two
workers with defaults are there, and the one that goes on with the run is killed. The folder should
be on the disk that is to be measured.
"""
# ruff: noqa: INP001, T201  # a script that talks to a terminal

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from bare_steps import TIMES, Play, dbos_steps, step, temporal_steps

from detent import Agent, ChatMessage, SQLiteJournal, ToolCall, tool
from detent.hosts import DBOSHost, LocalHost, TemporalHost, serve_until_signal
from detent.models import ChatReply

TURNS, RUNS, TURNS_AT_ONCE = 20, 30, 5
LONG, LARGE = 60, 20_000
PAUSE_S = 0.05
HOSTS = ("local", "dbos", "temporal")


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


def host_on(kind: str, agents: dict[str, Agent[Any, Any]], folder: Path, address: str) -> Any:
    """A host with its defaults, all of whose files are in the folder."""
    journal = SQLiteJournal(folder / "runs.db")
    match kind:
        case "dbos":
            return DBOSHost(agents, journal, url=f"sqlite:///{folder / 'queue.db'}")
        case "temporal":
            return TemporalHost(agents, journal, client=address)
        case _:
            return LocalHost(agents, journal)


@asynccontextmanager
async def hosted(kind: str, folder: Path, address: str) -> AsyncGenerator[Play]:
    """Turns of an agent on a host."""
    agents: dict[str, Agent[Any, Any]] = {"it": Agent(chat_generator=Model(), tools=[work])}
    async with host_on(kind, agents, folder, address) as host:

        async def play(turns: int, size: int) -> None:
            run_id = uuid4().hex
            await host.start("it", f"{turns} {size}", run_id=run_id)
            await host.result(run_id)

        yield play


@asynccontextmanager
async def played(kind: str, folder: Path, address: str) -> AsyncGenerator[Play]:
    """What is measured: a host, or bare steps."""
    async with AsyncExitStack() as stack:
        match kind:
            case "bare dbos":
                yield await stack.enter_async_context(dbos_steps(folder))
            case "bare temporal":
                yield await stack.enter_async_context(temporal_steps(address))
            case _:
                yield await stack.enter_async_context(hosted(kind, folder, address))


def stored(folder: Path) -> int:
    """How many bytes the databases in a folder use, also of what their logs still hold."""
    size = 0
    for file in folder.glob("*.db"):
        with closing(sqlite3.connect(file, timeout=30)) as base:
            names = ("page_count", "freelist_count", "page_size")
            pages, free, each = (base.execute(f"pragma {name}").fetchone()[0] for name in names)
        size += (pages - free) * each
    return size


async def measured(kind: str, folder: Path, server: Path, address: str) -> tuple[float, ...]:
    """Milliseconds to begin and for a turn, runs a second, bytes for a long run."""
    async with played(kind, folder, address) as play:
        await play(2, 10)
        TIMES.clear()
        began = time.perf_counter()
        await play(TURNS, 10)
        begin, turn = TIMES[0] - began, (TIMES[-1] - TIMES[0]) / (TURNS - 1)
        began = time.perf_counter()
        await asyncio.gather(*[play(TURNS_AT_ONCE, 10) for _ in range(RUNS)])
        rate = RUNS / (time.perf_counter() - began)
        where = server if kind == "bare temporal" else folder
        before, there = stored(where), stored(server)
        await play(LONG, LARGE)
    size = stored(where) - before
    return 1000 * begin, 1000 * turn, rate, size + (stored(server) - there) * (kind == "temporal")


def worker(kind: str, folder: str, address: str) -> None:
    """A process that goes on with runs, and says so in a file at each call of its tool."""
    said = Path(folder) / "calls"

    @tool(name="work", on_unknown="rerun")
    async def noted(size: int) -> str:
        """Write down who works, and when."""
        with said.open("a") as file:
            file.write(f"{os.getpid()} {time.time()}\n")
        return "done"

    agents: dict[str, Agent[Any, Any]] = {"it": Agent(chat_generator=Model(PAUSE_S), tools=[noted])}
    asyncio.run(serve_until_signal(host_on(kind, agents, Path(folder), address), lambda: None))


def calls(folder: Path) -> list[tuple[int, float]]:
    """Who has worked, and when."""
    file = folder / "calls"
    lines = file.read_text().split("\n")[:-1] if file.exists() else []
    return [(int(pid), float(at)) for pid, at in map(str.split, lines)]


def failover_s(kind: str, folder: Path, address: str) -> float:
    """How long nobody works after a worker was killed."""
    folder.mkdir()
    program = [sys.executable, __file__, "--worker", kind, str(folder), address]
    workers = [subprocess.Popen(program) for _ in range(2)]  # noqa: S603 - our own
    try:
        time.sleep(5)
        journal = SQLiteJournal(folder / "runs.db")
        agent = Agent(chat_generator=Model(), tools=[work], name="it", journal=journal)
        asyncio.run(agent.begin("1000 10", run_id="r").leave_async())
        while len(calls(folder)) < 10:  # noqa: PLR2004 - it is under way
            time.sleep(0.01)
        killed = calls(folder)[-1][0]
        os.kill(killed, signal.SIGKILL)
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


def temporal(folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Temporal's server for development, and its address."""
    folder.mkdir()
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    program = [str(Path(sys.executable).with_name("temporal")), "server", "start-dev"]
    program += ["--headless", "--ip", "127.0.0.1", "--port", str(port), "--log-level", "error"]
    program += ["--db-filename", str(folder / "temporal.db")]
    server = subprocess.Popen(program)  # noqa: S603 - from its wheel
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return server, f"127.0.0.1:{port}"


def main() -> None:
    """Print a table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    kinds = ("local", "bare dbos", "dbos", "bare temporal", "temporal")
    got: dict[str, list[tuple[float, ...]]] = {kind: [] for kind in kinds}
    with TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as name:  # noqa: PLR2004
        folder = Path(name)
        server, address = temporal(folder / "server")
        try:
            for turn in range(rounds):
                for kind in kinds:
                    where = folder / f"{kind}-{turn}"
                    where.mkdir()
                    one = measured(kind, where, folder / "server", address)
                    got[kind].append(asyncio.run(one))
            over = {kind: failover_s(kind, folder / f"{kind}-over", address) for kind in HOSTS}
        finally:
            server.kill()
            server.wait()
    print(
        "| | a turn, to bare | a turn | to begin | runs a second | bytes, to content | failover |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    middle = {
        kind: [median(column) for column in zip(*all_, strict=True)] for kind, all_ in got.items()
    }
    for kind, (begin, turn_ms, rate, size) in middle.items():
        bare = middle.get(f"bare {kind}")
        ratio = "" if bare is None else f"{turn_ms / bare[1]:.2f}"
        gap = f"{over[kind]:.1f} s" if kind in over else ""
        figures = f"{turn_ms:.1f} ms | {begin:.0f} ms | {rate:.1f} | {size / (LONG * LARGE):.1f}"
        print(f"| {kind} | {ratio} | {figures} | {gap} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:])
    else:
        main()
