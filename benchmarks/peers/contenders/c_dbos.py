"""Bare steps of DBOS in SQLite: no agent, two steps a turn; only for durable runs at once."""

from __future__ import annotations

import common as c

NAME, VENV, IMPORT, DISTS = "dbos", "dbos", "import dbos", ("dbos",)
VARIANTS = {"W11": ["steps"]}


def setup(workload, n, variant):
    global RUN, WD
    from dbos import DBOS

    c.loop()
    WD = c.Workdir("disk")
    url = f"sqlite:///{WD.file('s.db')}"
    DBOS(config={"name": "bare", "system_database_url": url, "log_level": "ERROR"})

    @DBOS.step()
    async def model(turn: int) -> str:
        return "go on" if turn < c.W5_TURNS else "done"

    @DBOS.step()
    async def tool(a: int, b: int) -> int:
        c.Calls.n += 1
        return a + b

    @DBOS.workflow()
    async def RUN() -> int:
        turn = 0
        while await model(turn) != "done":
            await tool(1, 2)
            turn += 1
        return turn

    DBOS.launch()


def run(workload, n):
    c.Calls.n = 0

    r, d = c.wait(c.at_once(RUN() for _ in range(n)))
    return {**d, "ok": len(r) == n and c.Calls.n == n * c.W5_TURNS}
