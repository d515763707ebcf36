"""What tests of engines share."""

from __future__ import annotations

import time
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

LOOK_S = 0.3
"""So long is enough for the thread of DBOS that reads its queue, which must have ended by then."""


@pytest.fixture
def quick_ends_of_dbos(monkeypatch: pytest.MonkeyPatch) -> None:
    """DBOS looks once a second whether all is at its end: for tests that open hosts by the dozen.

    It is not for those that look at what becomes of a run while its host ends.
    """
    if find_spec("dbos") is not None:
        quick = SimpleNamespace(time=time.time, sleep=lambda end_s: time.sleep(min(end_s, LOOK_S)))
        monkeypatch.setattr("dbos._dbos.time", quick)
