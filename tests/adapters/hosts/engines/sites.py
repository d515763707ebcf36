"""Engines under test, each with a server of its own where it has one, in a folder."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import define

from detent.adapters.hosts.engines.dbos import sqlite_fault
from tests.adapters.hosts.engines.servers import (
    EngineServer,
    free_ports,
    restate_server,
    temporal_server,
)

ENGINES = ("dbos", "temporal", "restate")


@define
class Site:
    """An engine, and what the hosts on it are told."""

    engine: str
    server: EngineServer | None
    folder: Path

    def told(self, *, works: bool = True) -> dict[str, Any]:
        """The options of a host, as JSON."""
        ports = list(self.server.ports) if self.server else []
        match self.engine:
            case "dbos":
                where = {"url": f"sqlite:///{self.folder / 'queue.db'}", "poll_s": 0.05}
            case "temporal":
                where = {"client": f"127.0.0.1:{ports[0]}", "beat_s": 1.0}
            case _:
                ingress, admin = (f"http://127.0.0.1:{port}" for port in ports)
                where = {"ingress": ingress, "admin": admin}
                where |= {"listen": f"127.0.0.1:{free_ports(1)[0]}"} if works else {}
        return {"engine": self.engine, **where}


def need_sqlite_for_dbos() -> None:
    """Leave a test out where this Python's SQLite is too old for DBOS."""
    if fault := sqlite_fault("sqlite:///", sys.version_info[:3], sqlite3.sqlite_version_info):
        pytest.skip(reason=fault)


@contextmanager
def site_of(engine: str, folder: Path) -> Generator[Site]:
    """An engine, for as long as it is needed."""
    if engine == "dbos":
        need_sqlite_for_dbos()
    servers = {"temporal": temporal_server, "restate": restate_server}
    server = servers[engine](folder) if engine in servers else None
    try:
        if server is not None:
            server.start()
        yield Site(engine, server, folder)
    finally:
        if server is not None:
            server.kill()
