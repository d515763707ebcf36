"""Runs on a host whose workers are killed and frozen, and whose server and network fail.

``python3 dev.py crashes [HOST [ROUNDS [SEED [WHATS]]]]`` says how often what was done, and what of
it was repeated, lost, or begun again though nobody had looked. HOST is "local", "dbos", "temporal",
"restate", "temporal-effects" or "dbos-effects", or "all" of them. WHATS are the ways to die, with
commas between them; all of them unless it is said.

A run calls two tools in each turn, of which one is settled while the other one is at work. A worker
is killed, frozen and woken, or cut from its server for a while, without a word or with one; or the
server is killed and started again: that of the engine, or the PostgreSQL in which "local" and
"dbos" then have what they store.
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
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from tests.adapters.hosts.engines import worker
from tests.adapters.hosts.engines.sites import EFFECTS, ENGINES, Site, site_of
from tests.adapters.hosts.engines.worker import CLAIM_S, host_on
from tests.adapters.hosts.worker import TURNS, journal_at, payer

ROOT = Path(__file__).parents[4]
RUNS = 4
PAYMENTS = RUNS * TURNS * 2
PATIENCE_S = 300.0
WHATS = ("kill", "freeze", "server", "cut")
AWAY_S = {"kill": (0.0, 0.0), "freeze": (CLAIM_S * 2,) * 2, "cut": (0.0, CLAIM_S * 2)}


@contextmanager
def working(
    site: Site, folder: Path, rule: str, *, is_wired: bool = False
) -> Generator[subprocess.Popen[bytes]]:
    """A worker in a process of its own."""
    program = [sys.executable, worker.__file__, json.dumps(site.told(is_wired=is_wired))]
    program += [site.stored(is_wired=is_wired), str(folder), rule]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    with (
        (folder / "workers.log").open("ab") as log,
        subprocess.Popen(program, stdout=log, stderr=log, env=environment) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


class NeverBegunError(Exception):
    """The first worker has ended before anything has happened to it, which says nothing of runs."""


def paid_in(folder: Path) -> list[str]:
    """The payments so far, by their keys."""
    paid = folder / "paid.txt"
    return paid.read_text().split() if paid.exists() else []


def silent_in(folder: Path) -> int:
    """How often a tool was begun again that had begun, though nobody had looked in between."""
    noted, found = folder / "noted.txt", 0
    begun = set[str]()
    for line in noted.read_text().splitlines():
        what, key = line.split()
        found += what == "begin" and key in begun
        begun = begun | {key} if what == "begin" else begun - {key}
    return found


async def begun(site: Site, folder: Path, rule: str) -> None:
    """Begin runs from a process that does not work."""
    journal = journal_at(site.store)
    if site.engine == "local":
        agent = payer(folder, rule, name="payer", journal=journal)
        for number in range(RUNS):
            await agent.begin("pay", run_id=f"r{number}").leave_async()
        return
    agents = {"payer": payer(folder, rule)}
    async with host_on(site.told(works=False), agents, journal, works=False) as host:
        for number in range(RUNS):
            await host.start("payer", "pay", run_id=f"r{number}")


def until(
    holds: Callable[[], object], folder: Path, stands: Callable[[], str] = lambda: ""
) -> None:
    """Wait until `holds` does; then the workers' log, and how it stands, are of no interest."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            log = (folder / "workers.log").read_text()[-3000:]
            noted = (folder / "noted.txt").read_text() if (folder / "noted.txt").exists() else ""
            raise TimeoutError(f"{log}\n{stands()}\n{noted}")
        time.sleep(0.01)


def stands(site: Site) -> str:
    """How far each run has come, and what has happened to those that go on."""
    journal: Any = journal_at(site.store)
    return "\n".join(
        f"{run.run_id} {run.status} {run.pending} "
        + ("" if run.status == "done" else f"{[one.kind for one in journal.read(run.run_id)]}")
        for run in journal.runs()
    )


def is_done(site: Site) -> Callable[[], bool]:
    """Whether each run has come to its end."""
    journal: Any = journal_at(site.store)

    def look() -> bool:
        runs = journal.runs()
        return len(runs) == RUNS and all(run.status == "done" for run in runs)

    return look


def played(host: str, what: str, seed: int) -> Counter[str]:
    """One round: something dies, or freezes, while runs are at work; all must come to their end."""
    chance = random.Random(seed)  # noqa: S311 - a game
    has_postgres = host in {"local", "dbos", "dbos-effects"} and what in {"server", "cut"}
    # A worker that lives, and that nobody hears, is at work on a payment about which a look would
    # say that it was never made.
    rule = "ask" if what in {"freeze", "cut"} else "look up"
    with (
        tempfile.TemporaryDirectory() as name,
        site_of(host, Path(name), has_postgres=has_postgres) as site,
    ):
        folder = Path(name)
        with working(site, folder, rule, is_wired=what == "cut") as first:
            until(lambda: first.poll() is not None or (folder / "ready").exists(), folder)
            if first.poll() is not None:
                raise NeverBegunError((folder / "workers.log").read_text()[-3000:])
            asyncio.run(begun(site, folder, rule))
            number = chance.randrange(1, PAYMENTS - 2)
            until(lambda: len(paid_in(folder)) >= number, folder)
            time.sleep(chance.random() * 0.05)
            if what == "server":
                served_anew(site, chance)
                until(is_done(site), folder, partial(stands, site))
            else:
                come_back = gone(site, what, first, chance)
                with working(site, folder, rule):
                    time.sleep(chance.uniform(*AWAY_S[what]))
                    come_back()
                    until(is_done(site), folder, partial(stands, site))
        paid = Counter(paid_in(folder))
        return Counter(
            {
                what: 1,
                "repeated": sum(paid.values()) - len(paid),
                "lost": PAYMENTS - len(paid),
                "silent": silent_in(folder),
            }
        )


Round: TypeAlias = Callable[[str, str, int], Counter[str]]
"""Plays one round on a host, with something that happens, and a seed."""


def served_anew(site: Site, chance: random.Random) -> None:
    """The server is killed, and soon started again."""
    assert site.server is not None
    site.server.kill()
    time.sleep(chance.random())
    site.server.start()


def gone(
    site: Site, what: str, first: subprocess.Popen[bytes], chance: random.Random
) -> Callable[[], object]:
    """A worker is gone: for ever, or until it is let come back."""
    if what == "kill":
        first.kill()
        return lambda: None
    if what == "freeze":
        first.send_signal(signal.SIGSTOP)
        return lambda: first.send_signal(signal.SIGCONT)
    site.network.cut(is_silent=chance.random() < 0.5)
    return site.network.heal


def main(
    host: str = "all", rounds: str = "4", seed: str = "0", whats: str = ",".join(WHATS)
) -> None:
    """Play rounds, and say what came of them."""
    ways = whats.split(",")
    if not set(ways) <= set(WHATS):
        sys.exit(f"the ways to die are {', '.join(WHATS)}; got {whats!r}")
    every = ("local", *ENGINES, *EFFECTS)
    if host not in {"all", *every}:
        sys.exit(f"the hosts are {', '.join(every)}, or all of them; got {host!r}")
    hosts = every if host == "all" else (host,)
    bad = [matrix(one, int(rounds), int(seed), whats=ways) for one in hosts]
    sys.exit(any(bad))


def matrix(
    host: str, rounds: int, seed: int, played: Round = played, whats: Sequence[str] = WHATS
) -> bool:
    """Play rounds on one host, and say whether anything was not as it should be."""
    total = Counter[str]()
    for number in range(rounds):
        what = whats[number % len(whats)]
        try:
            total += played(host, what, seed + number)
        except TimeoutError as error:
            total["stuck"] += 1
            print(host, what, "stands still in round", number, error)  # noqa: T201 - a command
        except NeverBegunError as error:
            total["unbegun"] += 1
            print(host, what, "has not begun in round", number, error)  # noqa: T201 - as above
        print(host, number + 1, dict(total), flush=True)  # noqa: T201 - as above
    bad = {name: total[name] for name in ("repeated", "lost", "silent", "stuck", "unbegun")}
    print(host, bad, flush=True)  # noqa: T201 - as above
    return any(bad.values())


if __name__ == "__main__":
    main(*sys.argv[1:])
