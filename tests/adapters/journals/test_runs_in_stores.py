"""Looking back, forking and replaying are the same through every store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from detent import (
    Agent,
    ChatMessage,
    Limits,
    MemoryJournal,
    Runs,
    ScriptedChatGenerator,
    SQLiteJournal,
    StoredDataError,
    ToolCall,
    tool,
)
from detent.adapters.drivers import recording
from detent.adapters.hosts.noticed import NoticedJournal
from detent.journals import (
    AuditedJournal,
    DirectoryJournal,
    EncryptedJournal,
    Journal,
    PostgresJournal,
    RedactedJournal,
)
from detent.ports.journal import OUTAGE_S, outage_of

TURNS = 4


@tool(outputs_to_state={"seen": {}})
def look(n: int) -> int:
    """Look."""
    return n


def answer(messages: Sequence[ChatMessage]) -> ChatMessage | str:
    """Look in each turn, then say so."""
    turn = sum(1 for message in messages if message.tool_calls)
    if turn == TURNS:
        return "done"
    return ChatMessage.from_assistant(tool_calls=[ToolCall("look", {"n": turn}, f"c{turn}")])


def agent_of(*script: Any, journal: Journal | None = None) -> Agent[Any]:
    return Agent(
        chat_generator=ScriptedChatGenerator(*(script or [answer] * (TURNS + 1))),
        tools=[look],
        state_schema={"seen": {"type": list[int]}},
        journal=journal,
    )


def turned(data: bytes) -> bytes:
    """A seal."""
    return bytes(255 - byte for byte in data)


MAKERS: dict[str, Callable[[Path], Journal]] = {
    "memory": lambda place: MemoryJournal(),
    "directory": DirectoryJournal,
    "sqlite": lambda place: SQLiteJournal(place / "runs.db"),
    "sealed": lambda place: EncryptedJournal(MemoryJournal(), turned, turned),
    "redacted": lambda place: RedactedJournal(MemoryJournal(), str),
}


@pytest.mark.parametrize("store", MAKERS)
def test_runs_are_the_same_through_every_store(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With checkpoints in between."""
    monkeypatch.setattr(recording, "ENTRIES", 5)
    assert_all_holds(MAKERS[store](tmp_path))


def test_runs_are_the_same_through_postgres(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As above; it needs a server."""
    monkeypatch.setattr(recording, "ENTRIES", 5)
    journal = PostgresJournal(postgres_url)
    for run in journal.runs():
        journal.delete(run.run_id)
    assert_all_holds(journal)


def assert_all_holds(journal: Journal) -> None:
    agent = agent_of(journal=journal)
    whole = agent.run("look", run_id="r").run
    runs = Runs(journal, agent.spec)
    (listed,) = journal.runs()

    assert (listed.run_id, listed.status) == ("r", "done")
    assert runs.at("r") == runs.replay("r") == whole
    seen = [len(runs.at("r", length).messages) for length in range(1, listed.length + 1)]
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (1, len(whole.messages))

    watched = list(runs.watch("r"))
    assert [one.position for one in watched] == list(range(listed.length))
    assert watched[-1].run == whole
    for one in watched:
        assert list(runs.watch("r", one.position)) == watched[one.position + 1 :]

    fork = runs.fork("r", 7, messages=[ChatMessage.from_user("enough")], seen=[7])
    other = agent_of("stopped", journal=journal).run(snapshot=fork, run_id="fork")
    assert other.text == "stopped"
    assert other["seen"] == [7]
    assert {run.run_id: run.status for run in journal.runs()} == {"r": "done", "fork": "done"}

    fewer = evolve(runs, spec=evolve(runs.spec, limits=Limits(max_agent_steps=2)))
    with pytest.raises(StoredDataError, match=r"entry 6 .*ToolReturned.* '3 Thinking"):
        fewer.replay("r")
    assert sorted(runs.forget(listed.at + 99)) == ["fork", "r"]
    assert not journal.runs()


def test_a_store_around_another_waits_as_long_as_that_one(tmp_path: Path) -> None:
    """Whatever the order in which they stand around each other."""
    stores: list[Journal] = [
        SQLiteJournal(tmp_path / "runs.db", outage_s=600.0),
        DirectoryJournal(tmp_path / "runs", outage_s=600.0),
    ]
    for store in stores:
        sealed = EncryptedJournal(RedactedJournal(store, str), turned, turned)
        heard = NoticedJournal(AuditedJournal(sealed), print, print)
        assert [outage_of(one) for one in (store, sealed, heard)] == [600.0] * 3
    assert outage_of(RedactedJournal(MemoryJournal(), str)) == OUTAGE_S
