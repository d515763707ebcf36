"""The httpx clients of one generator: made when first needed, pooled, reused and closed."""

from __future__ import annotations

import asyncio
import functools
import ssl
import threading
from collections.abc import AsyncGenerator
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

KEPT_CONNECTIONS = 100


class Clients:
    """One blocking client, and one async client for each event loop.

    A pool of async connections lives and dies with its loop, so each loop gets its own, and closes
    it when it shuts down. A client given from outside is used as it is, and its owner closes it.
    """

    def __init__(
        self, given: httpx.Client | None = None, given_async: httpx.AsyncClient | None = None
    ) -> None:
        self._given = given
        self._given_async = given_async
        self._lock = threading.Lock()
        self._own: httpx.Client | None = None
        self._by_loop: dict[
            asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, AsyncGenerator[None]]
        ] = {}

    def blocking(self) -> httpx.Client:
        """The client for calls that block; several threads may use it at once."""
        if self._given is not None:
            return self._given
        require_httpx()
        import httpx

        with self._lock:
            if self._own is None:
                self._own = httpx.Client(limits=_limits(), verify=_certificates())
            return self._own

    async def of_running_loop(self) -> httpx.AsyncClient:
        """The client for calls in the running event loop."""
        if self._given_async is not None:
            return self._given_async
        require_httpx()
        import httpx

        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            client = httpx.AsyncClient(limits=_limits(), verify=_certificates())
            lifetime = self._lifetime(loop, client)
            self._by_loop[loop] = (client, lifetime)
            # An async generator that has begun is closed by its loop, when the loop shuts down.
            await anext(lifetime)
        return self._by_loop[loop][0]

    def close(self) -> None:
        """Close the blocking client. A later call makes a new one."""
        with self._lock:
            own, self._own = self._own, None
        if own is not None:
            own.close()

    async def aclose(self) -> None:
        """Close the blocking client and that of the running loop. A later call makes new ones."""
        self.close()
        kept = self._by_loop.get(asyncio.get_running_loop())
        if kept is not None:
            await kept[1].aclose()

    async def _lifetime(
        self, loop: asyncio.AbstractEventLoop, client: httpx.AsyncClient
    ) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            del self._by_loop[loop]
            await client.aclose()


def require_httpx() -> None:
    """Raise ImportError with the remedy where httpx is not installed."""
    if find_spec("httpx") is None:
        raise ImportError(
            "calling a provider needs httpx: pip install 'detent[http]'", name="httpx"
        )


def _limits() -> httpx.Limits:
    import httpx

    # How many calls run at once is the agent's matter; a pool that makes them wait would hide it.
    return httpx.Limits(max_connections=None, max_keepalive_connections=KEPT_CONNECTIONS)


@functools.cache
def _certificates() -> ssl.SSLContext:
    """The trusted certificates. Reading them takes tens of milliseconds, so clients share them."""
    import httpx

    return httpx.create_ssl_context()
