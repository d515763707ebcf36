"""Shared by every contender and by the worker. Standard library only (it is imported in every venv)."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import tempfile
import time

ARGS = {"a": 1, "b": 2}
ARGS_JSON = '{"a": 1, "b": 2}'
ITEMS_PER_TURN = 10  # W3
W5_RUNS, W5_TURNS, W5_SLEEP = 1000, 5, 0.05
W6_CALLS, W6_SLEEP = 32, 0.020
W11_RUNS, BEAT = 1000, 0.005
DELTA = "word "  # W7
BASE_URL = os.environ.get("BENCH_BASE_URL", "http://127.0.0.1:8399/v1")

_LOOP = None


def loop() -> asyncio.AbstractEventLoop:
    """One event loop for the whole worker, so that no contender pays asyncio.run() for each run."""
    global _LOOP
    if _LOOP is None:
        _LOOP = asyncio.new_event_loop()
        asyncio.set_event_loop(_LOOP)
    return _LOOP


def wait(coro):
    return loop().run_until_complete(coro)


class Calls:
    """Counts tool invocations, so that each run is checked to have done the work it claims."""

    n = 0


def turn(n_messages: int) -> int:
    """Turn index for a history [user, (assistant, tool)*]: O(1), needs no state in the fake model."""
    return (n_messages - 1) // 2


class Workdir:
    """A fresh folder for W4 files: on disk (fsync counts) or in /dev/shm (fsync is free)."""

    def __init__(self, where: str):
        root = "/dev/shm" if where == "shm" else os.environ["BENCH_TMP"]
        os.makedirs(root, exist_ok=True)
        self.path = tempfile.mkdtemp(prefix="w4-", dir=root)

    def file(self, name: str) -> str:
        return os.path.join(self.path, name)

    def size(self) -> int:
        return sum(
            os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(self.path) for f in fs
        )

    def stored(self, name: str) -> dict[str, int]:
        """What a SQLite file holds: rows, and the bytes of text and blobs in them."""
        import sqlite3

        db = sqlite3.connect(self.file(name))
        payload = rows = 0
        for (table,) in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall():
            for row in db.execute(f"SELECT * FROM {table}"):
                rows += 1
                payload += sum(len(x) for x in row if isinstance(x, str | bytes))
        db.close()
        return {"payload": payload, "commits": rows}

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def inserting(path: str, commits: int, payload: int):
    """Writes as many bytes in as many durable commits, and does nothing else: the floor of W4."""
    import sqlite3

    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute("CREATE TABLE log (seq INTEGER PRIMARY KEY, body TEXT)")
    body = "x" * (payload // commits)

    def run():
        for seq in range(commits):
            db.execute("BEGIN")
            db.execute("INSERT INTO log VALUES (?, ?)", (seq, body))
            db.execute("COMMIT")
        db.close()

    return run


async def at_once(runs):
    """All of them in one event loop (W11): what they give, the times, and how late a task comes meanwhile
    that has nothing to do with them and wants to run each 5 ms. Full collections are rare, for everybody."""
    late = []

    async def beat():
        while True:
            due = time.perf_counter() + BEAT
            await asyncio.sleep(BEAT)
            late.append(time.perf_counter() - due)

    gc.collect()
    gc.set_threshold(700, 10, 1000)
    beating = asyncio.create_task(beat())
    await asyncio.sleep(BEAT)
    t0, c0 = time.perf_counter(), time.process_time()
    r = await asyncio.gather(*runs)
    d = {"wall": time.perf_counter() - t0, "cpu": time.process_time() - c0}
    await asyncio.sleep(BEAT)
    beating.cancel()
    late.sort()
    return r, {**d, "late_99": late[int(0.99 * len(late))], "late_max": late[-1]}


async def gather_limited(n: int, width: int, make):
    """Run make(i) for i < n with `width` workers (W8 concurrent)."""
    it = iter(range(n))

    async def worker():
        for i in it:
            await make(i)

    await asyncio.gather(*(worker() for _ in range(width)))
