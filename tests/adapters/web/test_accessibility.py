"""What axe-core finds on the main pages: nothing, light and dark, on narrow and wide screens."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.web.browsers import ANN, BOB, NEEDS_BROWSER, Site

AXE = find_spec("axe_playwright_python")
"""The package that brings axe-core along, under the MPL 2.0; it is only read from."""
pytestmark = [
    *NEEDS_BROWSER,
    pytest.mark.skipif(
        AXE is None and not os.environ.get("CI"), reason="axe-playwright-python is not installed"
    ),
]


@pytest.fixture(scope="module")
def axe() -> str:
    """The program."""
    assert AXE is not None
    assert AXE.origin is not None
    return (Path(AXE.origin).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def both() -> Iterator[Site]:
    """A server with two runs that wait."""
    found = Site(one=ANN, two=BOB)
    yield found
    found.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1920])
def test_axe_finds_nothing(both: Site, browser: Any, axe: str, width: int, scheme: str) -> None:
    """By all rules that are on as it comes, with what is folded up unfolded."""
    size = {"width": width, "height": 900}
    context = browser.new_context(viewport=size, color_scheme=scheme)
    page = context.new_page()
    page.goto(both.url)
    digest = page.locator("input[name=digest]").first.input_value()
    run_id = page.locator("input[name=run_id]").first.input_value()
    paths = ("/", f"/question/{digest}/{run_id}", "/runs", "/run/one", "/moment/one?at=1")
    found = list[str]()
    for path in (*paths, "/proof/one", "/compare?a=one&b=two", "/overview", "/run/nobody"):
        page.goto(both.url + path)
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        page.evaluate(axe)
        for one in page.evaluate("axe.run()")["violations"]:
            places = [node["html"][:120] for node in one["nodes"]]
            found.append(f"{path}: {one['id']}: {one['help']}: {places}")
    context.close()
    assert found == []
