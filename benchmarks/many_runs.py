"""Many runs in one event loop: ``python benchmarks/many_runs.py [RUNS] [FOLDER] [POSTGRES_URL]``.

Each run has five turns; the model and the tool take up to 50 ms each. It prints the runs a second,
and how late a task comes that has nothing to do with them and wants to run each 5 ms. The folder
should be on the disk that is to be measured. Full garbage collections are rare, as where `detent
serve` hosts runs; with FULL_COLLECTIONS=often they come as CPython would have them.

A disk whose fsync takes a millisecond more, where there is a compiler:

    cc -shared -fPIC -o slow_fsync.so benchmarks/slow_fsync.c -ldl
    LD_PRELOAD=./slow_fsync.so python benchmarks/many_runs.py
"""
# ruff: noqa: INP001, T201  # a script that talks to a terminal

from __future__ import annotations

import asyncio
import gc
import os
import random
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from detent import Agent, ChatMessage, ToolCall, tool
from detent.journals import DirectoryJournal, Journal, MemoryJournal, PostgresJournal, SQLiteJournal
from detent.models import ChatReply

How: TypeAlias = Callable[[Agent[Any], int], Coroutine[Any, Any, None]]

TURNS, LATENCY_S, BEAT_S = 5, 0.05, 0.005
THREADS = 64


@tool
async def add(a: int, b: int) -> int:
    """Add."""
    await asyncio.sleep(random.uniform(0, LATENCY_S))  # noqa: S311 - nothing is secret
    return a + b


class Model:
    """Calls the tool in each turn, and then answers."""

    def _reply(self, messages: Sequence[ChatMessage]) -> ChatReply:
        turn = sum(1 for message in messages if message.tool_call_results)
        if turn >= TURNS:
            return ChatReply(ChatMessage.from_assistant("Done."))
        call = ToolCall("add", {"a": turn, "b": 2}, f"c{turn}")
        return ChatReply(ChatMessage.from_assistant(tool_calls=[call]))

    async def run_async(self, messages: Sequence[ChatMessage], **rest: Any) -> ChatReply:
        """After a while."""
        await asyncio.sleep(random.uniform(0, LATENCY_S))  # noqa: S311 - as above
        return self._reply(messages)

    def run(self, messages: Sequence[ChatMessage], **rest: Any) -> ChatReply:
        """As above, blocking."""
        time.sleep(random.uniform(0, LATENCY_S))  # noqa: S311 - as above
        return self._reply(messages)


async def in_the_loop(agent: Agent[Any], runs: int) -> None:
    """All at once."""
    await asyncio.gather(*[agent.run_async("Add.") for _ in range(runs)])


async def in_threads(agent: Agent[Any], runs: int) -> None:
    """As many at a time as there are threads."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(THREADS) as pool:
        await asyncio.gather(*[loop.run_in_executor(pool, agent.run, "Add.") for _ in range(runs)])


async def measured(work: Callable[[], Coroutine[Any, Any, None]]) -> tuple[float, list[float]]:
    """The seconds that it takes, and how late each beat was, in order of size."""
    late: list[float] = []

    async def beat() -> None:
        while True:
            due = time.perf_counter() + BEAT_S
            await asyncio.sleep(BEAT_S)
            late.append(time.perf_counter() - due)

    beating = asyncio.create_task(beat())
    await asyncio.sleep(10 * BEAT_S)
    began = time.perf_counter()
    await work()
    took = time.perf_counter() - began
    await asyncio.sleep(BEAT_S)
    beating.cancel()
    return took, sorted(late)


def main() -> None:
    """Print a table."""
    if os.environ.get("FULL_COLLECTIONS") != "often":
        gc.set_threshold(700, 10, 1_000)
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:  # noqa: PLR2004
        stores: dict[str, Callable[[], Journal | None]] = {
            "none": lambda: None,
            "memory": MemoryJournal,
            "sqlite": lambda: SQLiteJournal(Path(folder) / "runs.db"),
            "directory": lambda: DirectoryJournal(Path(folder) / "runs"),
        }
        if len(sys.argv) > 3:  # noqa: PLR2004 - the arguments above
            stores["postgres"] = lambda: PostgresJournal(sys.argv[3])
        print("| journal | runs | a second | late, 99 of 100 | late, at most |")
        print("|---|---|---:|---:|---:|")
        for name, make in stores.items():
            for how in (in_the_loop, in_threads):
                print(row(name, make(), how, runs), flush=True)


def row(name: str, journal: Journal | None, how: How, runs: int) -> str:
    """A row of the table. What rows before it have left behind is collected first."""
    agent = Agent(chat_generator=Model(), tools=[add], journal=journal)
    gc.collect()
    took, late = asyncio.run(measured(lambda: how(agent, runs)))
    most, nearly = 1000 * late[-1], 1000 * late[int(0.99 * len(late))]
    label = how.__name__.replace("_", " ")
    return f"| {name} | {label} | {runs / took:.0f} | {nearly:.0f} ms | {most:.0f} ms |"


if __name__ == "__main__":
    main()
