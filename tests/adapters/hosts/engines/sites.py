"""Hosts under test, each with a server of its own where it has one, in a folder."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from detent.adapters.hosts.engines.dbos import sqlite_fault
from tests.adapters.hosts.engines.servers import (
    PostgresServer,
    Server,
    free_ports,
    postgres_server,
    restate_server,
    temporal_server,
)
from tests.adapters.hosts.engines.wires import Network

ENGINES = ("dbos", "temporal", "restate")
EFFECTS = ("dbos-effects", "temporal-effects")
"""Engines whose history is the truth."""


@define
class Site:
    """An engine, or "local", and what the hosts on it are told."""

    engine: str
    server: Server | None
    folder: Path
    mode: str = "legs"
    network: Network = field(factory=Network)

    @property
    def store(self) -> str:
        """Where the journal is."""
        if isinstance(self.server, PostgresServer):
            return self.server.url
        return str(self.folder / "runs.db")

    def stored(self, *, is_wired: bool = False) -> str:
        """The same, as a worker is told; `is_wired` is by the network that can be cut."""
        if is_wired and isinstance(self.server, PostgresServer):
            (port,) = self.server.ports
            return self.store.replace(f":{port}/", f":{self.network.to(port)}/")
        return self.store

    def told(self, *, works: bool = True, is_wired: bool = False) -> dict[str, Any]:
        """The options of a host, as JSON."""
        ports = list(self.server.ports) if self.server else []
        if is_wired:
            ports = [self.network.to(port) for port in ports]
        where: dict[str, Any] = {}
        match self.engine:
            case "dbos":
                url = f"sqlite:///{self.folder / 'queue.db'}"
                if isinstance(self.server, PostgresServer):
                    url = self.stored(is_wired=is_wired)
                where = {"url": url, "poll_s": 0.05}
            case "temporal":
                where = {"client": f"127.0.0.1:{ports[0]}", "beat_s": 1.0}
            case "restate":
                ingress, admin = (f"http://127.0.0.1:{port}" for port in ports)
                where = {"ingress": ingress, "admin": admin}
                (own,) = free_ports(1)
                if works:
                    where |= {"listen": f"127.0.0.1:{own}"}
                if works and is_wired:
                    where |= {"address": f"http://127.0.0.1:{self.network.to(own)}"}
            case _:  # "local" needs to be told of no engine
                pass
        if self.mode != "legs":
            where["mode"] = self.mode
        return {"engine": self.engine, **where}


def need_sqlite_for_dbos() -> None:
    """Leave a test out where this Python's SQLite is too old for DBOS."""
    if fault := sqlite_fault("sqlite:///", sys.version_info[:3], sqlite3.sqlite_version_info):
        pytest.skip(reason=fault)


@contextmanager
def site_of(engine: str, folder: Path, *, has_postgres: bool = False) -> Generator[Site]:
    """An engine, for as long as it is needed; "-effects" behind its name is its other mode.

    With `has_postgres`, the journal of "local" and all of "dbos" are in a server of PostgreSQL.
    """
    server: Server | None = None
    engine, _, mode = engine.partition("-")
    with ExitStack() as stack:
        if engine == "temporal":
            server = temporal_server(folder)
        elif engine == "restate":
            server = restate_server(folder)
        elif has_postgres:
            server = made = postgres_server()
            stack.callback(shutil.rmtree, made.folder, ignore_errors=True)
        elif engine == "dbos":
            need_sqlite_for_dbos()
        if server is not None:
            stack.callback(server.kill)
            server.start()
        site = Site(engine, server, folder, mode or "legs")
        stack.callback(site.network.end)
        yield site
