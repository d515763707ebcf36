"""The refund desk on a host whose processes are killed and frozen, and whose server fails.

``python3 dev.py crashes desk [HOST [ROUNDS [SEED]]]`` says how often what was done, and which
refunds were paid more than once, or not at all. HOST is "local", "dbos", "temporal" or "restate",
or "all" of them. It is the program of `examples` as it is deployed, with its defaults: customers
send eight orders, of which a person decides about every other one in the browser.

A process of the service is killed, frozen for longer than its claim and woken, or cut from its
server for a while, and another one goes on; or the server is killed and started again: that of the
engine, or the PostgreSQL in which "local" and "dbos" then have what they store.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

import httpx

from detent.adapters.drivers.leases import CLAIM_S
from tests.adapters.hosts.engines.crashes import gone, matrix, served_anew
from tests.adapters.hosts.engines.servers import free_ports, wait_for
from tests.adapters.hosts.engines.sites import ENGINES, Site, site_of
from tests.examples.loading import EXAMPLES, ROOT

HOSTS = ("local", *ENGINES)
TOKEN = "a-token-of-32-characters-for-test"  # noqa: S105 - made up
ORDERS = {str(number): (12.5, 300.0)[number % 2] for number in range(8)}
"""How much each costs; a person decides about the dear ones."""
PATIENCE_S = 150.0
PAUSE_S = 0.05
AWAY_S = {"kill": (0.0, 0.0), "freeze": (CLAIM_S, CLAIM_S + 5), "cut": (0.0, 5.0)}


def engine_at(site: Site, *, is_wired: bool = False) -> str:
    """The one setting that says where the runs are to live."""
    told = site.told(is_wired=is_wired)
    names = ("url", "client", "ingress", "admin", "listen", "address")
    where = ",".join(told[name] for name in names if name in told)
    return f"{site.engine}:{where}" if where else site.engine


@contextmanager
def serving(
    site: Site, folder: Path, *, is_wired: bool = False
) -> Generator[tuple[str, subprocess.Popen[bytes]]]:
    """The service in a process of its own, by uvicorn's own command, and its address."""
    (port,) = free_ports(1)
    paths = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH", ""))))
    store = site.stored(is_wired=is_wired)
    environment = {
        **os.environ,
        "PYTHONPATH": paths,
        "DESK_FOLDER": str(folder),
        "DESK_STORE": store if store.startswith("postgres") else "",
        "DESK_ENGINE": engine_at(site, is_wired=is_wired),
        "DESK_TOKEN": TOKEN,
        "DESK_SECRET": "one for all processes, for this test",
    }
    command = [sys.executable, "-m", "uvicorn", "--factory", "desk:served", "--port", str(port)]
    command += ["--log-level", "warning", "--timeout-graceful-shutdown", "5"]
    with (folder / "service.log").open("ab") as log:
        service = subprocess.Popen(
            command, cwd=EXAMPLES / "refund_desk", env=environment, stdout=log, stderr=log
        )
    try:
        wait_for(port)
        yield f"http://127.0.0.1:{port}", service
    finally:
        service.send_signal(signal.SIGTERM)
        try:
            service.wait(60)
        finally:
            service.kill()


async def asked(ask: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
    """An answer, asked for again where a service cannot give one just now."""
    while True:
        try:
            answer = await ask()
        except httpx.TransportError:
            await asyncio.sleep(PAUSE_S)
            continue
        if not answer.is_server_error:
            return answer
        await asyncio.sleep(PAUSE_S)


async def ordered(client: httpx.AsyncClient, orders: list[str]) -> None:
    """Send orders, as customers do, who try again until they are taken."""
    for order in orders:
        text = f"broken, {ORDERS[order]} euros"
        said = {"order": order, "text": text}
        answer = await asked(partial(client.post, "/refunds", json=said))
        assert answer.status_code == 202, answer.text


def hidden(html: str, name: str) -> str | None:
    """What a field of the first form says."""
    found = re.search(rf'name="{name}" value="([^"]+)"', html)
    return None if found is None else found[1]


async def decided(client: httpx.AsyncClient) -> None:
    """Say yes to what is asked on the page, if anything is, signed in or not."""
    page = await asked(partial(client.get, "/desk/"))
    if page.is_redirect:
        page = await asked(partial(client.get, "/desk/sign-in"))
        form = {"csrf": hidden(page.text, "csrf"), "token": TOKEN}
        await asked(partial(client.post, "/desk/sign-in", data=form))
        page = await asked(partial(client.get, "/desk/"))
    form = {name: hidden(page.text, name) for name in ("csrf", "run_id", "digest")}
    if form["digest"] is not None:
        await asked(partial(client.post, "/desk/decide", data={"answer": "confirm"} | form))


async def finished(client: httpx.AsyncClient) -> None:
    """Decide, until each order has come to its end."""
    left = set(ORDERS)
    while left:
        for order in sorted(left):
            told = (await asked(partial(client.get, f"/refunds/{order}"))).json()
            if told["status"] == "done":
                left.discard(order)
            elif told["status"] == "waiting":
                await decided(client)
        await asyncio.sleep(PAUSE_S)


def within(url: str, *works: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
    """What customers and people do at a service, in time."""

    async def visit() -> None:
        limits = httpx.Timeout(5.0)
        async with (
            asyncio.timeout(PATIENCE_S),
            httpx.AsyncClient(base_url=url, timeout=limits) as client,
        ):
            for work in works:
                await work(client)

    asyncio.run(visit())


def paid(folder: Path) -> list[tuple[str, float]]:
    """All payments: the order and how much."""
    with closing(sqlite3.connect(folder / "ledger.db")) as bank:
        rows = [json.loads(row) for (row,) in bank.execute("SELECT row FROM paid")]
    return [(str(order), float(euros)) for order, euros in rows]


def played(engine: str, what: str, seed: int) -> Counter[str]:
    """One round: something dies, or freezes, between two orders; each must be paid once."""
    chance = random.Random(seed)  # noqa: S311 - a game
    has_postgres = engine in {"local", "dbos"} and what in {"server", "cut"}
    with (
        tempfile.TemporaryDirectory() as name,
        site_of(engine, Path(name), has_postgres=has_postgres) as site,
    ):
        folder = Path(name)
        try:
            round_of(site, folder, what, chance)
        except TimeoutError as error:
            log = (folder / "service.log").read_text(errors="replace")[-3000:]
            raise TimeoutError(f"{sorted(paid(folder))}\n{log}") from error
        found = Counter(paid(folder))
    wanted = Counter(ORDERS.items())
    return Counter(
        {
            what: 1,
            "repeated": (found - wanted).total(),
            "lost": (wanted - found).total(),
        }
    )


def round_of(site: Site, folder: Path, what: str, chance: random.Random) -> None:
    """The orders, what happens in between, and all until each of them is done."""
    names = list(ORDERS)
    number = chance.randrange(1, len(names))
    early, late = names[:number], names[number:]
    with ExitStack() as stack:
        url, first = stack.enter_context(serving(site, folder, is_wired=what == "cut"))
        within(url, lambda client: ordered(client, early))
        time.sleep(chance.random() * 0.2)
        if what == "server":
            served_anew(site, chance)
        else:
            come_back = gone(site, what, first, chance)
            stack.callback(come_back)
            url, _ = stack.enter_context(serving(site, folder))
            within(url, lambda client: ordered(client, late))
            time.sleep(chance.uniform(*AWAY_S[what]))
            come_back()
        within(url, lambda client: ordered(client, late), finished)


def main(host: str = "all", rounds: str = "4", seed: str = "0") -> None:
    """Play rounds, and say what came of them."""
    hosts = HOSTS if host == "all" else (host,)
    bad = [matrix(one, int(rounds), int(seed), played) for one in hosts]
    sys.exit(any(bad))


if __name__ == "__main__":
    main(*sys.argv[1:])
