"""A real process is killed at random instants, and nothing is done twice that must not be.

A sample: `python3 dev.py crashes stores 200` kills as often as one likes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TABLE = Path(__file__).with_name("kill_table.py")
KILLS = 8
"""For each of the four declarations."""


pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked to be killed")


@pytest.mark.parametrize("store", ["directory", "sqlite"])
def test_killed_at_any_instant_nothing_is_lost_or_done_twice(store: str) -> None:
    """At least 32 kills for each store; every count of harm is 0."""
    assert_no_harm(store, dict(os.environ))


def test_killed_at_any_instant_postgres_loses_nothing_either(postgres_url: str) -> None:
    """As above; it needs a server."""
    assert_no_harm("postgres", {**os.environ, "DETENT_TEST_POSTGRES": postgres_url})


def assert_no_harm(store: str, env: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, str(TABLE), str(KILLS), store],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines()[1:]]
    assert [row[1] for row in rows] == ["ask", "rerun", "fail", "reconcile"]
    assert {tuple(row[-3:]) for row in rows} == {("0", "0", "0")}
    assert all(int(row[2]) >= KILLS for row in rows)
    assert sum(int(row[4]) for row in rows) > 0
