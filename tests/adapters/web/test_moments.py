"""One run through its time: each event with what it has changed, forks, proofs, comparisons."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import httpx
import pytest
from attrs import evolve

from detent import Agent, MemoryJournal, ScriptedChatGenerator, State
from detent.adapters.web.moments import StateChange, state_changes
from detent.hosts import Host
from detent.journals import AuditedJournal, Journal
from detent.web import web_app
from tests.adapters.web.browsers import ANN as PLAIN
from tests.adapters.web.browsers import NEEDS_BROWSER, Site, opened
from tests.adapters.web.pages import HOSTILE, clerk, token_in, visitor, waiting

HIDDEN = "s3cret-value"
ANN = {"to": "Ann", "amount": 100, "note": HOSTILE, "key": HIDDEN}
Visit = Callable[[httpx.AsyncClient, Host], Coroutine[Any, Any, None]]


def visited(visit: Visit, journal: Journal | None = None) -> None:
    """A run that waits, an agent with another model, and somebody who looks at their pages."""

    async def go() -> None:
        made = {"clerk": clerk([], ANN)}
        async with waiting(made, journal) as host, visitor(web_app(host)) as client:
            await visit(client, host)

    asyncio.run(go())


def test_each_event_shows_what_it_has_changed() -> None:
    """From the first to the last, and to the nearest where there is no such one; no secret."""

    async def visit(client: httpx.AsyncClient, host: Host) -> None:
        length = (await host.run("clerk")).listed.length
        pages = [(await client.get(f"/moment/clerk?at={at}")).text for at in range(length)]
        for at, text in enumerate(pages):
            assert f"<h2>Event {at}: " in text
            assert HIDDEN not in text
            assert "<script>alert" not in text
            assert "\x1b" not in text
        assert "The conversation begins with" in pages[0]
        assert "Pay, clerk!" in pages[0]
        assert "waits for a human" in pages[-1]
        assert "<ins><code><bdi>&#34;Acting&#34;" in pages[1]
        assert 'rel="prev"' not in pages[0]
        assert 'rel="next"' not in pages[-1]
        for wrong in ("", "x", "99", "9" * 30, "²", "-1"):
            text = (await client.get("/moment/clerk", params={"at": wrong})).text
            assert f"<h2>Event {length - 1}: " in text
        part = (await client.get("/part/moment/clerk?at=0")).text
        assert "<h2>Event 0: " in part
        assert "<html" not in part
        for path in ("/moment/nobody", "/proof/nobody", "/compare?a=clerk&b=nobody", "/compare"):
            assert (await client.get(path)).status_code == 404

    visited(visit)


def test_a_change_of_the_state_is_shown_as_it_is() -> None:
    """Grown lists by what they have got; others before and after; messages as such."""
    keys: dict[str, Any] = {"found": {"type": list}, "user": {"type": str}}
    agent = Agent(chat_generator=ScriptedChatGenerator("Hi."), state_schema=keys)
    before = agent.run("Go", found=["a"], user="Ann").run
    after_state = before.state.set("found", ["b"])
    assert isinstance(after_state, State)
    assert state_changes(before, evolve(before, state=after_state)) == (
        StateChange("found", None, '[\n  "b"\n]'),
    )
    changed = evolve(before, state=before.state.set("user", "Bob"))
    assert state_changes(before, changed) == (StateChange("user", '"Ann"', '"Bob"'),)


def test_a_fork_is_begun_by_a_form() -> None:
    """By who is there; what cannot be said is refused, and no run is begun."""

    async def visit(client: httpx.AsyncClient, host: Host) -> None:
        text = (await client.get("/moment/clerk?at=0")).text
        form = {"csrf": token_in(text), "run_id": "clerk", "length": "1", "agent": "clerk"}
        made = await client.post("/fork", data={**form, "text": "Not Ann."})
        assert made.status_code == 303
        run_id = made.headers["location"].removeprefix("/run/")
        hosted = await host.run(run_id)
        assert hosted.run.started_by == "local"
        assert [one.text for one in hosted.run.messages][:2] == ["Pay, clerk!", "Not Ann."]
        for wrong, status in (
            ({"length": "2", "text": "x"}, 409),
            ({"length": "0"}, 409),
            ({"length": "99"}, 409),
            ({"length": "²"}, 422),
            ({"length": ""}, 422),
            ({"agent": "nobody"}, 409),
            ({"csrf": "forged"}, 403),
        ):
            assert (await client.post("/fork", data={**form, **wrong})).status_code == status
        assert len(await host.runs()) == 2

    visited(visit)


@pytest.mark.parametrize(
    ("journal", "said"),
    [
        (MemoryJournal(), "keeps no chain"),
        (AuditedJournal(MemoryJournal()), "The chain of its entries is whole"),
    ],
    ids=["plain", "audited"],
)
def test_a_proof_says_what_it_proves(journal: Journal, said: str) -> None:
    """And no more than that."""

    async def visit(client: httpx.AsyncClient, host: Host) -> None:
        text = (await client.get("/proof/clerk")).text
        length = (await host.run("clerk")).listed.length
        assert f"Made again of its {length} events, it is the same run." in text
        assert said in text

    visited(visit, journal)


def test_two_runs_stand_beside_each_other() -> None:
    """From where on they differ, with no secret and no markup."""

    async def visit(client: httpx.AsyncClient, host: Host) -> None:
        text = (await client.get("/moment/clerk?at=0")).text
        form = {"csrf": token_in(text), "run_id": "clerk", "length": "1", "text": "Not Ann."}
        made = await client.post("/fork", data=form)
        run_id = made.headers["location"].removeprefix("/run/")
        both = (await client.get("/compare", params={"a": "clerk", "b": run_id})).text
        assert "They do the same in their first 1 steps" in both
        assert "<ins>" in both
        assert "Not Ann." in both
        assert HIDDEN not in both
        assert "<script>alert" not in both
        same = (await client.get("/compare", params={"a": "clerk", "b": "clerk"})).text
        assert "They did the same" in same

    visited(visit)


class TestInABrowser:
    """What people do with a keyboard."""

    pytestmark = NEEDS_BROWSER

    @pytest.mark.parametrize("site", [{"one": PLAIN}], indirect=True)
    def test_arrows_go_through_time(self, site: Site, browser: Any) -> None:
        """The slider is native; what it shows follows, and a fork begins there."""
        from playwright.sync_api import expect

        problems: list[str] = []
        page = opened(browser, f"{site.url}/run/one", problems)
        page.get_by_role("link", name="Step through it").click()
        slider = page.get_by_label("Event", exact=True)
        slider.focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#moment h2")).to_contain_text("Event 1: ModelReplied")
        expect(page.locator("#where")).to_have_text("1 of 2")
        page.keyboard.press("Home")
        expect(page.locator("#moment h2")).to_contain_text("Event 0: Started")
        page.get_by_label("Say").fill("Not Ann.")
        page.get_by_role("button", name="Fork here").click()
        expect(page.locator(".conversation")).to_contain_text("Not Ann.")
        assert page.url != f"{site.url}/run/one"
        assert (site.paid, problems) == ([], [])

    @pytest.mark.parametrize("site", [{"one": PLAIN}], indirect=True)
    def test_without_scripts_buttons_go_through_time(self, site: Site, browser: Any) -> None:
        """And the slider with its button."""
        from playwright.sync_api import expect

        problems: list[str] = []
        page = opened(browser, f"{site.url}/moment/one?at=0", problems, java_script_enabled=False)
        page.get_by_role("link", name="Next").click()
        expect(page.locator("#moment h2")).to_contain_text("Event 1: ModelReplied")
        page.get_by_label("Event", exact=True).focus()
        page.keyboard.press("End")
        page.get_by_role("button", name="Show").click()
        expect(page.locator("#moment h2")).to_contain_text("Event 2: Judged")
