"""A server with a host, and a Chromium to look at it."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import uvicorn

from detent.hosts import Host
from detent.web import SignIn, web_app
from tests.adapters.web.pages import Paid, hosted

CHROMIUM = os.environ.get("DETENT_CHROMIUM") or shutil.which("chromium") or shutil.which("chrome")
IN_CI = bool(os.environ.get("CI"))
NEEDS_BROWSER = [
    pytest.mark.skipif(
        CHROMIUM is None and not IN_CI, reason="no chromium: install the system's package"
    ),
]
AXE = find_spec("axe_playwright_python")
"""The package that brings axe-core along, under the MPL 2.0; it is only read from."""
NEEDS_AXE = [
    *NEEDS_BROWSER,
    pytest.mark.skipif(AXE is None and not IN_CI, reason="axe-playwright-python is not installed"),
]
FLAGS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
]
Hosting: TypeAlias = Callable[[], AbstractAsyncContextManager[Host]]
ANN, BOB = {"to": "Ann", "amount": 100}, {"to": "Bob", "amount": 2}


class Site:
    """A server with a host whose runs wait, in a thread of its own."""

    def __init__(
        self,
        hosting: Hosting | None = None,
        *,
        sign_in: SignIn | None = None,
        **agents: dict[str, Any],
    ) -> None:
        self.paid: Paid = []
        self._sign_in = sign_in
        self._hosting = hosting or (lambda: hosted(self.paid, **agents))
        self._open: list[asyncio.StreamWriter] = []
        self._passing: list[asyncio.Task[Any]] = []
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(30)

    async def _serve(self) -> None:
        async with self._hosting() as host:
            self.loop, self.host = asyncio.get_running_loop(), host
            config = uvicorn.Config(web_app(host, sign_in=self._sign_in), port=0, log_level="error")
            self._server = uvicorn.Server(config)
            serving = asyncio.create_task(self._server.serve())
            while not self._server.started:  # noqa: ASYNC110 - uvicorn has no event for it
                await asyncio.sleep(0.01)
            self._port = self._server.servers[0].sockets[0].getsockname()[1]
            self._between = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
            self.url = f"http://localhost:{self._between.sockets[0].getsockname()[1]}"
            self._ready.set()
            await serving
            await asyncio.gather(*self._passing, return_exceptions=True)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """What stands between a browser and the server, and can be cut."""
        passing = asyncio.current_task()
        assert passing is not None
        self._passing.append(passing)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._open += [writer, far_writer]
        if not self._between.is_serving():  # it was on its way as the server ended
            self._abort()
        ways = ((reader, far_writer), (far_reader, writer))
        await asyncio.gather(*(_copy(*way) for way in ways), return_exceptions=True)
        closing = (end.wait_closed() for end in (writer, far_writer))
        await asyncio.gather(*closing, return_exceptions=True)

    def cut(self) -> None:
        """Break all connections that are open."""
        self.loop.call_soon_threadsafe(self._abort)

    def _abort(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    def wait_for(self, run_id: str) -> None:
        """Until a run has ended."""
        host: Host = self.host
        self.do(host.result(run_id, timeout=20))

    def do(self, call: Coroutine[Any, Any, object]) -> None:
        """Have the host do something, and wait for it."""
        asyncio.run_coroutine_threadsafe(call, self.loop).result(30)

    def close(self) -> None:
        """End the server, and wait for that."""
        self.loop.call_soon_threadsafe(self._end)
        self._thread.join(30)
        assert not self._thread.is_alive()

    def _end(self) -> None:
        """Let nobody in any more, who would come back at once, and then everybody go."""
        self._between.close()
        self._abort()  # streams of events end with those who read them
        self._server.should_exit = True


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


def opened(browser: Any, url: str, problems: list[str], **options: Any) -> Any:
    """A page in a context of its own; what the browser complains of is kept."""
    page = browser.new_context(**options).new_page()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    page.goto(url)
    return page


@cache
def axe() -> str:
    """The program."""
    assert AXE is not None
    assert AXE.origin is not None
    return (Path(AXE.origin).parent / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Any) -> list[str]:
    """What axe-core says of a page, by all rules that are on as it comes."""
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    page.evaluate(axe())
    return [
        f"{page.url}: {one['id']}: {one['help']}: {[node['html'][:120] for node in one['nodes']]}"
        for one in page.evaluate("axe.run()")["violations"]
    ]
