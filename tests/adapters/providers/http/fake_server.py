"""A real HTTP server on loopback that plays answers, whole or broken, and counts connections."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Literal, TypeAlias

from attrs import field, frozen


@frozen
class Play:
    """What the server does about one request.

    Attributes:
        chunks: the body, in the pieces in which it is sent.
        headers: further headers of the answer.
        status: the status; 0 sends no answer at all.
        after: the end of the answer in good order, a connection that breaks, or silence.
    """

    chunks: tuple[bytes, ...] = ()
    headers: Mapping[str, str] = field(factory=dict)
    status: int = 200
    after: Literal["end", "break", "silence"] = "end"


Plays: TypeAlias = Callable[[str], Play]
"""Says what is played to a request, by its header x-play."""


class FakeServer:
    """Counts the connections that were made, and knows how many are still open."""

    def __init__(self, plays: Plays) -> None:
        self.connections = 0
        self.requests = 0
        self.open = 0
        self._none_open = threading.Event()
        self.url = ""
        self._plays = plays

    def all_closed(self, timeout_s: float) -> bool:
        """Whether no connection is open any more, or soon."""
        return self._none_open.wait(timeout_s)

    async def listen(self) -> asyncio.Server:
        """Begin to answer, at a port that is free."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1000)
        self.url = "http://{}:{}".format(*server.sockets[0].getsockname()[:2])
        return server

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        self._none_open.clear()
        try:
            while await self._answered(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone, or the test is over
        finally:
            self.open -= 1
            writer.transport.abort()
            if not self.open:
                self._none_open.set()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Play the answer to the next request; whether the connection can go on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        await reader.readexactly(int(headers.get("content-length", "0")))
        self.requests += 1
        play = self._plays(headers.get("x-play", ""))
        if play.status:
            told = {"transfer-encoding": "chunked", **play.headers}
            lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
            writer.write(f"HTTP/1.1 {play.status} Played\r\n{lines}\r\n".encode())
        for chunk in filter(None, play.chunks):
            writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            await writer.drain()
        if play.after == "end" and play.status:
            writer.write(b"0\r\n\r\n")
            return True
        await writer.drain()
        if play.after == "silence":
            await reader.read()  # until the client goes
        writer.close()  # what was written is sent; then the connection ends without its last chunk
        await writer.wait_closed()
        return False


@contextmanager
def serving(plays: Plays) -> Generator[FakeServer]:
    """A server that answers in a thread of its own."""
    server, loop = FakeServer(plays), asyncio.new_event_loop()
    listening = loop.run_until_complete(server.listen())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(listening.close)
        asyncio.run_coroutine_threadsafe(_hang_up(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _hang_up() -> None:
    """End what is still being played."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
