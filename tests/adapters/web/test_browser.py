"""The pages in a real browser: what a person does, live, with two of them, and after a cut."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.requests import Request

from detent.machine import CancelRequested
from detent.web import Person
from tests.adapters.web.browsers import ANN, BOB, NEEDS_BROWSER, Site, opened
from tests.adapters.web.pages import HOSTILE, Paid, clerk, waiting

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = NEEDS_BROWSER


@pytest.mark.parametrize("site", [{"one": ANN, "two": BOB}], indirect=True)
def test_two_people_work_through_an_inbox_that_follows(site: Site, browser: Any) -> None:
    """One changes a call and confirms another; the page of the other one follows without a key."""
    problems: list[str] = []
    mine = opened(browser, site.url, problems)
    theirs = opened(browser, site.url, problems)
    watching = opened(browser, f"{site.url}/run/one", problems)
    sync_api.expect(theirs.locator("article.question")).to_have_count(2)
    theirs.clock.install()

    mine.locator("article", has_text="Ann").get_by_role("link", name="Change").click()
    mine.get_by_label("amount").fill("50")
    mine.get_by_role("button", name="Look at the change").click()
    sync_api.expect(mine.locator("ins")).to_have_text("50")
    mine.get_by_role("button", name="Run it with this change").click()
    sync_api.expect(theirs.locator("article.question")).to_have_count(1)
    sync_api.expect(watching.locator(".status").first).to_have_text("done")
    sync_api.expect(mine.locator(".said .status")).to_have_text("done")
    sync_api.expect(mine.get_by_text("It said: Done.")).to_be_visible()
    mine.get_by_role("link", name="Next: pay of run two").click()
    sync_api.expect(mine.get_by_role("button", name="Run it", exact=True)).to_be_visible()
    mine.goto(site.url)

    theirs.clock.fast_forward(1000)  # it has moved, and takes no click before it could be seen
    theirs.get_by_role("button", name="Run it as it is").click()
    site.wait_for("two")
    sync_api.expect(mine.get_by_text("Nothing waits for you.")).to_be_visible()
    assert [(one["to"], one["amount"]) for one in site.paid] == [("Ann", 50), ("Bob", 2)]
    assert problems == []


def test_an_open_page_is_shown_anew_once_somebody_else_has_signed_in(browser: Any) -> None:
    """It says whose it is: its buttons are never those of one person under another one's name."""
    now = ["Ada"]

    async def who(request: Request) -> Person | None:
        return Person(now[0])

    problems: list[str] = []
    site = Site(lambda: waiting({"one": clerk([], ANN, runs=2)}), sign_in=who)
    try:
        mine = opened(browser, site.url, problems)
        sync_api.expect(mine.get_by_text("You are Ada")).to_be_visible()
        now[0] = "Bob"
        site.do(site.host.start("one", "Pay.", run_id="two"))
        sync_api.expect(mine.get_by_text("You are Bob")).to_be_visible()
    finally:
        site.close()
    assert problems == []


def test_no_question_that_comes_takes_the_click_for_another_one(browser: Any) -> None:
    """It stands below. When one goes, the next one, which takes its place, hears no click yet."""
    problems: list[str] = []
    paid: Paid = []
    site = Site(lambda: waiting({"one": clerk(paid, ANN, runs=2)}))
    try:
        mine = opened(browser, site.url, problems)
        button = mine.get_by_role("button", name="Run it as it is").first
        place = button.bounding_box()
        assert place is not None
        x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2

        site.do(site.host.start("one", "Pay.", run_id="two"))
        sync_api.expect(mine.locator("article.question")).to_have_count(2)
        assert button.bounding_box() == place
        mine.clock.install()
        site.do(site.host.send("one", CancelRequested("enough")))
        sync_api.expect(mine.locator("article.question")).to_have_count(1)
        mine.mouse.click(x, y)
        assert (paid, mine.url) == ([], f"{site.url}/")
        mine.clock.run_for(1000)
        button.click()
        site.wait_for("two")
        assert (len(paid), problems) == (1, [])
    finally:
        site.close()


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
    for path in (
        "/",
        "/runs",
        "/run/one",
        f"/question/{digest}/one",
        "/moment/one?at=2",
        "/proof/one",
        "/compare?a=one&b=one",
    ):
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


LONG = "accounts_payable_of_the_northern_branch_of_the_bank"
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("site", [{"one": ANN}, {LONG: ANN}], indirect=True, ids=["short", "long"])
def test_a_phone_shows_first_what_counts(site: Site, browser: Any) -> None:
    """The last day of a plot, and for whom a run waits, without moving anything sideways."""
    page = opened(browser, site.url, [], viewport={"width": 360, "height": 800})
    page.goto(f"{site.url}/overview")
    sync_api.expect(page.locator(".plot rect").first).to_be_in_viewport()
    page.goto(f"{site.url}/runs")
    sync_api.expect(page.get_by_role("cell", name="pay", exact=True)).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("site", [{LONG: ANN, LONG[::-1]: BOB}], indirect=True)
def test_no_name_is_too_long_for_a_phone(site: Site, browser: Any) -> None:
    """Nothing of a page stands beside the screen, and of two runs both can be seen."""
    page = opened(browser, site.url, [], viewport={"width": 360, "height": 800})
    between = f"/compare?a={LONG}&b={LONG[::-1]}"
    for path in ("/", "/runs", f"/run/{LONG}", f"/moment/{LONG}?at=1", between, "/overview"):
        page.goto(f"{site.url}{path}")
        for folded in page.locator("main summary").all():
            folded.click()
        assert (path, page.evaluate(SIDEWAYS)) == (path, 0)
        if path == between:
            sync_api.expect(page.locator(".sides ins").first).to_be_in_viewport(ratio=1)
    sync_api.expect(page.get_by_role("cell", name="1", exact=True).first).to_be_visible()
    sides = "[...document.querySelectorAll('.plot td')].map(td => td.getBoundingClientRect().right)"
    assert max(page.evaluate(sides)) <= 360
