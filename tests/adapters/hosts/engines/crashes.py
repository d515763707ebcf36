"""Runs on an engine whose workers are killed and frozen, and whose server is killed.

``PYTHONPATH=. python tests/adapters/hosts/engines/crashes.py ENGINE ROUNDS [SEED]`` says how often
what was done, and what of it was repeated or lost.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from tests.adapters.hosts.engines import worker
from tests.adapters.hosts.engines.sites import Site, site_of
from tests.adapters.hosts.engines.worker import CLAIM_S, host_on
from tests.adapters.hosts.worker import TURNS, journal_at, payer

ROOT = Path(__file__).parents[4]
RUNS = 4
PAYMENTS = RUNS * TURNS * 2
PATIENCE_S = 90.0


@contextmanager
def working(site: Site, folder: Path, rule: str) -> Generator[subprocess.Popen[bytes]]:
    """A worker in a process of its own."""
    program = [sys.executable, worker.__file__, json.dumps(site.told())]
    program += [str(folder / "runs.db"), str(folder), rule]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (
        (folder / "workers.log").open("ab") as log,
        subprocess.Popen(program, stdout=log, stderr=log, env=environment) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def paid_in(folder: Path) -> list[str]:
    """The payments so far, by their keys."""
    paid = folder / "paid.txt"
    return paid.read_text().split() if paid.exists() else []


async def begun(site: Site, folder: Path) -> None:
    """Begin runs from a process that does not work."""
    journal = journal_at(str(folder / "runs.db"))
    agents = {"payer": payer(folder)}
    async with host_on(site.told(works=False), agents, journal, works=False) as host:
        for number in range(RUNS):
            await host.start("payer", "pay", run_id=f"r{number}")


def until(holds: Callable[[], object], folder: Path) -> None:
    """Wait until `holds` does; then the log of the workers is of no interest."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError((folder / "workers.log").read_text()[-3000:])
        time.sleep(0.01)


def is_done(folder: Path) -> bool:
    """Whether each run has come to its end."""
    runs = journal_at(str(folder / "runs.db")).runs()
    return len(runs) == RUNS and all(run.status == "done" for run in runs)


def played(engine: str, what: str, seed: int) -> Counter[str]:
    """One round: something dies, or freezes, while runs are at work; all must come to their end."""
    chance, counts = random.Random(seed), Counter[str]()  # noqa: S311 - a game
    rule = "ask" if what == "freeze" else "look up"
    with tempfile.TemporaryDirectory() as name, site_of(engine, Path(name)) as site:
        folder = Path(name)
        with working(site, folder, rule) as first:
            until((folder / "ready").exists, folder)
            asyncio.run(begun(site, folder))
            number = chance.randrange(1, PAYMENTS - 2)
            until(lambda: len(paid_in(folder)) >= number, folder)
            time.sleep(chance.random() * 0.05)
            counts[what] += 1
            if what == "server" and site.server is not None:
                site.server.kill()
                time.sleep(chance.random())
                site.server.start()
                until(lambda: is_done(folder), folder)
            elif what == "freeze":
                first.send_signal(signal.SIGSTOP)
                with working(site, folder, rule):
                    time.sleep(CLAIM_S * 2)
                    first.send_signal(signal.SIGCONT)
                    until(lambda: is_done(folder), folder)
            else:
                first.kill()
                with working(site, folder, rule):
                    until(lambda: is_done(folder), folder)
        paid = Counter(paid_in(folder))
        counts["repeated"] += sum(paid.values()) - len(paid)
        counts["lost"] += PAYMENTS - len(paid)
    return counts


def main(engine: str, rounds: str, seed: str = "0") -> None:
    """Play rounds, and say what came of them."""
    whats = ["kill", "freeze"] if engine == "dbos" else ["kill", "freeze", "server"]
    total = Counter[str]()
    for number in range(int(rounds)):
        total += played(engine, whats[number % len(whats)], int(seed) + number)
        print(engine, number + 1, dict(total), flush=True)  # noqa: T201 - a command
    print(engine, "repeated:", total["repeated"], "lost:", total["lost"])  # noqa: T201 - as above


if __name__ == "__main__":
    main(*sys.argv[1:])
