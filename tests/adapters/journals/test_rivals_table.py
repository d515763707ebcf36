"""Processes that live fight for the same runs, and nothing is done twice that must not be.

A sample: `python3 dev.py crashes stores 125` has as many rounds as one likes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TABLE = Path(__file__).with_name("rivals_table.py")
ROOT = Path(__file__).parents[3]


pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked to fight")


@pytest.mark.parametrize("store", ["directory", "sqlite", "postgres"])
def test_of_rivals_one_drives(store: str, request: pytest.FixtureRequest) -> None:
    """Two rounds for each store; every count of harm is 0."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    if store == "postgres":
        env["DETENT_TEST_POSTGRES"] = request.getfixturevalue("postgres_url")
    done = subprocess.run(
        [sys.executable, str(TABLE), "2", store],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines()[1:]]
    assert {tuple(row[-3:]) for row in rows} == {("0", "0", "0")}
    assert sum(int(row[3]) + int(row[4]) for row in rows) > 0
