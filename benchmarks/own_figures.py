"""What Detent holds of itself: ``python benchmarks/own_figures.py``.

Prints a Markdown table: how long stored runs take to read, how many bytes they are, and how many
instructions it takes to begin. No peer has the same operations, so each figure stands beside its
target alone. ``--json`` prints the figures for the page of all measurements.
"""
# ruff: noqa: INP001, T201  # a script that talks to a terminal

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from detent import Agent, AlwaysAskPolicy, ChatMessage, ToolCall, tool
from detent.adapters.stories.steps import Comparison, steps_of
from detent.journals import Entry, Journal, Listing, RunQuery, SQLiteJournal
from detent.models import ChatReply

TIMES = 9
FIGURES: Mapping[str, tuple[float, str]] = {
    "a page of 50 of 100,000 runs in SQLite": (5, "ms"),
    "where two runs of 1,000 turns differ": (50, "ms"),
    "a run whose model answers at once, CPU": (36, "µs"),
    "200 turns of 1 kB in SQLite, its text": (450, "kB"),
    "a run of one turn in SQLite, on the disk": (4, "kB"),
    "a run that waits for a human, in memory": (20, "kB"),
    "import, against attrs and cattrs": (1.15, "times"),
    "an import and a first run": (600, "M instructions"),
}
"""Each figure, its target and its unit: smaller is better."""


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def read(size: int) -> str:
    """Read a text of so many characters."""
    return "x" * size


class Model:
    """Calls one tool in each of some turns, and then answers."""

    def __init__(self, turns: int, name: str = "add", **arguments: object) -> None:
        self._turns = turns
        self._call = name, arguments or {"a": 1, "b": 2}

    def run(self, messages: Sequence[ChatMessage], **rest: Any) -> ChatReply:
        """The next reply; the conversation tells which."""
        if len(messages) > 2 * self._turns:
            return ChatReply(ChatMessage.from_assistant("Done."))
        name, arguments = self._call
        call = ToolCall(name, arguments, f"c{len(messages)}")
        return ChatReply(ChatMessage.from_assistant(tool_calls=[call]))

    async def run_async(self, messages: Sequence[ChatMessage], **rest: Any) -> ChatReply:
        """The same."""
        return self.run(messages)


def agent_of(model: Model, journal: Journal | None = None, **more: Any) -> Agent[Any]:
    """An agent with both tools."""
    return Agent(
        chat_generator=model, tools=[add, read], max_agent_steps=10_000, journal=journal, **more
    )


def took(act: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds, the median of some."""
    act()
    times = []
    for _ in range(TIMES):
        begun = clock()
        act()
        times.append(clock() - begun)
    return median(times)


def page_ms(folder: Path) -> float:
    """A page from the middle of a list."""
    journal = SQLiteJournal(folder / "list.db")
    for number in range(100_000):
        listing = Listing(f"agent-{number % 20}", f"thread-{number % 5000}")
        journal.append(f"{number:08}", [Entry(0, number / 3, "Started", "done", {}, listing)])
    return 1000 * took(lambda: journal.runs(RunQuery(before=(100_000 / 6, ""), limit=50)))


def difference_ms(folder: Path) -> float:
    """Two runs that part in the last of 1,000 turns, read and compared."""
    journal = SQLiteJournal(folder / "two.db")
    for name, turns in (("a", 1000), ("b", 999)):
        agent_of(Model(turns), journal).run("go", run_id=name)

    def compare() -> None:
        found = Comparison.of(*(steps_of(name, journal.read(name)) for name in ("a", "b")))
        assert found.in_a and not found.in_b[1:]  # noqa: PT018, S101 - it has done its work

    return 1000 * took(compare)


def run_us() -> float:
    """What a run takes besides its turns with tools."""
    agent, count = agent_of(Model(0)), 500

    def some() -> None:
        for _ in range(count):
            agent.run("go")

    return 1e6 * took(some, time.process_time) / count


def text_kb(folder: Path) -> float:
    """The characters of all rows of a run."""
    path = folder / "text.db"
    agent_of(Model(200, "read", size=1000), SQLiteJournal(path)).run("go")
    with closing(sqlite3.connect(path)) as db:
        tables = [
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        rows = (row for name in tables for row in db.execute(f"SELECT * FROM {name}"))  # noqa: S608
        return sum(len(x) for row in rows for x in row if isinstance(x, str | bytes)) / 1000


def disk_kb(folder: Path) -> float:
    """What one more run adds to the file, once the write-ahead log is folded in."""
    path, sizes = folder / "disk.db", []
    for _ in range(2):
        agent = agent_of(Model(1), SQLiteJournal(path))
        for _ in range(200):
            agent.run("go")
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        sizes.append(path.stat().st_size)
    return (sizes[1] - sizes[0]) / 200 / 1000


def waiting_kb() -> float:
    """What a result takes that waits for a decision."""
    agent, count = agent_of(Model(1), confirmation_strategies={"add": AlwaysAskPolicy()}), 1000

    def paused(count: int) -> list[Any]:
        return [agent.run("go", raise_at_break_point=False) for _ in range(count)]

    kept = paused(20)
    gc.collect()
    tracemalloc.start()
    kept += paused(count)
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert all(one.pending for one in kept)  # noqa: S101 - it has done its work
    return size / count / 1000


FIRST = """
from detent import Agent, ChatMessage, State, tool
from detent.models import ChatReply
@tool
def add(a: int, b: int) -> int:
    "Add."
    return a + b
class Model:
    def run(self, messages, **rest):
        return ChatReply(ChatMessage.from_assistant("Done."))
assert Agent(chat_generator=Model(), tools=[add]).run("go").text == "Done."
"""


def instructions(program: str) -> int:
    """Those of a process that runs a program, without those of the interpreter alone."""
    return _counted(program) - _counted("pass")


def _counted(program: str) -> int:
    counter = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    subprocess.run([sys.executable, "-c", program], check=True)  # noqa: S603 - byte code is written
    done = subprocess.run(  # noqa: S603  # our own arguments
        [*counter, sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found is not None  # noqa: S101 - it always says so
    return int(found[1])


def measured() -> dict[str, float]:
    """All figures; those that valgrind must count are left out without it."""
    names = iter(FIGURES)
    with TemporaryDirectory() as made:
        folder = Path(made)
        acts: list[Callable[[], float]] = [
            lambda: page_ms(folder),
            lambda: difference_ms(folder),
            run_us,
            lambda: text_kb(folder),
            lambda: disk_kb(folder),
            waiting_kb,
        ]
        if shutil.which("valgrind") is not None:
            plain = "import attrs, cattrs"
            ours = "from detent import Agent, State, tool"
            acts += [
                lambda: instructions(ours) / instructions(plain),
                lambda: instructions(FIRST) / 1e6,
            ]
        return {next(names): act() for act in acts}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the figures alone")
    as_json = parser.parse_args().json
    figures = measured()
    if as_json:
        print(json.dumps(figures))
        return
    print("| what | target | measured |\n|---|---:|---:|")
    for name, figure in figures.items():
        most, unit = FIGURES[name]
        print(f"| {name} | {most:g} {unit} | {figure:.3g} {unit} |")


if __name__ == "__main__":
    main()
