"""What dies on an engine: a sample of `crashes.py`."""

from __future__ import annotations

import pytest

from tests.adapters.hosts.engines.crashes import played


@pytest.mark.parametrize(
    ("engine", "what"),
    [
        *(("dbos", "kill"), ("dbos", "freeze")),
        *(("temporal", "freeze"), ("temporal", "server")),
        *(("restate", "kill"), ("restate", "server")),
    ],
)
def test_nothing_is_lost_and_nothing_done_twice(engine: str, what: str) -> None:
    """Whatever dies, each payment is made once, and each run comes to its end."""
    counts = played(engine, what, 7)

    assert counts[what] == 1
    assert (counts["repeated"], counts["lost"]) == (0, 0)
