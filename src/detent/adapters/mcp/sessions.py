"""A connection to a server, held by one task in the event loop that all blocking code shares."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

import anyio
import mcp_types as types
from attrs import frozen
from httpx2 import HTTPError
from mcp import Client, MCPError
from mcp.client.session import MessageHandlerFnT
from mcp.client.subscriptions import SubscriptionLost
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from detent.adapters.mcp.definitions import Listing, listing_of
from detent.adapters.mcp.faults import MCPServerError, error_text

PAGES_MAX, TOOLS_MAX = 100, 1000
"""How many pages a list of tools may have, and how many tools."""

CLOSE_S = 5.0

BROKEN = (
    *(HTTPError, OSError, RuntimeError, ValidationError, EOFError),
    *(anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream),
)
"""What the library raises where a connection does not work, or what came is no answer."""


class Reached(NamedTuple):
    """What has not been connected yet, and a digest of where it leads."""

    client: Client
    where: str


@frozen
class Way:
    """How to reach a server. `reach` makes what connects, each time anew."""

    server: str
    reach: Callable[[MessageHandlerFnT], Reached]
    connect_timeout_s: float
    on_listed: Callable[[Listing], None]


class Session:
    """One connection. It ends when it is told to, and its last call is done."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._closing = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._calls = 0
        self._relisting: asyncio.Task[None] | None = None
        self._is_stale = False
        self._task: asyncio.Task[None] | None = None
        self.is_usable = True
        self.listing = Listing()

    async def open(self) -> None:
        """Connect, and look what there is.

        Raises:
            MCPServerError: that did not work, or took too long.
        """
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._keep(ready))
        try:
            async with asyncio.timeout(self._way.connect_timeout_s):
                await asyncio.shield(ready)
        except TimeoutError:
            self._task.cancel()
            text = f"was not ready after {self._way.connect_timeout_s:g} s"
            raise MCPServerError(self._way.server, text) from None
        except asyncio.CancelledError:
            self._task.cancel()
            raise

    async def _keep(self, ready: asyncio.Future[None]) -> None:
        """Connect, close and all between: the library wants both in one task."""
        try:
            reached = self._way.reach(self._on_message)
            async with reached.client as client:
                self._client, self._where = client, reached.where
                await self._list()
                listening = asyncio.create_task(self._listen())
                ready.set_result(None)
                try:
                    await self._closing.wait()
                    await self._idle.wait()
                finally:
                    listening.cancel()
        except BaseException as error:
            self.is_usable = False
            if not ready.done():
                ready.set_exception(self._fault(error))
                ready.exception()  # where nobody waits any longer, nobody is to be warned
            elif not isinstance(error, (MCPError, ExceptionGroup, *BROKEN)):
                raise  # what breaks when a connection is closed was told to the calls

    def close(self) -> None:
        """End, once the calls that are under way are done."""
        self.is_usable = False
        self._closing.set()

    async def wait_closed(self) -> None:
        """Wait until it has ended; after a while, end the calls that are under way."""
        if self._task is not None:
            _, late = await asyncio.wait([self._task], timeout=CLOSE_S)
            for task in late:
                task.cancel()

    @asynccontextmanager
    async def used(self) -> AsyncGenerator[Client]:
        """The client, for a call that is to be waited for."""
        self._calls += 1
        self._idle.clear()
        try:
            yield self._client
        finally:
            self._calls -= 1
            if not self._calls:
                self._idle.set()

    async def settled(self) -> None:
        """Wait until what has changed is known."""
        if self._relisting is not None:
            await asyncio.wait([self._relisting])

    async def _on_message(self, message: types.ServerNotification | Exception) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed()

    def _changed(self) -> None:
        """Look again what there is: once at a time, however often a server says so."""
        self._is_stale = True
        if self._relisting is None or self._relisting.done():
            self._relisting = asyncio.create_task(self._relist())

    async def _relist(self) -> None:
        try:
            async with asyncio.timeout(self._way.connect_timeout_s):
                while self._is_stale:
                    self._is_stale = False
                    await self._list()
        except (MCPError, MCPServerError, TimeoutError, *BROKEN):
            self.is_usable = False  # the next call opens another one, and hears what is the matter

    async def _listen(self) -> None:
        """Hear of changes, where that has to be asked for."""
        modern = self._client.protocol_version in MODERN_PROTOCOL_VERSIONS
        tools = self._client.server_capabilities.tools
        if not (modern and tools is not None and tools.list_changed):
            return
        with suppress(MCPError):  # it does not tell after all
            try:
                async with self._client.listen(tools_list_changed=True) as events:
                    async for _ in events:
                        self._changed()
            except SubscriptionLost:
                self.is_usable = False  # what was missed is seen when the next call connects

    async def _list(self) -> None:
        described: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(PAGES_MAX):
            params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
            page = await self._client.session.list_tools(params=params)
            described += (_data(tool) for tool in page.tools)
            cursor = page.next_cursor
            if not cursor or len(described) > TOOLS_MAX:
                break
        if cursor or len(described) > TOOLS_MAX:
            raise MCPServerError(self._way.server, f"lists more than {TOOLS_MAX} tools")
        info = self._client.server_info
        claimed = (info.name, info.version) if info else ()
        self.listing = listing_of((self._way.server, self._where, *claimed), described)
        self._way.on_listed(self.listing)

    def _fault(self, error: BaseException) -> MCPServerError:
        if isinstance(error, MCPServerError):
            return error
        return MCPServerError(self._way.server, f"cannot be talked to ({error_text(error)})")


def _data(tool: types.Tool) -> dict[str, Any]:
    return tool.model_dump(mode="json", by_alias=True, exclude_none=True)
