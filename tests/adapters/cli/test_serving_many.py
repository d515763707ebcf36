"""`detent serve --web` when very many come: its runs go on, and probes are heard."""

from __future__ import annotations

import asyncio
import re
import resource
import socket
import subprocess
import sys
from collections.abc import Coroutine, Generator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx
import pytest
import uvicorn
from attrs import frozen
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.server import ServerState

from detent.adapters.system import connections
from detent.adapters.system.connections import bounded, connections_max

AGENTS = """
from detent import Agent, AlwaysAskPolicy, ScriptedChatGenerator, ToolCall, tool

@tool
def pay() -> str:
    "Pay."
    return "paid"

asks = Agent(
    chat_generator=ScriptedChatGenerator(ToolCall("pay", {})),
    tools=[pay],
    confirmation_strategies={"pay": AlwaysAskPolicy()},
    name="asks",
)
"""
NO_CONTENT = b"HTTP/1.1 204 No Content"
T = TypeVar("T")
LONG = 20_000_000
"""More than the system keeps of what is sent and not read."""
FEW = 96
"""So many descriptors the process has."""


@contextmanager
def page(folder: Path) -> Generator[tuple[str, int, subprocess.Popen[str]]]:
    """A process with few descriptors that serves a page."""
    (folder / "manyserved.py").write_text(AGENTS)
    words = ["manyserved:asks", "--journal", "runs.db", "--web", "127.0.0.1:0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "detent", "serve", *words],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(  # noqa: PLW1509 - one call of the system
            resource.setrlimit, resource.RLIMIT_NOFILE, (FEW, FEW)
        ),
    )
    with process:
        assert process.stderr is not None
        try:
            said = ""
            while not said.endswith("is ready\n"):
                line = process.stderr.readline()
                assert line, said
                said += line
            found = re.search(r"shows its runs at (http://127\.0\.0\.1:(\d+))", said)
            assert found is not None
            yield found[1], int(found[2]), process
        finally:
            process.kill()


def said_by(process: subprocess.Popen[str]) -> str:
    """What it has said since it was ready."""
    process.terminate()
    return process.communicate(timeout=30)[1]


def test_connections_that_say_nothing_take_nothing_from_anybody(tmp_path: Path) -> None:
    """More than there are descriptors: a probe is answered, and the log does not grow."""
    with page(tmp_path) as (url, port, process), ExitStack() as quiet:
        for _ in range(2 * FEW):
            quiet.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
        answers = [httpx.get(f"{url}{path}", trust_env=False) for path in ("/alive", "/health")]
        rest = said_by(process)

    assert [answer.status_code for answer in answers] == [204, 200]
    assert "Too many open files" not in rest


def test_many_who_watch_leave_a_place_for_probes(tmp_path: Path) -> None:
    """Who comes when there are as many as can be answered is told so, and no probe is."""

    def codes(url: str, client: httpx.Client, streams: ExitStack) -> list[int]:
        begun = {"agent": "asks", "text": "pay", "run_id": "r"}
        client.post(f"{url}/api/start", json=begun).raise_for_status()
        codes = list[int]()
        while 503 not in codes and len(codes) < FEW:
            watch = streams.enter_context(client.stream("GET", f"{url}/api/watch/r"))
            codes.append(watch.status_code)
        return codes

    limits = httpx.Limits(max_connections=None)
    with (
        page(tmp_path) as (url, _, process),
        httpx.Client(limits=limits, trust_env=False) as client,
    ):
        with ExitStack() as streams:
            watching = codes(url, client, streams)
            paths = ("/alive", "/health", "/api/runs")
            answers = [httpx.get(f"{url}{path}", trust_env=False) for path in paths]
        rest = said_by(process)

    assert watching == [200] * (len(watching) - 1) + [503]
    assert [answer.status_code for answer in answers] == [204, 200, 503]
    assert answers[2].json()["error"]["why"] == "full"
    assert "Too many open files" not in rest


class LaterLoop(asyncio.SelectorEventLoop):
    """An event loop in which it can be made later."""

    ahead_s = 0.0

    def time(self) -> float:
        """As nobody sets it, and as much later."""
        return super().time() + self.ahead_s


class Site:
    """A server of uvicorn in the running event loop, whose answers come when they are let."""

    def __init__(self, most: int, body: bytes = b"", parts: int = 1) -> None:
        self._body, self._parts = body, parts
        self.answer, self.asked = asyncio.Event(), asyncio.Event()
        self._socket, self._lines = socket.create_server(("127.0.0.1", 0)), list[Line]()
        self._config = uvicorn.Config(
            self._app,
            http=bounded(AutoHTTPProtocol, most),
            interface="asgi3",
            lifespan="off",
            log_config=None,
            timeout_keep_alive=3600,
        )
        self._config.load()
        self._state: Any = ServerState()

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.set()
        await self.answer.wait()
        size = [(b"content-length", b"%d" % len(self._body))] if self._body else []
        status = 200 if self._body else 204
        await send({"type": "http.response.start", "status": status, "headers": size})
        size_of_part = max(1, len(self._body) // self._parts)
        for start in range(0, size_of_part * (self._parts - 1), size_of_part):
            part = self._body[start : start + size_of_part]
            await send({"type": "http.response.body", "body": part, "more_body": True})
        rest = self._body[size_of_part * (self._parts - 1) :]
        await send({"type": "http.response.body", "body": rest})

    async def __aenter__(self) -> Self:
        kind: Any = self._config.http_protocol_class
        made = partial(kind, config=self._config, server_state=self._state, app_state={})
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(made, sock=self._socket)
        return self

    async def __aexit__(self, *raised: object) -> None:
        self._server.close()
        for connection in list(self._state.connections):
            connection.transport.abort()
        for line in self._lines:
            line.writer.close()

    async def connect(self) -> Line:
        """A connection to it."""
        self._lines.append(Line(*await asyncio.open_connection(*self._socket.getsockname())))
        return self._lines[-1]

    async def holds(self, count: int) -> None:
        """So many connections are held."""
        while len(self._state.connections) != count:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0)

    async def waits_for(self, count: int) -> None:
        """So many connections wait for the head of a request."""
        held: set[Any] = self._state.connections
        while sum(one._end is not None for one in held) != count:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0)


@frozen
class Line:
    """A connection from the other end."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def ask(self, end: bytes = b"\r\n") -> None:
        """Send a request, or the first part of one."""
        self.writer.write(b"GET / HTTP/1.1\r\nHost: here\r\n" + end)

    async def answer(self) -> bytes:
        """The first line of an answer, of which there is no more."""
        return (await self.reader.readuntil(b"\r\n\r\n")).splitlines()[0]

    async def rest(self) -> bytes:
        """What comes until it is closed."""
        with suppress(ConnectionResetError):
            return await self.reader.read()
        return b""


def played(main: Coroutine[Any, Any, T]) -> T:
    """What comes of it, in a loop in which it can be made later."""
    with asyncio.Runner(loop_factory=LaterLoop) as runner:
        return runner.run(main)


def test_a_connection_without_a_whole_request_is_closed() -> None:
    """At first, within a head, and within the head of a second one; not while it is answered."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, LaterLoop)
        async with Site(10) as site, asyncio.timeout(3600):
            again = await site.connect()
            again.ask()
            site.answer.set()
            assert await again.answer() == NO_CONTENT
            again.ask(b"")
            await site.waits_for(1)

            quiet, begun, slow = [await site.connect() for _ in range(3)]
            site.answer.clear()
            site.asked.clear()
            begun.ask(b"")
            slow.ask()
            await site.asked.wait()
            await site.waits_for(3)

            loop.ahead_s += connections.HEAD_S
            assert [await line.rest() for line in (again, quiet, begun)] == [b"", b"", b""]
            site.answer.set()
            assert await slow.answer() == NO_CONTENT

    played(main())


def test_who_was_quiet_for_longest_makes_place() -> None:
    """And where nobody is quiet, there is none."""

    async def main() -> None:
        async with Site(2) as site, asyncio.timeout(3600):
            busy = await site.connect()
            busy.ask()
            await site.asked.wait()
            first = await site.connect()
            second = await site.connect()
            assert await first.rest() == b""
            site.asked.clear()
            second.ask()
            await site.asked.wait()
            late = await site.connect()
            assert await late.rest() == b""
            site.answer.set()
            assert [await line.answer() for line in (busy, second)] == [NO_CONTENT] * 2

    played(main())


def test_who_has_said_something_since_stays() -> None:
    """It came first, and is not the one that has said nothing for longest."""

    async def main() -> None:
        async with Site(2) as site, asyncio.timeout(3600):
            site.answer.set()
            first, second = await site.connect(), await site.connect()
            first.ask()
            assert await first.answer() == NO_CONTENT
            await site.connect()
            assert await second.rest() == b""
            first.ask()
            assert await first.answer() == NO_CONTENT

    played(main())


def test_whose_answer_is_still_to_be_sent_stays() -> None:
    """It is whole for the app that gave it, and not for who reads it slowly."""

    async def main() -> None:
        async with Site(1, b"a" * LONG) as site, asyncio.timeout(3600):
            site.answer.set()
            slow = await site.connect()
            slow.ask()
            assert await slow.answer() == b"HTTP/1.1 200 OK"
            late = await site.connect()
            assert await late.rest() == b""
            assert len(await slow.reader.readexactly(LONG)) == LONG

    played(main())


@pytest.mark.parametrize("is_whole", [False, True], ids=["which goes on", "which is whole"])
def test_who_takes_nothing_of_an_answer_is_closed(*, is_whole: bool) -> None:
    """It would be kept for as long as they like; who reads it, however slowly, has all of it."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, LaterLoop)
        async with Site(10, b"a" * LONG, parts=1 if is_whole else 2) as site, asyncio.timeout(3600):
            site.answer.set()
            slow, still = await site.connect(), await site.connect()
            for line in (slow, still):
                line.ask()
                assert await line.answer() == b"HTTP/1.1 200 OK"
            read = 0
            for _ in range(3):
                read += len(await slow.reader.readexactly(LONG // 4))
                loop.ahead_s += connections.STILL_S
                await site.holds(1)
            read += len(await slow.reader.readexactly(LONG - read))
            assert read == LONG
            assert len(await still.rest()) < LONG
            again = await site.connect()
            again.ask()
            assert await again.answer() == b"HTTP/1.1 200 OK"

    played(main())


@pytest.mark.parametrize(
    ("soft", "hard", "asked", "most"),
    [
        (96, 96, None, 48),
        (1024, 1024, None, 512),
        (1024, 4096, 4096, 2048),
        (1024, resource.RLIM_INFINITY, connections.DESCRIPTORS, connections.MOST),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, None, connections.MOST),
        (100_000, 200_000, None, connections.MOST),
    ],
)
def test_half_of_what_may_be_open_is_for_connections(
    soft: int, hard: int, asked: int | None, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once as much is asked for as the system gives."""
    limits = list[tuple[int, int]]()
    monkeypatch.setattr(resource, "getrlimit", lambda which: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda which, both: limits.append(both))
    assert connections_max() == most
    assert limits == ([] if asked is None else [(asked, hard)])


def test_a_system_that_gives_no_more_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """One says that there is no limit, and has one."""

    def refused(which: int, both: tuple[int, int]) -> None:
        raise ValueError("not allowed")

    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refused)
    assert connections_max() == 128
