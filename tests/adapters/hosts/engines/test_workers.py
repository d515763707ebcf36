"""Workers of engines in processes of their own, as they are deployed."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from tests.adapters.hosts.engines.crashes import begun, is_done, until, working
from tests.adapters.hosts.engines.sites import EFFECTS, ENGINES, site_of

PATIENCE_S = 30.0


@pytest.mark.parametrize("engine", [*ENGINES, *EFFECTS])
def test_a_worker_that_has_worked_ends_when_it_is_told_to(engine: str, tmp_path: Path) -> None:
    """Libraries of engines, too, like to hear signals; the worker is whose they are."""
    with site_of(engine, tmp_path) as site, working(site, tmp_path, "look up") as worker:
        until((tmp_path / "ready").exists, tmp_path)
        asyncio.run(begun(site, tmp_path, "look up"))
        until(is_done(site), tmp_path)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(PATIENCE_S) == 0
