"""Real processes: one decides about a call while another one works on the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from detent import Runs, SQLiteJournal
from tests.adapters.agent import decide_while_driven
from tests.adapters.agent.decide_while_driven import RUN, agent_in


def test_a_worker_hears_what_another_process_has_decided(tmp_path: Path) -> None:
    """It goes on with it, finishes the run, and no tool runs twice."""
    for name in ("counting", "decided"):
        os.mkfifo(tmp_path / name)
    program = [sys.executable, decide_while_driven.__file__, str(tmp_path)]

    with (
        subprocess.Popen([*program, "drive"], stdout=subprocess.PIPE, text=True) as driver,
        subprocess.Popen([*program, "decide"]) as decider,
    ):
        try:
            said, _ = driver.communicate(timeout=60)
            decider.wait(60)
        finally:
            driver.kill()
            decider.kill()

    done = [line.split() for line in (tmp_path / "done.txt").read_text().splitlines()]
    assert (driver.returncode, decider.returncode) == (0, 0)
    assert said == "done Ada"
    assert done == [["count", str(driver.pid)], ["pay", str(driver.pid)]]
    kinds = [one.kind for one in SQLiteJournal(tmp_path / "runs.db").read(RUN)]
    assert kinds.index("HumanDecided") < kinds.index("ToolReturned")
    assert Runs(SQLiteJournal(tmp_path / "runs.db"), agent_in(tmp_path).spec).replay(RUN).outcome
