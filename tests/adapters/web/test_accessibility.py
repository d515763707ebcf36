"""What axe-core finds on the main pages: nothing, light and dark, on narrow and wide screens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from detent.web import Tokens
from tests.adapters.web.browsers import ANN, BOB, NEEDS_AXE, Site, violations

pytestmark = NEEDS_AXE
READER = "a-token-of-32-characters-for-test"


@pytest.fixture(scope="module")
def both() -> Iterator[Site]:
    """A server with two runs that wait."""
    found = Site(one=ANN, two=BOB)
    yield found
    found.close()


@pytest.fixture(scope="module")
def closed() -> Iterator[Site]:
    """A server where one must sign in."""
    found = Site(sign_in=Tokens({READER: "the eye"}, read_only=[READER]), one=ANN)
    yield found
    found.close()


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        *((360, "dark"), (1920, "light")),
        *(pytest.param(*one, marks=pytest.mark.matrix) for one in ((360, "light"), (1920, "dark"))),
    ],
)
def test_axe_finds_nothing(both: Site, closed: Site, browser: Any, width: int, scheme: str) -> None:
    """On any page, with what is folded up unfolded."""
    size = {"width": width, "height": 900}
    context = browser.new_context(viewport=size, color_scheme=scheme)
    page = context.new_page()
    page.goto(both.url)
    digest = page.locator("input[name=digest]").first.input_value()
    run_id = page.locator("input[name=run_id]").first.input_value()
    question = f"{both.url}/question/{digest}/{run_id}"
    paths = ("/", "/runs", "/run/one", "/moment/one?at=1", "/proof/one", "/compare?a=one&b=two")
    found = list[str]()
    for url in (
        *(both.url + path for path in (*paths, "/overview", "/run/nobody")),
        f"{closed.url}/sign-in",
        question,
    ):
        page.goto(url)
        found += violations(page)
    page.get_by_role("button", name="Look at the change").click()
    page.wait_for_load_state("load")
    found += violations(page)
    context.close()
    assert found == []


def test_axe_finds_nothing_where_one_may_only_look(closed: Site, browser: Any) -> None:
    """Pages without their buttons."""
    page = browser.new_context(viewport={"width": 360, "height": 900}).new_page()
    page.goto(f"{closed.url}/sign-in")
    page.get_by_label("Your token").fill(READER)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("You may look at this, and not decide").wait_for()
    found = list[str]()
    for path in ("/", "/runs", "/run/one", "/moment/one?at=1"):
        page.goto(closed.url + path)
        found += violations(page)
    assert page.get_by_role("button", name="Fork here").count() == 0
    page.context.close()
    assert found == []


@pytest.mark.parametrize("site", [{"one": ANN, "two": BOB}], indirect=True)
def test_axe_finds_nothing_after_a_decision(site: Site, browser: Any) -> None:
    """Nor does a narrow screen scroll sideways."""
    context = browser.new_context(viewport={"width": 360, "height": 800}, color_scheme="dark")
    page = context.new_page()
    page.goto(site.url)
    page.get_by_role("button", name="Run it as it is").first.click()
    page.get_by_role("link", name="See the run").wait_for()
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) <= 0
    assert violations(page) == []
    context.close()
