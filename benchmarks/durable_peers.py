"""pydantic-ai on an engine, in a process and a virtual environment of its own. See `hosts.py`."""
# ruff: noqa: INP001  # a part of a script

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from bare_steps import TIMES, Play

HERE = Path(__file__).parent
PYTHON = Path(os.environ.get("BENCH_ENVS", HERE / ".venvs")) / "durable" / "bin" / "python"
"""Where there is one: with pydantic-ai-slim[dbos,temporal]."""


@asynccontextmanager
async def peer(engine: str, where: str) -> AsyncGenerator[Play]:
    """Have so many turns played there."""
    pipe = asyncio.subprocess.PIPE
    program = [str(PYTHON), str(HERE / "durable_peer.py"), engine, where]
    process = await asyncio.create_subprocess_exec(*program, stdin=pipe, stdout=pipe)
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None  # noqa: S101 - they are pipes
    assert stdout is not None  # noqa: S101 - as above
    names, waiting = count(), dict[int, asyncio.Future[None]]()

    async def play(turns: int, size: int) -> None:
        name = next(names)
        played = waiting[name] = asyncio.get_running_loop().create_future()
        stdin.write(json.dumps([name, turns, size]).encode() + b"\n")
        await stdin.drain()
        await played

    async def read() -> None:
        async for line in stdout:
            name, times = json.loads(line)
            if times is None:
                waiting.pop(name).set_exception(RuntimeError(f"{engine}: a run has failed"))
                continue
            TIMES.extend(times)
            waiting.pop(name).set_result(None)

    while (await stdout.readline()).strip() != b"ready":
        if process.returncode is not None:
            raise RuntimeError(f"{program} has ended")
    reading = asyncio.create_task(read())
    try:
        yield play
    finally:
        stdin.close()
        await process.wait()
        reading.cancel()
