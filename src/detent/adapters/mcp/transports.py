"""Ways to a server that keep to a limit: what it sends is read as long as it is no more."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import anyio
import httpx2
import mcp_types as types
from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

GRACE_S = 2.0
"""How long a server may take to end once its input is closed, and once more when it is told to."""

GARBAGE_MAX = 100
"""So many lines that are no messages a server may write before it is given up."""

READ_S = 300.0
CONNECT_S = 30.0


@asynccontextmanager
async def bounded_http(
    url: str, headers: Mapping[str, str] | None, auth: httpx2.Auth | None, limit: int
) -> AsyncGenerator[Any]:
    """Streamable HTTP with bodies and events of `limit` bytes at most.

    Bodies are asked for, and taken, uncompressed: a few bytes may else become any number.
    """

    async def bound(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("a compressed answer was not asked for")
        if "text/event-stream" not in response.headers.get("content-type", ""):
            response.stream = _Bounded(response.stream, limit)

    async with (
        httpx2.AsyncClient(
            headers={**(headers or {}), "accept-encoding": "identity"},
            auth=auth,
            timeout=httpx2.Timeout(CONNECT_S, read=READ_S),
            event_hooks={"response": [bound]},
        ) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=limit) as streams,
    ):
        yield streams


class _Bounded(httpx2.AsyncByteStream):
    """A body that breaks off behind its limit."""

    def __init__(self, stream: Any, limit: int) -> None:
        self._stream = stream
        self._left = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._left -= len(piece)
            if self._left < 0:
                raise httpx2.ReadError("the answer is larger than the limit")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


@asynccontextmanager
async def bounded_stdio(server: StdioServerParameters, limit: int) -> AsyncGenerator[Any]:
    """A server as a process, with messages of `limit` bytes at most.

    The connection ends with a longer line, and when a hundred lines were no messages. On Windows it
    is the SDK's own transport, without limits.
    """
    if sys.platform == "win32":
        async with stdio_client(server) as streams:
            yield streams
        return
    process = await asyncio.create_subprocess_exec(
        server.command,
        *server.args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=get_default_environment() | (server.env or {}),
        cwd=server.cwd,
        start_new_session=True,
        limit=limit,
    )
    to_client, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_client = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read_lines, process, to_client)
            tasks.start_soon(_write, process, from_client, to_client)
            try:
                yield incoming, outgoing
            finally:
                tasks.cancel_scope.cancel()
    finally:
        for stream in (to_client, incoming, outgoing, from_client):
            stream.close()
        with anyio.CancelScope(shield=True):
            await _end(process)


async def _read_lines(process: asyncio.subprocess.Process, to_client: Any) -> None:
    garbage = 0
    async with to_client:
        while garbage < GARBAGE_MAX:
            try:
                line = await _stdout(process).readline()
            except ValueError:  # longer than the limit
                break
            if not line:
                return
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                garbage += 1
                continue
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await to_client.send(SessionMessage(message))
        _tell(process, signal.SIGKILL)  # what writes so does not end by being asked to


async def _write(process: asyncio.subprocess.Process, from_client: Any, to_client: Any) -> None:
    stdin = cast(asyncio.StreamWriter, process.stdin)
    async with from_client:
        async for message in from_client:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                stdin.write(text.encode() + b"\n")
                await stdin.drain()
            except OSError:
                await to_client.aclose()  # so that what waits for an answer hears that none comes
                return


def _stdout(process: asyncio.subprocess.Process) -> asyncio.StreamReader:
    return cast(asyncio.StreamReader, process.stdout)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close its input, wait, tell it and all that it has begun to end, and then end them."""
    cast(asyncio.StreamWriter, process.stdin).close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        if await _has_ended(process):
            break
        _tell(process, number)
    await _has_ended(process)
    process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - nothing public does


def _tell(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Send a signal to it and to all that it has begun."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


async def _has_ended(process: asyncio.subprocess.Process) -> bool:
    with anyio.move_on_after(GRACE_S):
        while _stdout(process) and await _drained(process):
            pass
        await process.wait()
    return process.returncode is not None


async def _drained(process: asyncio.subprocess.Process) -> bytes:
    """What it still writes, which nobody reads: it could else not end."""
    return await _stdout(process).read(65536)
