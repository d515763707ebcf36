"""A PostgreSQL server for the tests: the one that is named, else one of our own."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a server: that of DETENT_TEST_POSTGRES, else one that is started here."""
    if given := os.environ.get("DETENT_TEST_POSTGRES"):
        yield given
        return
    with warnings.catch_warnings(action="ignore"):  # it looks for folders that need not be there
        pgserver = pytest.importorskip(
            "pgserver", reason="neither DETENT_TEST_POSTGRES nor pgserver"
        )
        # Not a folder of pytest's: when root runs the tests, the server runs as another user.
        with tempfile.TemporaryDirectory() as folder:
            server = pgserver.get_server(folder)
            yield server.get_uri()
            server.cleanup()
