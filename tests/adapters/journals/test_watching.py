"""One process drives a run, this one watches it, through each store that two can share.

This module is the other process as well: `python test_watching.py FOLDER STORE`. Each of its tools
ends only when somebody has seen that it has begun: it reads the pipe `seen` in the folder.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from detent import Agent, ChatMessage, Runs, ScriptedChatGenerator, SQLiteJournal, ToolCall, tool
from detent.adapters.drivers.progress import Progress
from detent.journals import DirectoryJournal, Journal, PostgresJournal

TURNS = 3
RUN = "watched"
STORES = ["directory", "sqlite", "postgres"]


def journal_in(folder: Path, store: str) -> Journal:
    """The same store, as each process opens it: a URL is a server."""
    if store == "directory":
        return DirectoryJournal(folder / "runs")
    return SQLiteJournal(folder / "runs.db") if store == "sqlite" else PostgresJournal(store)


def agent_in(folder: Path, store: str) -> Agent[Any]:
    """An agent whose tool waits until it is seen at work."""

    @tool
    def work() -> str:
        """Work until somebody has seen it."""
        with (folder / "seen").open() as pipe:
            return pipe.read()

    def answer(messages: Sequence[ChatMessage]) -> ChatMessage | str:
        turn = sum(1 for message in messages if message.tool_calls)
        call = ToolCall("work", {}, f"c{turn}")
        return "done" if turn == TURNS else ChatMessage.from_assistant(tool_calls=[call])

    chat = ScriptedChatGenerator(*[answer] * (TURNS + 1))
    return Agent(chat_generator=chat, tools=[work], journal=journal_in(folder, store))


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> str:
    """What the program calls the store; a server is only started where it is asked for."""
    is_server = request.param == "postgres"
    return str(request.getfixturevalue("postgres_url") if is_server else request.param)


@contextmanager
def driven(folder: Path, store: str) -> Generator[Runs[Any]]:
    """The runs, while another process begins one and drives it to its end."""
    agent = agent_in(folder, store)
    journal = agent.assembly.required_journal
    journal.delete(RUN)
    os.mkfifo(folder / "seen")
    command = [sys.executable, __file__, str(folder), store]
    with subprocess.Popen(command) as driver:
        try:
            while not any(run.run_id == RUN for run in journal.runs()):
                assert driver.poll() is None
                os.sched_yield()
            yield Runs(journal, agent.spec)
            assert driver.wait(30) == 0
        finally:
            driver.kill()


def go_on(folder: Path, one: Progress[Any]) -> None:
    """Let the tool end that has just begun: it waits for this."""
    if one.kind == "ToolStarted":
        with (folder / "seen").open("w") as pipe:
            pipe.write("seen")


def test_another_process_is_watched(tmp_path: Path, store: str) -> None:
    """What it has begun is seen while it is at it: else neither would ever end."""
    with driven(tmp_path, store) as runs:
        seen: list[Progress[Any]] = []
        for one in runs.watch(RUN):
            seen.append(one)
            go_on(tmp_path, one)

    assert seen == list(runs.watch(RUN))
    assert [one.kind for one in seen].count("ToolReturned") == TURNS


def test_another_process_is_watched_by_turns(tmp_path: Path, store: str) -> None:
    """In an event loop, by a watcher who leaves after each entry and is taken up by another one."""

    async def next_after(runs: Runs[Any], after: int | None) -> Progress[Any] | None:
        stream = runs.watch_async(RUN, after)
        one = await anext(stream, None)
        await stream.aclose()
        return one

    with driven(tmp_path, store) as runs:
        seen: list[Progress[Any]] = []
        while one := asyncio.run(next_after(runs, seen[-1].position if seen else None)):
            seen.append(one)
            go_on(tmp_path, one)

    assert seen == list(runs.watch(RUN))


if __name__ == "__main__":
    agent_in(Path(sys.argv[1]), sys.argv[2]).run("go", run_id=RUN)
