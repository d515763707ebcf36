"""A connection to an MCP server: one session, kept in one task, for callers of any kind.

The SDK's session must be begun and ended by one task, and lives in its event loop. Here that is the
loop which all blocking calls share, so that agents that block and agents in any event loop of their
own can have the same session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from detent.adapters.system.threads_and_loops import in_background
from detent.core.errors import DetentError

if TYPE_CHECKING:
    from mcp import Client

T = TypeVar("T")
Connect: TypeAlias = "Callable[[], Client]"
"""Makes a client that has not begun. It is asked once for each connection."""
Changed: TypeAlias = Callable[[], object]

CONNECT_S = 30.0
"""How long a server may take until it is ready, in seconds."""
CLOSE_S = 5.0
"""How long it may take to end."""


class MCPServerError(DetentError):
    """An MCP server cannot be reached, went away, or does not keep to the protocol.

    When it happens in the middle of a call, nobody knows whether the server has carried it out.
    """


class Connection:
    """A session with a server, begun when it is first needed, and anew when it has broken.

    Args:
        name: what the server is called in errors.
        connect: makes a client of the SDK.
        changed: is told when the server says that its tools are others now.
    """

    def __init__(self, name: str, connect: Connect, changed: Changed = lambda: None) -> None:
        self.name = name
        self._connect, self._changed = connect, changed
        self._lock = Lock()
        self._session: _Session | None = None
        self.generation = 0  # how often it was begun

    async def use(self, call: Callable[[Client], Awaitable[T]]) -> T:
        """What `call` gives, which runs in the session's loop. Cancelling this cancels it there.

        Raises:
            MCPServerError: the server cannot be reached, or has gone away in the meantime.
        """
        return await asyncio.wrap_future(self.begin(call))

    def begin(self, call: Callable[[Client], Awaitable[T]]) -> Future[T]:
        """The same for whoever blocks."""
        return in_background(self._used(call))

    async def _used(self, call: Callable[[Client], Awaitable[T]]) -> T:
        session = self._current()
        client = await session.ready()
        try:
            return await session.while_it_lives(call(client))
        except MCPServerError:
            self._forget(session)
            raise
        except Exception as error:
            if not _is_cut(error):
                raise
            self._forget(session)
            raise session.lost(error) from error

    def _current(self) -> _Session:
        with self._lock:
            if self._session is None:
                self.generation += 1
                self._session = _Session(self.name, self._connect, self._forget)
            return self._session

    def _forget(self, session: _Session) -> None:
        with self._lock:
            if self._session is session:
                self._session = None
                self._changed()  # what comes up in its place may be another
        session.leave()

    def close(self) -> None:
        """End the session; the next call begins another."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            with suppress(TimeoutError):
                in_background(session.end()).result(2 * CLOSE_S)


class _Session:
    """One session from its begin to its end, in a task of its own."""

    def __init__(self, name: str, connect: Connect, ended: Callable[[_Session], object]) -> None:
        self._name, self._connect, self._ended = name, connect, ended
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._task = asyncio.create_task(self._live())
        self._task.add_done_callback(self._over)

    async def ready(self) -> Client:
        """The client, once the server has answered."""
        try:
            return await asyncio.wait_for(asyncio.shield(self._ready), CONNECT_S)
        except TimeoutError:
            self._task.cancel()
            raise MCPServerError(
                f"the MCP server {self._name} was not ready after {CONNECT_S:g} seconds"
            ) from None

    async def while_it_lives(self, work: Awaitable[T]) -> T:
        """What `work` gives, unless the session ends before."""
        doing = asyncio.ensure_future(work)
        try:
            await asyncio.wait([doing, self._task], return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                raise self.lost()
            return doing.result()
        finally:
            if not doing.done():
                doing.cancel()
                await asyncio.wait([doing])

    def leave(self) -> None:
        """End as soon as that can be: nobody waits for it."""
        self._closing.set()

    async def end(self) -> None:
        """Close, as far as the server lets it in time."""
        self.leave()
        _, late = await asyncio.wait([self._task], timeout=CLOSE_S)
        for task in late:
            task.cancel()
            await asyncio.wait([task], timeout=CLOSE_S)

    async def _live(self) -> None:
        async with self._connect() as client:
            self._ready.set_result(client)
            await self._closing.wait()

    def _over(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if not self._ready.done():
            self._ready.set_exception(self.lost(error))
            self._ready.exception()  # nobody may be waiting for it
        self._ended(self)

    def lost(self, error: BaseException | None = None) -> MCPServerError:
        """What is raised for a call that the session cannot make any more."""
        lost = MCPServerError(f"the MCP server {self._name} {_told(error)}")
        lost.__cause__ = error
        return lost


def _is_cut(error: Exception) -> bool:
    """Whether the SDK says that there is no connection any more."""
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED

    return isinstance(error, MCPError) and error.code == CONNECTION_CLOSED


def _told(error: BaseException | None) -> str:
    """What is the matter with a server, by what came of talking to it."""
    while isinstance(error, BaseExceptionGroup):  # of the SDK's task groups
        error = error.exceptions[0]
    if error is None or (isinstance(error, Exception) and _is_cut(error)):
        return "has gone away; it is not known what became of calls under way"
    return f"cannot be talked to ({type(error).__name__}: {error!s:.300})"
