"""Hosts in processes of their own: they share a store, are killed, and are told to end."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from detent.ports.claims import claims_of
from tests.adapters.hosts import worker
from tests.adapters.hosts.worker import TURNS, journal_at, payer


@contextmanager
def hosting(store: str, folder: Path) -> Generator[subprocess.Popen[str]]:
    """A process that hosts."""
    program = [sys.executable, worker.__file__, store, str(folder)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def is_done(store: str, count: int) -> bool:
    return len(journal_at(store).runs()) == count and all(
        run.status == "done" for run in journal_at(store).runs()
    )


def paid_in(folder: Path) -> list[str]:
    """The payments so far, by their keys."""
    paid = folder / "paid.txt"
    return paid.read_text().split() if paid.exists() else []


def begin(store: str, folder: Path, count: int) -> None:
    """Begin runs, and drive none of them."""
    agent = payer(folder, name="payer", journal=journal_at(store))
    for number in range(count):
        asyncio.run(agent.begin("pay", run_id=f"r{number}").leave_async())


def test_two_processes_share_a_store_and_are_killed(tmp_path: Path) -> None:
    """Whatever dies when, each payment is made once, and each run comes to its end."""
    store, count = str(tmp_path / "runs.db"), 8
    begin(store, tmp_path, count)

    for number in (5, 13, 21):
        with hosting(store, tmp_path), hosting(store, tmp_path):
            while len(paid_in(tmp_path)) < number:
                time.sleep(0.002)
    assert not is_done(store, count)
    with hosting(store, tmp_path):
        while not is_done(store, count):
            time.sleep(0.05)

    paid = paid_in(tmp_path)
    assert len(paid) == len({*paid}) == count * TURNS * 2


def test_a_process_that_is_told_to_end_hears_out_what_is_at_work(tmp_path: Path) -> None:
    """SIGTERM: nothing more is begun, and the run is free for whoever is next."""
    store = str(tmp_path / "runs.db")
    (tmp_path / "hold").touch()
    with hosting(store, tmp_path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        begin(store, tmp_path, 1)
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        assert process.poll() is None
        (tmp_path / "hold").unlink()
        said, _ = process.communicate(timeout=30)

    journal = journal_at(store)
    claims = claims_of(journal)
    assert claims is not None
    claim = claims.find("r0")
    assert said == f"ended by {int(signal.SIGTERM)}\n"
    assert process.returncode == 0
    assert claim is not None
    assert claim.owner == ""
    assert journal.runs()[0].status == "running"
    assert len((tmp_path / "paid.txt").read_text().split()) == 2
