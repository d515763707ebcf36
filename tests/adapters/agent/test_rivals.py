"""Real processes that live: only one of them drives a run, and only one has its tools run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from detent.journals import RunBusyError
from tests.adapters.agent import rivals
from tests.adapters.agent.rivals import RUN, agent_on


@pytest.fixture(params=["runs", "runs.db", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the runs are."""
    if request.param == "postgres":
        url: str = request.getfixturevalue("postgres_url")
        agent_on(url, tmp_path).assembly.required_journal.delete(RUN)
        return url
    return str(tmp_path / request.param)


@contextmanager
def rival(store: str, folder: Path, how: str) -> Generator[subprocess.Popen[str]]:
    """A process that drives the run."""
    program = [sys.executable, rivals.__file__, store, str(folder), how]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def done(folder: Path) -> list[str]:
    return (folder / "done.txt").read_text().splitlines()


def test_a_run_whose_driver_lives_is_busy_and_free_when_it_dies(store: str, tmp_path: Path) -> None:
    """That it has died is known at once on this machine: nobody waits for its time to end."""
    for name in ("begun", "never"):
        os.mkfifo(tmp_path / name)
    ours = agent_on(store, tmp_path)

    with rival(store, tmp_path, "blocked") as process:
        (tmp_path / "begun").read_text()  # it is in its tool
        with pytest.raises(RunBusyError) as busy:
            ours.resume(RUN)
        with pytest.raises(RunBusyError):
            ours.resume(RUN, wait=0.1)
    result = ours.resume(RUN)

    assert busy.value.owner is not None
    assert busy.value.owner.pid == process.pid
    assert result.text == "done"
    assert done(tmp_path) == [f"{os.getpid()} 2"]


def test_who_was_frozen_and_wakes_begins_no_tool(store: str, tmp_path: Path) -> None:
    """Its claim has lapsed in the meantime, and another process has gone on."""
    with rival(store, tmp_path, "frozen") as process:
        os.waitpid(process.pid, os.WUNTRACED)
        result = agent_on(store, tmp_path).evolve(claim_s=0.3).resume(RUN, wait=60)
        process.send_signal(signal.SIGCONT)
        said, _ = process.communicate(timeout=60)

    assert result.text == "done"
    assert "is driven by" in said
    ((pid, token),) = (line.split() for line in done(tmp_path))
    assert int(pid) == os.getpid()
    assert int(token) >= 2  # on a slow machine the rival has claimed it twice before it froze


def test_who_was_frozen_and_wakes_in_time_goes_on(store: str, tmp_path: Path) -> None:
    """By a claim of its own: nobody was faster."""
    with rival(store, tmp_path, "frozen") as process:
        os.waitpid(process.pid, os.WUNTRACED)
        process.send_signal(signal.SIGCONT)
        said, _ = process.communicate(timeout=60)

    assert said == "done"
    assert [line.split()[0] for line in done(tmp_path)] == [str(process.pid)]
