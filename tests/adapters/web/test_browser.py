"""The pages in a real browser: what a person does, live, with two of them, and after a cut."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from detent.hosts import Host
from detent.web import web_app
from tests.adapters.web.pages import HOSTILE, Paid, hosted

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = os.environ.get("DETENT_CHROMIUM") or shutil.which("chromium") or shutil.which("chrome")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: install the system's package"),
    pytest.mark.xdist_group("browser"),
]
FLAGS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
]


class Site:
    """A server with a host whose runs wait, in a thread of its own."""

    def __init__(self, **agents: dict[str, Any]) -> None:
        self.paid: Paid = []
        self._open: list[asyncio.StreamWriter] = []
        self._passing: list[asyncio.Task[Any]] = []
        self._ready, self._agents = threading.Event(), agents
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(30)

    async def _serve(self) -> None:
        async with hosted(self.paid, **self._agents) as host:
            self.loop, self.host = asyncio.get_running_loop(), host
            config = uvicorn.Config(web_app(host), port=0, log_level="error")
            self._server = uvicorn.Server(config)
            serving = asyncio.create_task(self._server.serve())
            while not self._server.started:  # noqa: ASYNC110 - uvicorn has no event for it
                await asyncio.sleep(0.01)
            self._port = self._server.servers[0].sockets[0].getsockname()[1]
            between = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
            self.url = f"http://localhost:{between.sockets[0].getsockname()[1]}"
            self._ready.set()
            async with between:
                await serving
            await asyncio.gather(*self._passing, return_exceptions=True)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """What stands between a browser and the server, and can be cut."""
        passing = asyncio.current_task()
        assert passing is not None
        self._passing.append(passing)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._open += [writer, far_writer]
        ways = ((reader, far_writer), (far_reader, writer))
        await asyncio.gather(*(_copy(*way) for way in ways), return_exceptions=True)
        closing = (end.wait_closed() for end in (writer, far_writer))
        await asyncio.gather(*closing, return_exceptions=True)

    def cut(self) -> None:
        """Break all connections that are open."""
        for writer in self._open:
            self.loop.call_soon_threadsafe(writer.transport.abort)

    def wait_for(self, run_id: str) -> None:
        """Until a run has ended."""
        host: Host = self.host
        asyncio.run_coroutine_threadsafe(host.result(run_id, timeout=20), self.loop).result(30)

    def close(self) -> None:
        """End the server, and wait for that."""
        self._server.should_exit = True
        self.cut()  # streams of events end with those who read them
        self._thread.join(30)
        assert not self._thread.is_alive()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for all tests."""
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """A server with the agents of the test's marker."""
    found = Site(**request.param)
    yield found
    found.close()


ANN, BOB = {"to": "Ann", "amount": 100}, {"to": "Bob", "amount": 2}


def opened(browser: Any, url: str, problems: list[str], **options: Any) -> Any:
    """A page in a context of its own; what the browser complains of is kept."""
    page = browser.new_context(**options).new_page()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    page.goto(url)
    return page


@pytest.mark.parametrize("site", [{"one": ANN, "two": BOB}], indirect=True)
def test_two_people_work_through_an_inbox_that_follows(site: Site, browser: Any) -> None:
    """One changes a call and confirms another; the page of the other one follows without a key."""
    problems: list[str] = []
    mine = opened(browser, site.url, problems)
    theirs = opened(browser, site.url, problems)
    watching = opened(browser, f"{site.url}/run/one", problems)
    sync_api.expect(theirs.locator("article.question")).to_have_count(2)

    mine.locator("article", has_text="Ann").get_by_role("link", name="Change").click()
    mine.get_by_label("amount").fill("50")
    mine.get_by_role("button", name="Look at the change").click()
    sync_api.expect(mine.locator("ins")).to_have_text("50")
    mine.get_by_role("button", name="Run it with this change").click()
    sync_api.expect(theirs.locator("article.question")).to_have_count(1)
    sync_api.expect(watching.locator(".status").first).to_have_text("done")

    theirs.get_by_role("button", name="Run it as it is").click()
    site.wait_for("two")
    sync_api.expect(mine.get_by_text("Nothing waits for you.")).to_be_visible()
    assert [(one["to"], one["amount"]) for one in site.paid] == [("Ann", 50), ("Bob", 2)]
    assert problems == []


@pytest.mark.parametrize("site", [{"one": ANN, "two": BOB}], indirect=True)
def test_keys_move_and_decide_nothing(site: Site, browser: Any) -> None:
    """J and K go from question to question; the first Tab leads past the menu."""
    problems: list[str] = []
    page = opened(browser, site.url, problems)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for key, place in (("j", 0), ("j", 1), ("j", 1), ("k", 0)):
        page.keyboard.press(key)
        cards = "[...document.querySelectorAll('.question')].indexOf(document.activeElement)"
        assert page.evaluate(cards) == place
    for key in ("y", "n", "a", "Enter", "Space"):
        page.keyboard.press(key)
    sync_api.expect(page.locator("article.question")).to_have_count(2)
    assert (site.paid, problems) == ([], [])


@pytest.mark.parametrize(
    "site", [{"one": {"to": HOSTILE, "amount": 1, "note": HOSTILE}}], indirect=True
)
@pytest.mark.parametrize("width", [360, 1920])
def test_hostile_texts_run_nothing_on_any_screen(site: Site, browser: Any, width: int) -> None:
    """No dialog, no script, no sideways scrolling, dark or light."""
    problems: list[str] = []
    scheme = "dark" if width == 360 else "light"
    page = opened(
        browser, site.url, problems, viewport={"width": width, "height": 800}, color_scheme=scheme
    )
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    digest = page.locator("input[name=digest]").first.input_value()
    for path in ("/", "/runs", "/run/one", f"/question/{digest}/one"):
        page.goto(site.url + path)
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wide) <= 0, path
    assert problems == []


@pytest.mark.parametrize("site", [{"one": ANN}], indirect=True)
def test_a_page_whose_connection_drops_catches_up(site: Site, browser: Any) -> None:
    """What happened in between is there once it is back."""
    problems: list[str] = []
    page = opened(browser, f"{site.url}/run/one", problems)
    other = opened(browser, site.url, problems)
    sync_api.expect(page.locator(".status").first).to_have_text("waiting")
    site.cut()
    page.context.set_offline(True)
    other.get_by_role("button", name="Reject").click()
    site.wait_for("one")
    page.context.set_offline(False)
    sync_api.expect(page.locator(".status").first).to_have_text("done", timeout=15_000)
    assert site.paid == []


@pytest.mark.parametrize("site", [{"one": ANN}], indirect=True)
def test_it_works_without_scripts(site: Site, browser: Any) -> None:
    """Links and forms are links and forms."""
    problems: list[str] = []
    page = opened(browser, site.url, problems, java_script_enabled=False)
    page.get_by_role("button", name="Run it as it is").click()
    site.wait_for("one")
    page.goto(site.url)
    sync_api.expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
    assert len(site.paid) == 1


@pytest.mark.parametrize("site", [{"one": ANN}], indirect=True)
def test_no_other_site_can_frame_it(site: Site, browser: Any) -> None:
    """A page around it, whose click would be ours, stays empty."""
    page = browser.new_context().new_page()
    page.set_content(f'<iframe src="{site.url}/"></iframe>')
    frame = page.frames[-1]
    page.wait_for_timeout(300)
    assert "Inbox" not in frame.content()
