"""A process that is killed in the middle of a call, and the one that comes after."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

CALLER = Path(__file__).with_name("caller.py")


def caller(folder: Path, how: str, trust: str, run: str) -> subprocess.Popen[str]:
    """Begins the program."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, str(CALLER), str(folder), how, trust, run],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=env,
    )


@pytest.mark.parametrize(
    ("trust", "printed", "calls"),
    [("doubt", "asks: it was begun, its process ended", 1), ("trust", "done", 2)],
)
def test_a_call_is_made_once_more_only_where_that_is_allowed(
    tmp_path: Path, trust: str, printed: str, calls: int
) -> None:
    """A human is asked, unless a server that is trusted says that it may be repeated."""
    log = tmp_path / "log"
    first = caller(tmp_path, "holds", trust, "run")
    until = time.monotonic() + 30
    while not (log.exists() and log.read_text()):
        assert time.monotonic() < until
        assert first.poll() is None
        time.sleep(0.02)  # no event says that a foreign process has been called
    first.kill()
    first.communicate()

    out, _ = caller(tmp_path, "works", trust, "resume").communicate(timeout=30)

    assert out.startswith(printed)
    made = log.read_text().splitlines()
    assert len(made) == calls
    assert len(set(made)) == 1
