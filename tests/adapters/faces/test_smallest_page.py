"""The smallest page for AG-UI, as the documentation has it, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.faces.served import serving
from tests.adapters.web.browsers import CHROMIUM, FLAGS, NEEDS_BROWSER, opened

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = NEEDS_BROWSER


@pytest.fixture
def browser() -> Iterator[Any]:
    """A browser of its own."""
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield made
        made.close()


def test_a_question_is_answered_after_a_restart(tmp_path: Path, browser: Any) -> None:
    """The process is killed while it waits; the page of the next one asks, and hears the end."""
    problems: list[str] = []
    (tmp_path / "go").touch()
    with serving("page", tmp_path) as url:
        page = opened(browser, url, [])  # it complains of the connection that is cut
        page.get_by_label("Message").fill("Pay Cy.")
        page.get_by_role("button", name="Send").click()
        asked = page.get_by_text('pay {"to": "Cy", "amount": 900}')
        sync_api.expect(asked).to_be_visible(timeout=30_000)
        assert not (tmp_path / "paid").exists()
    with serving("page", tmp_path) as url:
        page = opened(browser, url, problems)
        sync_api.expect(page.locator("pre")).to_contain_text("user: Pay Cy.", timeout=30_000)
        page.get_by_role("button", name="Run it").click()
        sync_api.expect(page.locator("pre")).to_contain_text("Cy has it.", timeout=30_000)
        sync_api.expect(page.get_by_role("button", name="Run it")).to_have_count(0)
        assert [one for one in problems if "404" not in one] == []  # it has no icon
    assert (tmp_path / "paid").read_text() == "Cy 900\n"
