"""What dies under a host: a sample of `python3 dev.py crashes all`.

Each host is in it, in both of its modes, and each way to die under one of them.
"""

from __future__ import annotations

import pytest

from tests.adapters.hosts.engines.crashes import played


@pytest.mark.parametrize(
    ("host", "what"),
    [
        *(("local", "cut"), ("dbos", "server"), ("temporal", "freeze"), ("restate", "kill")),
        *(("dbos-effects", "kill"), ("temporal-effects", "kill")),
    ],
)
def test_nothing_is_lost_and_nothing_done_twice(host: str, what: str) -> None:
    """Whatever dies, each payment is made once, and each run comes to its end."""
    counts = played(host, what, 7)

    assert counts[what] == 1
    assert (counts["repeated"], counts["lost"], counts["silent"]) == (0, 0, 0)
