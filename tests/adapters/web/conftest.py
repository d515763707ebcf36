"""One browser, and servers to look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.adapters.web.browsers import CHROMIUM, FLAGS, Site


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for a module: while it is open, no test beside it can have an event loop."""
    from playwright import sync_api

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
