"""The httpx clients of one generator: made when needed, reused and closed.

Each has one connection and serves one call at a time. A pool of httpx looks at every connection for
every other one whenever a call begins or ends: of 150 calls at once each would take 25 ms of CPU.
"""

from __future__ import annotations

import functools
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from math import inf
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from detent.adapters.providers.http.deadlines import DEADLINES
from detent.adapters.providers.http.line import Line
from detent.adapters.system.installation import install_command
from detent.ports.stopping import when_stopped

if TYPE_CHECKING:
    import asyncio
    import ssl

    import httpx

Client = TypeVar("Client")
AnyClient: TypeAlias = "httpx.Client | httpx.AsyncClient"

KEPT_S = 30.0
"""How long a connection may lie idle."""


class IdleClients(Generic[Client]):
    """Clients that nobody uses. The one that was laid back last is taken first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: deque[tuple[float, Client]] = deque()
        self._is_cleared = False

    def take(self) -> Client | None:
        """A client, if there is one."""
        with self._lock:
            return self._idle.pop()[1] if self._idle else None

    def lay_back(self, client: Client) -> list[Client]:
        """Keep a client for the next call; gives those that are to be closed."""
        now = time.monotonic()
        with self._lock:
            if self._is_cleared:
                return [client]
            self._idle.append((now, client))
            old = []
            while self._idle and self._idle[0][0] < now - KEPT_S:
                old.append(self._idle.popleft()[1])
            return old

    def clear(self) -> list[Client]:
        """Keep none from now on; gives those that are to be closed."""
        with self._lock:
            self._is_cleared = True
            left = [client for _, client in self._idle]
            self._idle.clear()
            return left


class Clients:
    """Clients for calls that block, and for those in each event loop.

    Async connections live and die with their loop, so each loop gets its own, and closes them when
    it shuts down. A client given from outside is used as it is, and its owner closes it.
    """

    def __init__(
        self, client: httpx.Client | None = None, async_client: httpx.AsyncClient | None = None
    ) -> None:
        self._user_client = client
        self._user_async_client = async_client
        self._idle: IdleClients[Line] = IdleClients()
        self._by_loop: dict[
            asyncio.AbstractEventLoop, tuple[IdleClients[httpx.AsyncClient], AsyncGenerator[None]]
        ] = {}

    @contextmanager
    def blocking(self, until: float = inf) -> Generator[httpx.Client]:
        """A client for one call that blocks, from any thread.

        Its connection is cut when the work on the call is stopped, or when `time.monotonic()` has
        reached `until`, unless it was given.
        """
        if self._user_client is not None:
            yield self._user_client
            return
        from detent.adapters.providers.http.cookies import BlockingClient

        idle = self._idle
        line = idle.take() or Line(BlockingClient(limits=_limits(), verify=_certificates()))
        try:
            with when_stopped(line.cut), DEADLINES.at(until, line.cut):
                yield line.client
        finally:
            for old in [line] if line.is_cut else idle.lay_back(line):
                old.client.close()

    @asynccontextmanager
    async def of_running_loop(self) -> AsyncGenerator[httpx.AsyncClient]:
        """A client for one call in the running event loop."""
        if self._user_async_client is not None:
            yield self._user_async_client
            return
        from detent.adapters.providers.http.cookies import AsyncClient

        idle = await self._idle_in_running_loop()
        client = idle.take() or AsyncClient(limits=_limits(), verify=_certificates())
        try:
            yield client
        finally:
            for old in idle.lay_back(client):
                await old.aclose()

    def is_ours(self, client: AnyClient) -> bool:
        """Whether it was made here, and not given."""
        return client is not self._user_client and client is not self._user_async_client

    def close(self) -> None:
        """Close the blocking clients, busy ones after their call. A later call makes new ones."""
        idle, self._idle = self._idle, IdleClients()
        for line in idle.clear():
            line.client.close()

    async def aclose(self) -> None:
        """Close the blocking clients and those of the running loop."""
        import asyncio

        self.close()
        kept = self._by_loop.get(asyncio.get_running_loop())
        if kept is not None:
            await kept[1].aclose()

    async def _idle_in_running_loop(self) -> IdleClients[httpx.AsyncClient]:
        import asyncio  # most of the time of importing a provider, and blocking calls need none

        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            lifetime = self._lifetime(loop)
            self._by_loop[loop] = (IdleClients(), lifetime)
            # An async generator that has begun is closed by its loop, when the loop shuts down.
            await anext(lifetime)
        return self._by_loop[loop][0]

    async def _lifetime(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            idle, _ = self._by_loop.pop(loop)
            for client in idle.clear():
                await client.aclose()


def reaches_out(client: AnyClient) -> bool:
    """Whether the requests of this client leave the process; in doubt they do."""
    import httpx

    inside = (httpx.MockTransport, httpx.ASGITransport, httpx.WSGITransport)
    return not isinstance(getattr(client, "_transport", None), inside)


def require_httpx() -> None:
    """Raise ImportError with the remedy where httpx is not installed."""
    if find_spec("httpx") is None:
        raise ImportError(
            f"calling a provider needs httpx: {install_command('http')}", name="httpx"
        )


def _limits() -> httpx.Limits:
    import httpx

    return httpx.Limits(max_connections=1, keepalive_expiry=KEPT_S)


@functools.cache
def _certificates() -> ssl.SSLContext:
    """The trusted certificates. Reading them takes tens of milliseconds, so clients share them."""
    import httpx

    return httpx.create_ssl_context()
