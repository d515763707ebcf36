"""Workers on Temporal that may be killed: each ticket is on the board once."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from detent import SQLiteJournal
from tests.adapters.hosts.engines.servers import EngineServer, temporal_server
from tests.examples.loading import begin, example

triage = example("queue_worker/triage.py")
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where Temporal is, for all tests of the module."""
    server: EngineServer = temporal_server(tmp_path_factory.mktemp("temporal"))
    server.start()
    yield f"127.0.0.1:{server.ports[0]}"
    server.kill()


def statuses(folder: Path) -> dict[str, str]:
    """The status of each ticket's run."""
    return {run.run_id: run.status for run in SQLiteJournal(folder / "runs.db").runs()}


def wait_until(folder: Path, wanted: dict[str, str]) -> None:
    """Until the runs are so."""
    end = time.monotonic() + PATIENCE_S
    while statuses(folder) != wanted:
        assert time.monotonic() < end, statuses(folder)
        time.sleep(0.05)


def sent(folder: Path, address: str, *ticket: str) -> str:
    """What is said when a ticket is handed in."""
    host = triage.make_host(folder, address, triage.scripted(), works=False)
    said: str = asyncio.run(triage.send(host, *ticket))
    return said


def workers(
    folder: Path, address: str, count: int, stack: ExitStack
) -> list[subprocess.Popen[str]]:
    """Workers in processes of their own, which are ready."""
    words: Sequence[str | Path] = ("work", "--folder", folder, "--temporal", address)
    begun = [stack.enter_context(begin("queue_worker/triage.py", *words)) for _ in range(count)]
    for one in begun:
        stack.callback(one.kill)
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    return begun


def test_a_worker_is_killed_and_each_ticket_is_on_the_board_once(
    tmp_path: Path, address: str
) -> None:
    """An urgent one waits for a yes, which any process may give."""
    with ExitStack() as stack:
        first, _ = workers(tmp_path, address, 2, stack)
        assert sent(tmp_path, address, "17", "A smell of smoke") == "ticket 17 is taken"
        wait_until(tmp_path, {"ticket-17": "waiting"})
        first.kill()
        assert sent(tmp_path, address, "18", "Where is the canteen?") == "ticket 18 is taken"
        assert sent(tmp_path, address, "18", "Where is the canteen?") == "ticket 18 is known"
        wait_until(tmp_path, {"ticket-17": "waiting", "ticket-18": "done"})

        board = triage.Board(tmp_path / "board.jsonl")
        assert list(board.tickets().values()) == ["18"]
        journal = SQLiteJournal(tmp_path / "runs.db")
        agent = triage.make_triage(board, triage.scripted(), journal)
        (question,) = agent.pending("ticket-17")
        assert question.reason == "somebody will be woken"
        agent.decide("ticket-17", question.confirm(by="Ada"))
        wait_until(tmp_path, {"ticket-17": "done", "ticket-18": "done"})

    assert sorted(board.tickets().values()) == ["17", "18"]
    assert len(board.path.read_text(encoding="utf-8").splitlines()) == 2


def test_what_was_under_way_is_looked_up(tmp_path: Path) -> None:
    """The process ends behind the board's line: it is not written a second time."""

    class PowerCut(KeyboardInterrupt):
        pass

    class Failing(triage.Board):  # type: ignore[misc,name-defined]  # of a module that is loaded here
        def put(self, key: str, ticket: str, level: str) -> None:
            super().put(key, ticket, level)
            raise PowerCut

    journal, path = SQLiteJournal(tmp_path / "runs.db"), tmp_path / "board.jsonl"
    failing = triage.make_triage(Failing(path), triage.scripted(), journal)
    with pytest.raises(PowerCut):
        failing.run("Ticket 9: Where is the canteen?", run_id="ticket-9")
    again = triage.make_triage(triage.Board(path), triage.scripted(), journal)
    assert again.resume("ticket-9").text == "Done."
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1
