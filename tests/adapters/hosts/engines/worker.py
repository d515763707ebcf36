"""A process that takes legs from an engine until it is killed.

``worker.py SITE STORE FOLDER RULE``; SITE is JSON: the engine's name, or "local", and what its host
is told.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from detent import Agent
from detent.adapters.hosts.engines.host import EngineHost
from detent.adapters.hosts.stored import StoredHost
from detent.hosts import DBOSHost, LocalHost, RestateHost, TemporalHost, serve_until_signal
from detent.journals import Journal
from tests.adapters.hosts.worker import journal_at, payer

HOSTS: Mapping[str, Any] = {"dbos": DBOSHost, "temporal": TemporalHost, "restate": RestateHost}
CLAIM_S, LOOK_S = 1.0, 0.3
"""Short, so that what a dead worker has left is soon somebody else's."""


def host_on(
    site: Mapping[str, Any], agents: Mapping[str, Agent[Any, Any]], journal: Journal, **options: Any
) -> EngineHost:
    """A host on the engine that a site describes."""
    where = {name: value for name, value in site.items() if name != "engine"}
    host: EngineHost = HOSTS[site["engine"]](agents, journal, **where, **options)
    return host


def main(site: str, store: str, folder: str, rule: str) -> None:
    """Work until the end."""
    agents, where = {"payer": payer(Path(folder), rule)}, json.loads(site)
    options: dict[str, Any] = {"claim_s": CLAIM_S, "look_s": LOOK_S, "drain_s": 5}
    host: StoredHost
    if where["engine"] == "local":
        host = LocalHost(agents, journal_at(store), **options)
    else:
        host = host_on(where, agents, journal_at(store), **options)
    ready = Path(folder) / "ready"
    asyncio.run(serve_until_signal(host, lambda: ready.open("a").write("ready\n")))


if __name__ == "__main__":
    main(*sys.argv[1:])
