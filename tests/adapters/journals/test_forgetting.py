"""Runs are forgotten while somebody goes on with them: one of both wins, and the other is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import define

from detent import (
    Agent,
    ChatGeneratorError,
    ChatMessage,
    MemoryJournal,
    Runs,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
    create_tool_from_function,
)
from detent.journals import (
    DirectoryJournal,
    Journal,
    JournalConflictError,
    PostgresJournal,
    RunNotFoundError,
)
from detent.models import ModelFailure
from detent.ports.journal import Checkpoint, Entry
from detent.ports.listing import ALL_RUNS, RunQuery, StoredRun

LATE = 10.0**12
"""A time that is behind all that is written."""


@define
class Around:
    """A journal around another one."""

    journal: Journal

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        self.journal.append(run_id, entries, checkpoint)

    def read(self, run_id: str, start: int = 0) -> Iterable[Entry]:
        """As the port says."""
        return self.journal.read(run_id, start)

    def checkpoints(self, run_id: str) -> Iterable[Checkpoint]:
        """As the port says."""
        return self.journal.checkpoints(run_id)

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As the port says."""
        return self.journal.runs(query)

    def delete(self, run_id: str) -> None:
        """As the port says."""
        self.journal.delete(run_id)


@define
class Stale(Around):
    """A journal as somebody knows it who has listed its runs a while ago."""

    listed: Sequence[StoredRun]

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """Those of then."""
        return self.listed


@define
class Before(Around):
    """A journal in which something happens just before the next append."""

    happens: Callable[[], object]

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        happens, self.happens = self.happens, lambda: None
        happens()
        self.journal.append(run_id, entries, checkpoint)


GONE = ChatGeneratorError(ModelFailure("connection", "nobody is there"))
CALL = ChatMessage.from_assistant(tool_calls=[ToolCall("pay", {})])
MAKERS: dict[str, Callable[[Path], Journal]] = {
    "memory": lambda place: MemoryJournal(),
    "directory": DirectoryJournal,
    "sqlite": lambda place: SQLiteJournal(place / "runs.db"),
}


@pytest.fixture(params=[*MAKERS, "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    """A store with a run that has failed."""
    if request.param == "postgres":
        journal: Journal = PostgresJournal(request.getfixturevalue("postgres_url"))
        for run in journal.runs():
            journal.delete(run.run_id)
    else:
        journal = MAKERS[request.param](tmp_path)
    with pytest.raises(ChatGeneratorError):
        agent_of(journal, [], GONE).run("pay", run_id="r")
    assert [run.status for run in journal.runs()] == ["failed"]
    return journal


def agent_of(journal: Journal, paid: list[str], *script: Any) -> Agent[Any]:
    def pay() -> str:
        """Pay."""
        paid.append("paid")
        return "paid"

    return Agent(
        chat_generator=ScriptedChatGenerator(*script),
        tools=[create_tool_from_function(pay)],
        journal=journal,
    )


def test_a_run_that_is_gone_on_with_is_not_forgotten(journal: Journal) -> None:
    """Though it had failed when somebody listed the runs."""
    forgetting = Runs(Stale(journal, journal.runs()), agent_of(journal, []).spec)
    forgotten: list[str] = []

    def answer(messages: Sequence[ChatMessage]) -> ChatMessage:
        forgotten.extend(forgetting.forget(LATE))
        return CALL

    paid: list[str] = []
    result = agent_of(journal, paid, answer, "done").resume("r")

    assert (result.text, paid, forgotten) == ("done", ["paid"], [])
    assert [(run.run_id, run.status) for run in journal.runs()] == [("r", "done")]


@pytest.mark.parametrize("way", ["forgotten", "deleted"])
def test_who_goes_on_with_a_run_that_is_gone_is_told(way: str, journal: Journal) -> None:
    """Before anything is done: no tool runs whose outcome nobody could keep."""
    runs = Runs(journal, agent_of(journal, []).spec)
    happens = {"forgotten": lambda: runs.forget(LATE), "deleted": lambda: runs.delete("r")}[way]
    paid: list[str] = []
    late = agent_of(Before(journal, happens), paid, CALL, "done")

    with pytest.raises(
        JournalConflictError, match=r"has 0 entries, .* somebody has deleted this run"
    ):
        late.resume("r")

    assert paid == []
    assert journal.runs() == []
    assert list(journal.checkpoints("r")) == []
    with pytest.raises(RunNotFoundError):
        late.resume("r")


def test_a_run_deleted_under_a_tool_raises_and_does_not_come_back(journal: Journal) -> None:
    """What the tool did is not lost in silence: the error comes as its outcome is written."""
    runs = Runs(journal, agent_of(journal, []).spec)
    paid: list[str] = []

    class Deleting(list[str]):
        def append(self, what: str) -> None:
            runs.delete("r")
            paid.append(what)

    with pytest.raises(JournalConflictError, match="deleted"):
        agent_of(journal, Deleting(), CALL, "done").resume("r")

    assert (paid, journal.runs()) == (["paid"], [])


def test_a_run_that_was_half_forgotten_is_forgotten_the_next_time(journal: Journal) -> None:
    """The process may end between the last entry and the deletion."""

    class Dying(Stale):
        def delete(self, run_id: str) -> None:
            raise KeyboardInterrupt

    spec = agent_of(journal, []).spec
    with pytest.raises(KeyboardInterrupt):
        Runs(Dying(journal, journal.runs()), spec).forget(LATE)

    with pytest.raises(RunNotFoundError, match="it is forgotten"):
        agent_of(journal, []).resume("r")
    assert Runs(journal, spec).forget(LATE) == ["r"]
    assert journal.runs() == []
