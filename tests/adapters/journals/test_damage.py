"""A bit that has flipped and a file that has been cut, anywhere: never another run."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from detent import Agent, ChatMessage, Runs, ScriptedChatGenerator, SQLiteJournal, ToolCall, tool
from detent.adapters.drivers import recording
from detent.journals import DirectoryJournal, EncryptedJournal, Journal
from detent.ports.journal import Checkpoint, Entry, JournalDamagedError, JournalError
from detent.ports.laws.journal import entries

Make = Callable[[Path], Journal]


def turned(data: bytes) -> bytes:
    """A seal that lets everything pass, so that what is under it must find the damage."""
    return bytes(255 - byte for byte in data)


MAKERS: dict[str, Make] = {
    "directory": DirectoryJournal,
    "sqlite": lambda place: SQLiteJournal(place / "runs.db"),
    "sealed": lambda place: EncryptedJournal(DirectoryJournal(place), turned, turned),
}


def filled(make: Make, place: Path) -> list[Path]:
    """The files of a store that has a run of four entries, with two checkpoints."""
    journal = make(place)
    journal.append("a", entries(0, 1))
    journal.append("a", entries(1, 2), Checkpoint(3, {"n": 3}))
    journal.append("a", entries(3, 1), Checkpoint(4, {"n": 4}))
    del journal  # so that it is closed
    return sorted(path for path in place.iterdir() if path.is_file())


ENOUGH = 1500
"""The bytes up to which each is damaged. Of more, some are."""


def places(data: bytes) -> Iterable[int]:
    if len(data) <= ENOUGH:
        return range(len(data))
    used = [at for at, byte in enumerate(data) if byte]
    return Random(1).sample(used, ENOUGH // 10)  # noqa: S311 - a test's dice


def flipped(data: bytes) -> Iterator[bytes]:
    """One bit of each byte."""
    dice = Random(len(data))  # noqa: S311 - as above
    for at in places(data):
        yield data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]


def cut(data: bytes) -> Iterator[bytes]:
    """Every length."""
    return (data[:length] for length in places(data))


def read(journal: Journal) -> tuple[list[Entry], JournalError | None]:
    """What can be read from the start, and what then stops it."""
    found: list[Entry] = []
    try:
        for entry in journal.read("a"):
            found.append(entry)  # noqa: PERF402 - those before the error count
    except JournalError as error:
        return found, error
    return found, None


@pytest.mark.parametrize("damaged", [flipped, cut])
@pytest.mark.parametrize("store", MAKERS)
def test_damage_anywhere_never_gives_other_entries(
    store: str, damaged: Callable[[bytes], Iterator[bytes]], tmp_path: Path
) -> None:
    """All of them, or those before the damage and an error that says how many these are."""
    for path in filled(MAKERS[store], tmp_path):
        whole = path.read_bytes()
        for data in damaged(whole):
            path.write_bytes(data)
            with suppress(JournalError):
                assert_as_written(MAKERS[store](tmp_path), whole if data else data)
            for left in tmp_path.glob("*-*"):  # what SQLite has made beside its file
                left.unlink()
        path.write_bytes(whole)


def assert_as_written(journal: Journal, data: bytes) -> None:
    found, error = read(journal)
    assert found == entries(0, 4)[: len(found)]
    assert error is not None or len(found) == 4 or not data
    if isinstance(error, JournalDamagedError):
        assert error.whole == len(found)
    with suppress(JournalError):
        listed = [run for run in journal.runs() if run.status != "damaged"]
        assert all((run.run_id, run.length) == ("a", 4) for run in listed) or error is None
    with suppress(JournalError):
        kept = list(journal.checkpoints("a"))
        assert all(one in (Checkpoint(3, {"n": 3}), Checkpoint(4, {"n": 4})) for one in kept)
        start = kept[-1].position if kept else 0
        assert list(journal.read("a", start)) == entries(start, 4 - start) or not data


@tool(on_unknown="rerun", outputs_to_state={"seen": {}})
def look(n: int) -> int:
    """Look."""
    return n


def answer(messages: Sequence[ChatMessage]) -> ChatMessage | str:
    """Look three times, then say so."""
    turn = sum(1 for message in messages if message.tool_calls)
    call = ToolCall("look", {"n": turn}, f"c{turn}")
    return "done" if turn == 3 else ChatMessage.from_assistant(tool_calls=[call])


def agent_of(journal: Journal) -> Agent[Any]:
    return Agent(
        chat_generator=ScriptedChatGenerator(*[answer] * 4),
        tools=[look],
        state_schema={"seen": {"type": list[int]}},
        journal=journal,
    )


def test_a_damaged_run_is_not_forked_as_a_shorter_one(tmp_path: Path) -> None:
    """Unless somebody says how much of it is wanted."""
    agent = agent_of(MAKERS["sqlite"](tmp_path))
    agent.run("look", run_id="a")
    runs = Runs(MAKERS["sqlite"](tmp_path), agent.spec)
    length = runs.list()[0].length
    with sqlite3.connect(tmp_path / "runs.db") as db:
        db.execute("DELETE FROM entries WHERE position = ?", (length - 1,))
    db.close()

    for wanted in (None, length):
        with pytest.raises(JournalDamagedError, match=f"had {length} entries"):
            runs.fork("a", wanted)
    assert len(runs.fork("a", length - 1).messages) == len(runs.at("a", length - 1).messages)


@pytest.mark.parametrize("store", ["directory", "sealed"])
def test_all_before_the_damage_can_be_gone_on_with(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the error says: by a fork at the last entry that can be read, wherever the damage is."""
    monkeypatch.setattr(recording, "ENTRIES", 4)
    agent = agent_of(MAKERS[store](tmp_path))
    whole = agent.run("look", run_id="a")
    path, dice = tmp_path / "a.jsonl", Random(1)  # noqa: S311 - as above
    data = path.read_bytes()
    for _ in range(20):
        at = dice.randrange(data.index(b"\n", 100), len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :])
        runs = Runs(MAKERS[store](tmp_path), agent.spec)
        with pytest.raises(JournalDamagedError, match=r"Runs\(…\)\.fork\('a', \d+\)") as caught:
            runs.replay("a")

        fork = runs.fork("a", caught.value.whole)

        result = agent_of(MAKERS[store](tmp_path / "new")).run(snapshot=fork)
        assert (result.messages, result.state) == (whole.messages, whole.state)
