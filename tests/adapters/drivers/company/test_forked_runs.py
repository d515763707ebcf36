"""A tool forks, and the child comes back from it: the run stays with the parent.

This module is the process that does so, in a folder, with a store:
`python -m tests.adapters.drivers.company.test_forked_runs FOLDER STORE`. In an event loop Python
itself ends such a child: that has no running loop.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from detent import Agent, ScriptedChatGenerator, ToolCall, tool
from detent.journals import ForkedRunError
from tests.adapters.journals.test_watching import journal_in


@tool
def fork() -> str:
    """Be two processes; the first waits for the second."""
    if os.environ.get(TENDED):  # somebody else has written to the run, and it is tended meanwhile
        threads = threading.active_count()
        forking.send("r", "more")
        while threading.active_count() == threads:
            os.sched_yield()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    return "parent" if child else "child"


def drive(agent: Agent[Any]) -> str:
    """Drive the run; say what has come of that."""
    try:
        result = agent.run("go", run_id="r")
    except ForkedRunError as error:
        return f"{error.run_id} is refused in a fork of {error.pid == os.getppid()}"
    return f"{result.text} {result.messages[2].tool_call_results[0].text}"


BEGUN = ["Started", "ModelReplied", "ToolStarted"]
TENDED = "DETENT_TEST_TENDED"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nobody can fork here")
@pytest.mark.parametrize("tended", ["", "yes"])
@pytest.mark.parametrize("store", ["directory", "sqlite"])
def test_a_child_that_comes_back_from_a_tool_writes_nothing(
    store: str, tended: str, tmp_path: Path
) -> None:
    """It is told so, and its parent goes on as if it had not been."""
    command = [sys.executable, "-W", "ignore", "-m", __name__, str(tmp_path), store]

    said = subprocess.run(
        command,
        check=True,
        timeout=60,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {TENDED: tended},
    )

    assert said.stdout.splitlines() == ["r is refused in a fork of True", "Done. parent"]
    kinds = [entry.kind for entry in journal_in(tmp_path, store).read("r")]
    told = ["MessageReceived"] if tended else []
    assert kinds == [*BEGUN, *told, "ToolReturned", "ModelReplied"]


if __name__ == "__main__":
    _, place, kind = sys.argv
    model = ScriptedChatGenerator(ToolCall("fork", id="f"), "Done.")
    forking = Agent(chat_generator=model, tools=[fork], journal=journal_in(Path(place), kind))
    print(drive(forking), flush=True)  # noqa: T201 - what the test reads
    os._exit(0)
