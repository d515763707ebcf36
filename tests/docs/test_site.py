"""What axe-core finds on pages of the built documentation: nothing, light and dark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.adapters.web.browsers import NEEDS_AXE, violations
from tests.adapters.web.conftest import browser as browser  # noqa: PLC0414 - a fixture

SITE = Path(__file__).resolve().parents[2] / "site"
pytestmark = [
    *NEEDS_AXE,
    pytest.mark.skipif(
        not (SITE / "index.html").exists() and not os.environ.get("CI"),
        reason="the site is not built: python3 dev.py docs",
    ),
]
PAGES = ("", "how-to/decide-in-a-browser/", "reference/errors/", "explanation/architecture/")
"""Of each kind: the front, screenshots and code, a wide table, drawings."""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and does not tell."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - of the library
        """Nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where the built site is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE)) as server:
        serving = Thread(target=server.serve_forever, daemon=True)
        serving.start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()
        serving.join()


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1920, "light")])
def test_axe_finds_nothing(url: str, browser: Any, width: int, scheme: str) -> None:
    """On a page of each kind."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    found = list[str]()
    for path in PAGES:
        assert page.goto(url + path).ok, path
        found += violations(page)
    context.close()
    assert found == []
