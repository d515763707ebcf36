"""The audited journal keeps the promises of the port, over any other store."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from attrs import define, evolve, field
from cryptography.fernet import Fernet

from detent import Agent, ScriptedChatGenerator
from detent.journals import (
    AuditedJournal,
    Checkpoint,
    EncryptedJournal,
    Entry,
    Journal,
    JournalConflictError,
    JournalDamagedError,
    MemoryJournal,
    RunQuery,
    SQLiteJournal,
    StoredRun,
    verify_audit,
)
from detent.ports.journal import submit_of
from detent.ports.laws import check_journal
from detent.ports.listing import ALL_RUNS


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_it_keeps_the_promises_of_the_port(store: str, tmp_path: Path) -> None:
    """Whatever is inside."""
    journal: Journal = MemoryJournal() if store == "memory" else SQLiteJournal(tmp_path / "runs.db")
    check_journal(lambda: AuditedJournal(journal))


def entry(position: int) -> Entry:
    return Entry(position, 1.0, "Happened", "running", {"n": position})


@define
class Submitting:
    """A store that can be written to without waiting, and says when."""

    inner: MemoryJournal = field(factory=MemoryJournal)
    waiting: list[Future[None]] = field(factory=list)

    def submit(
        self, run_id: str, entries: list[Entry], checkpoint: Checkpoint | None = None
    ) -> Future[None]:
        """Write at once, and say so later."""
        future: Future[None] = Future()
        self.waiting.append(future)
        self.inner.append(run_id, entries, checkpoint)
        return future

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


def test_one_chain_in_another_is_refused() -> None:
    """Its links would be entries of the outer one, and neither would hang together."""
    key = Fernet(Fernet.generate_key())
    sealed = EncryptedJournal(AuditedJournal(MemoryJournal()), key.encrypt, key.decrypt)
    for inner in (AuditedJournal(MemoryJournal()), sealed):
        with pytest.raises(ValueError, match="one chain is enough"):
            AuditedJournal(inner)


def test_a_link_hangs_on_what_was_written_not_on_what_was_to_be() -> None:
    """An append that was refused, or whose fate is not known, leaves no link behind."""
    store = Submitting()
    journal = AuditedJournal(store)  # type: ignore[arg-type]  # it hands on what it has not got
    submit = submit_of(journal)
    assert submit is not None

    submit("r", [entry(0)])
    store.waiting[0].set_result(None)
    submit("r", [entry(1), entry(2)])
    store.waiting[1].set_exception(TimeoutError())
    submit("r", [entry(3)])
    store.waiting[2].cancel()
    with pytest.raises(JournalConflictError):
        submit("r", [entry(3)])
    submit("r", [entry(4)])

    assert verify_audit(journal, "r").length == 5


def test_an_entry_that_was_not_written_leaves_no_link() -> None:
    """Another process writes in its place, and the next entry hangs on that one's."""
    store = MemoryJournal()
    AuditedJournal(store).append("r", [entry(0)])
    journal, failed = AuditedJournal(store), Future[None]()
    failed.set_exception(TimeoutError())

    journal._submitted(lambda *new: failed, "r", [entry(1)])
    AuditedJournal(store).append("r", [Entry(1, 2.0, "Other", "running", {})])
    journal.append("r", [entry(2)])

    assert verify_audit(journal, "r").length == 3


def test_a_run_that_another_process_has_begun_anew_hangs_together() -> None:
    """Whoever goes on with it has read it, and remembers no link of the one that was deleted."""
    store = MemoryJournal()
    journal, elsewhere = AuditedJournal(store), AuditedJournal(store)
    for position in range(2):
        journal.append("r", [entry(position)])
    elsewhere.delete("r")
    for position in range(2):
        elsewhere.append("r", [Entry(position, 2.0, "Other", "running", {})])

    assert [one.kind for one in journal.read("r")] == ["Other", "Other"]
    journal.append("r", [entry(2)])

    assert verify_audit(journal, "r").length == 3


class Relisted(MemoryJournal):
    """Its lists were changed by somebody who can write to it."""

    names: Mapping[str, Any] = MappingProxyType({})

    def runs(self, query: RunQuery = ALL_RUNS) -> list[StoredRun]:
        """A page."""
        return [evolve(run, **self.names) for run in super().runs(query)]


@pytest.mark.parametrize("names", [{"agent": "reckless"}, {"thread_id": "eve"}])
@pytest.mark.parametrize("is_sealed", [False, True])
def test_a_run_that_is_listed_under_other_names_is_not_there(
    names: Mapping[str, Any],
    is_sealed: bool,  # noqa: FBT001 - the case
) -> None:
    """No other agent goes on with it, no other thread is told of it, and an audit says so."""
    store = Relisted()
    key = Fernet(Fernet.generate_key())
    journal: Journal = AuditedJournal(store)
    if is_sealed:
        journal = EncryptedJournal(store, key.encrypt, key.decrypt)
    agent = Agent(name="careful", chat_generator=ScriptedChatGenerator("Noted."), journal=journal)
    agent.run("My PIN is 4711.", run_id="r", thread_id="ada")
    assert [run.run_id for run in journal.runs()] == ["r"]
    assert verify_audit(journal, "r").length == 2

    store.names = names
    assert journal.runs() == []
    with pytest.raises(JournalDamagedError, match="no list has run 'r'"):
        verify_audit(journal, "r")


class PartlyRelisted(MemoryJournal):
    """Some of its runs are listed under another name."""

    false: Collection[str] = ()
    is_in_a_circle = False

    def runs(self, query: RunQuery = ALL_RUNS) -> list[StoredRun]:
        """A page."""
        page = super().runs(evolve(query, before=None) if self.is_in_a_circle else query)
        return [evolve(run, agent="eve") if run.run_id in self.false else run for run in page]


def test_a_run_that_is_left_out_of_a_page_hides_none_behind_it() -> None:
    """Readers take a page with fewer runs than they have asked for to be the last one."""
    store = PartlyRelisted()
    journal = AuditedJournal(store)
    agent = Agent(chat_generator=ScriptedChatGenerator(*["Noted."] * 6), journal=journal)
    for run_id in "abcdef":
        agent.run("go", run_id=run_id)
    in_order = [run.run_id for run in journal.runs()]
    store.false = in_order[1], in_order[2]

    first = journal.runs(RunQuery(limit=2))
    second = journal.runs(RunQuery(limit=2, before=first[-1].cursor))

    assert [run.run_id for run in first] == [in_order[0], in_order[3]]
    assert [run.run_id for run in second] == in_order[4:]
    assert journal.runs(RunQuery(limit=2, before=second[-1].cursor)) == []
    store.is_in_a_circle = True
    with pytest.raises(JournalDamagedError, match="goes in a circle"):
        journal.runs(RunQuery(limit=2, before=second[-1].cursor))


def test_many_runs_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The link of a run that was long silent is read again."""
    monkeypatch.setattr("detent.adapters.journals.audited.KNOWN", 2)
    journal = AuditedJournal(MemoryJournal())
    for position in range(2):
        for run_id in "abc":
            journal.append(run_id, [entry(position)])

    assert [verify_audit(journal, run_id).length for run_id in "abc"] == [2, 2, 2]
    assert len(journal._links) == 2
