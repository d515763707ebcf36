"""How many modules a turn passes: ``python benchmarks/way.py``.

One message, one reply, one tool call, one result, one answer, kept in SQLite. Counted are the calls
of Python functions by the file that they are in, and how often a call is in another file than the
one before it: a reader who follows the message changes files as often. The double that answers is
not counted, as a model is none of our modules. ``--list`` prints the modules with their calls and
how often the way comes to them, ``--changes`` the pairs of files between which it goes most often.
"""
# ruff: noqa: INP001, T201  # a script that talks to a terminal

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import FrameType

import detent
from detent import Agent, ToolCall, tool
from detent.journals import SQLiteJournal
from detent.testing import ScriptedChatGenerator

SOURCE = str(Path(detent.__file__).resolve().parent)
DOUBLES = str(Path(SOURCE, "adapters", "testing"))


@tool
def weather(city: str) -> str:
    """The weather in a city.

    Args:
        city: its name.
    """
    return f"sunny in {city}"


def way() -> list[str]:
    """The files of the calls, one after the other."""
    files: list[str] = []

    def seen(frame: FrameType, event: str, _argument: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(SOURCE) and not name.startswith(DOUBLES):
            files.append(name[len(SOURCE) + 1 :])

    call = ToolCall("weather", {"city": "Bern"}, "c1")
    with tempfile.TemporaryDirectory() as folder:
        journal = SQLiteJournal(Path(folder, "runs"))
        answers = [call, "Sunny.", call, "Sunny."]
        model = ScriptedChatGenerator(*answers)
        agent = Agent(chat_generator=model, tools=[weather], journal=journal)
        agent.run("How is the weather?")
        sys.setprofile(seen)
        try:
            result = agent.run("How is the weather?")
        finally:
            sys.setprofile(None)
        journal.close()
        assert result.text == "Sunny."  # noqa: S101 - the way was gone to its end
    return files


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="the modules, with their calls")
    parser.add_argument("--changes", action="store_true", help="from where to where, how often")
    wanted = parser.parse_args()
    files = way()
    changes = [pair for pair in pairwise(files) if pair[0] != pair[1]]
    print(f"{len(set(files))} modules, {len(changes)} changes, {len(files)} calls")
    if wanted.list:
        entries = Counter(there for _, there in changes)
        for name, count in Counter(files).most_common():
            print(f"{count:5} {entries[name]:5} {name}")
    if wanted.changes:
        for (here, there), count in Counter(changes).most_common():
            print(f"{count:5} {here} -> {there}")


if __name__ == "__main__":
    main()
