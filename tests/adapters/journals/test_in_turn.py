"""A run that one process has begun is finished by three others, in turn."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from detent.journals import PostgresJournal

SCRIPT = Path(__file__).with_name("in_turn.py")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a process kills itself by signal")


def process(store: str, place: Path, die_in: int, env: dict[str, str]) -> tuple[int, str]:
    """Another process works on the run; its exit code, and what it has printed."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), store, str(place), str(die_in)],
        env=os.environ | env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout.strip() or done.stderr


def assert_finished_in_turn(store: str, place: Path, env: dict[str, str]) -> None:
    ends = [process(store, place, die_in, env) for die_in in (1, 2, 3, 0)]

    assert [code for code, _ in ends] == [-signal.SIGKILL] * 3 + [0], ends
    assert ends[-1][1] == "paid 1, paid 2, paid 3, paid 4"
    lines = [line.split(" by ") for line in (place / "ledger").read_text().splitlines()]
    assert [n for n, _ in lines] == ["1", "2", "3", "4"]
    assert len({pid for _, pid in lines}) == 4


@pytest.mark.parametrize("store", ["directory", "sqlite"])
def test_a_run_is_finished_by_three_other_processes(store: str, tmp_path: Path) -> None:
    """Each payment was made once, each by another process."""
    assert_finished_in_turn(store, tmp_path, {})


def test_a_run_in_postgres_is_finished_by_three_other_processes(
    postgres_url: str, tmp_path: Path
) -> None:
    """As above; it needs a server."""
    PostgresJournal(postgres_url).delete("in turn")
    assert_finished_in_turn("postgres", tmp_path, {"DETENT_TEST_POSTGRES": postgres_url})
