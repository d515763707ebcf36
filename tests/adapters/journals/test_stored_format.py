"""The stored format: files of it are in `stored`, and a change that nobody meant is seen in them.

`python tests/adapters/journals/test_stored_format.py` writes them anew.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, timedelta
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from attrs import evolve, frozen

from detent import (
    Agent,
    AgentResult,
    AgentSnapshot,
    ChatMessage,
    MemoryJournal,
    Reply,
    Runs,
    ScriptedChatGenerator,
    SQLiteJournal,
    StoredDataError,
    ToolCall,
    create_tool_from_function,
    load_snapshot,
    save_snapshot,
)
from detent.adapters.drivers import recording
from detent.journals import Checkpoint, DirectoryJournal, Journal
from detent.machine import Effect, Event, Run, ToolStarted, Write

STORED = Path(__file__).parent / "stored"
DATABASE = STORED.with_suffix(".db")
"""The same run in SQLite, of which only is asked that it can be read: its bytes are SQLite's."""


class Colour(Enum):
    """A choice."""

    RED = "red"


@frozen
class Page:
    """A record."""

    title: str
    made: date | None = None


def longest(current: timedelta | None, update: timedelta) -> timedelta:
    """A handler."""
    return max(current or timedelta(), update)


SCHEMA: dict[str, Any] = {
    "pages": {"type": list[Page]},
    "span": {"type": timedelta, "handler": longest},
    "colour": {"type": Colour},
    "tags": {"type": set[str]},
    "either": {"type": date | int},
    "free": {"type": dict},
    "pair": {"type": tuple[int, ...]},
}


def look(n: int) -> Reply:
    """Look, and write all there is to write."""
    return Reply(
        f"looked {n}",
        Write("pages", Page("one", date(2026, 1, n))),
        Write("pages", [Page("two")]),
        Write("span", timedelta(days=n, microseconds=1)),
        Write("colour", Colour.RED),
        Write("either", date(2026, 1, n)),
        Write("tags", {"b", "a"}),
        Write("free", {"n": [n, None, {"is": "free"}]}),
        Write("pair", (n, 2)),
    )


def slow(n: int) -> str:
    """Be under way when the process ends."""
    return f"slow {n}"


def answer(messages: Sequence[ChatMessage]) -> ChatMessage | str:
    """Two turns with two calls each, then a text."""
    turn = 1 + sum(1 for message in messages if message.tool_calls)
    if turn == 3:
        return "done"
    calls = [ToolCall(name, {"n": turn}, f"{name}{turn}") for name in ("look", "slow", "nobody")]
    return ChatMessage.from_assistant("let me see", tool_calls=calls, reasoning="hm")


def agent_of(journal: Journal | None = None, **options: Any) -> Agent[Any]:
    return Agent(
        chat_generator=ScriptedChatGenerator(*[answer] * 9),
        tools=[create_tool_from_function(one, on_unknown="rerun") for one in (look, slow)],
        state_schema=SCHEMA,
        parallel_tool_calls=1,
        journal=journal,
        **options,
    )


def last_call(run: Run[Any], effect: Effect) -> bool:
    """A breakpoint behind a call that has written to the state, in a turn that is still open."""
    return effect.key[:3] == ("tool", 2, 1)


def store_in(folder: Path) -> None:
    """A run that was cut off while a call was under way, and one that has stopped."""
    usual, recording.ENTRIES = recording.ENTRIES, 4
    with TemporaryDirectory() as other:
        database = SQLiteJournal(Path(other) / "runs.db")
        for journal in (DirectoryJournal(folder), database):
            with suppress(Killed):
                agent_of(journal, observers=[kill_in_last_call]).run("go", run_id="r")
        if folder == STORED:
            DATABASE.unlink(missing_ok=True)
            database.backup(DATABASE)
    recording.ENTRIES = usual
    stopped = agent_of().run("go", break_point=last_call, raise_at_break_point=False)
    save_snapshot(stopped.snapshot, folder).rename(folder / "stopped.json")


class Killed(BaseException):
    """As if the process had ended."""


def kill_in_last_call(before: Run[Any], event: Event, after: Run[Any]) -> None:
    """An observer."""
    if isinstance(event, ToolStarted) and event.ref == (2, 1):
        raise Killed


def assert_whole(result: AgentResult[Any]) -> None:
    """As if it had never stopped."""
    whole = agent_of().run("go")
    assert list(result.messages) == list(whole.messages)
    assert result.state == whole.state
    assert result.text == "done"


VARYING = frozenset({"at", "crc32", "after", "offset", "end", "id", "nonce", "rules"})
"""What follows from the time, from chance, or from how a version of Python compiles handlers."""


def lines_of(folder: Path) -> Iterator[tuple[str, Any]]:
    """What stands in the files, line by line, without what differs each time."""
    for path in sorted(folder.glob("*.*")):
        for line in path.read_text().splitlines():
            yield path.name, without(json.loads(line), VARYING)


def without(data: Any, names: frozenset[str]) -> Any:
    if isinstance(data, list):
        return [without(item, names) for item in data]
    if not isinstance(data, dict):
        return data
    return {name: without(item, names) for name, item in data.items() if name not in names}


def test_what_is_stored_is_what_was_stored(tmp_path: Path) -> None:
    """Who means to change it writes the files anew, and raises the version of the format."""
    store_in(tmp_path)

    assert list(lines_of(tmp_path)) == list(lines_of(STORED))


def test_a_stored_run_goes_on(tmp_path: Path) -> None:
    """It gets entries behind those that are there, and is read again as a whole."""
    folder = shutil.copytree(STORED, tmp_path / "runs")

    database = shutil.copy(DATABASE, tmp_path)

    for journal in (DirectoryJournal(folder), SQLiteJournal(database)):
        assert_whole(agent_of(journal).resume("r"))
        assert_whole(agent_of(journal).resume("r"))

        runs = Runs(journal, agent_of().spec)
        assert runs.replay("r") == runs.at("r")


def test_a_stored_snapshot_goes_on() -> None:
    """With what its state holds, and with what tools have written in the turn that is open."""
    snapshot = load_snapshot(STORED / "stopped.json")

    assert_whole(agent_of().run(snapshot=snapshot))
    assert "look" in snapshot.summary()


@pytest.mark.parametrize("version", [0, 2, "1", True, None, 1.0])
def test_another_format_is_refused(version: object) -> None:
    """Wherever it stands: in a snapshot, in the first entry and in a checkpoint."""
    told = f"stored in format {version!r}, and this Detent reads format 1"
    start = next(iter(DirectoryJournal(STORED).read("r")))
    (checkpoint, *_) = DirectoryJournal(STORED).checkpoints("r")
    started, kept = MemoryJournal(), MemoryJournal()
    started.append("r", [evolve(start, data={**start.data, "format": version})])
    kept.append("r", [start], Checkpoint(1, {**checkpoint.data, "format": version}))

    for journal in (started, kept):
        with pytest.raises(StoredDataError, match=told):
            Runs(journal, agent_of().spec).at("r")
    with pytest.raises(StoredDataError, match=told):
        AgentSnapshot.from_dict({**start.data, "format": version})


if __name__ == "__main__":
    shutil.rmtree(STORED, ignore_errors=True)
    store_in(STORED)
