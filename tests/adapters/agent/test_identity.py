"""Which run it is: the second of its id, the last of its thread, and how its claim is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from detent import (
    Agent,
    AlwaysAskPolicy,
    ChatMessage,
    MemoryJournal,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
    create_tool_from_function,
    tool,
)
from detent.adapters.drivers.leases import Keeper, Lease
from detent.adapters.drivers.steps import at_once
from detent.journals import (
    DirectoryJournal,
    EncryptedJournal,
    Journal,
    PostgresJournal,
    RedactedJournal,
    RunNotFoundError,
    RunQuery,
    Runs,
    StoredRun,
    ThreadNotEndedError,
)
from detent.models import ChatGeneratorError, ModelFailure
from detent.ports.claims import Claims
from detent.ports.journal import (
    Checkpoint,
    ClaimLostError,
    Entry,
    JournalConflictError,
    JournalUnavailableError,
)
from detent.ports.listing import ALL_RUNS
from detent.testing import ManualClock, When


class PlainJournal:
    """A store of one's own, which keeps claims and does not look at them when it is written to."""

    def __init__(self) -> None:
        self.journal = MemoryJournal()
        self.claims: Claims = PlainClaims(self.journal.claims)

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        bare = [Entry(e.position, e.at, e.kind, e.status, e.body, e.listing) for e in entries]
        self.journal.append(run_id, bare, checkpoint)

    def read(self, run_id: str, start: int = 0) -> Iterable[Entry]:
        """As the port says."""
        return self.journal.read(run_id, start)

    def checkpoints(self, run_id: str) -> Iterable[Checkpoint]:
        """As the port says."""
        return self.journal.checkpoints(run_id)

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As the port says, without the times at which runs began."""
        return [
            StoredRun.listed(one.run_id, one.length, one.status, one.at, one.listing)
            for one in self.journal.runs(query)
        ]

    def delete(self, run_id: str) -> None:
        """As the port says."""
        self.journal.delete(run_id)


class PlainClaims:
    """Claims that promise nothing of appends."""

    is_shared = False

    def __init__(self, claims: Any) -> None:
        self.find, self.swap = claims.find, claims.swap
        self.owner, self.keep = claims.owner, claims.keep


MAKERS: dict[str, Callable[[Path], Journal]] = {
    "memory": lambda path: MemoryJournal(),
    "directory": lambda path: DirectoryJournal(path / "runs"),
    "sqlite": lambda path: SQLiteJournal(path / "runs.db"),
    "encrypted": lambda path: EncryptedJournal(
        SQLiteJournal(path / "runs.db"), bytes.swapcase, bytes.swapcase
    ),
    "redacted": lambda path: RedactedJournal(MemoryJournal(), lambda text: text),
    "own": lambda path: PlainJournal(),
}


@pytest.fixture(params=[*MAKERS, "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    """A store of each kind."""
    if request.param != "postgres":
        return MAKERS[request.param](tmp_path)
    journal = PostgresJournal(request.getfixturevalue("postgres_url"))
    for run in journal.runs():
        journal.delete(run.run_id)
    return journal


class Till:
    """Pays, and is at work with each until it is let go."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.begun = {"Ann": Event(), "Bob": Event()}
        self.go_on = {"Ann": Event(), "Bob": Event()}
        self.came: dict[str, object] = {}
        self.paid: list[str] = []

    def drive(self, who: str) -> None:
        """Run until it ends; the run pays twice."""

        @tool
        def pay(to: str) -> str:
            """Pay."""
            self.begun[to].set()
            assert self.go_on[to].wait(30)
            self.paid.append(to)
            return f"{to} was paid"

        pays = [ToolCall("pay", {"to": who}), ToolCall("pay", {"to": who}, "again")]
        agent = Agent(
            chat_generator=ScriptedChatGenerator(*pays, "done"), tools=[pay], journal=self.journal
        )
        try:
            self.came[who] = agent.run(who, run_id="order").text
        except JournalConflictError as error:
            self.came[who] = error

    def begin(self, who: str) -> Thread:
        """In a thread, until a tool is at work."""
        thread = Thread(target=self.drive, args=[who])
        thread.start()
        assert self.begun[who].wait(30)
        return thread


def test_what_came_of_a_run_that_is_deleted_is_not_written_to_the_next_of_its_id(
    journal: Journal,
) -> None:
    """Its driver hears that it is deleted before the next tool; the new run goes its own way."""
    till = Till(journal)
    ann = till.begin("Ann")
    Runs(journal, Agent(chat_generator=ScriptedChatGenerator()).spec).delete("order")
    bob = till.begin("Bob")

    till.go_on["Ann"].set()
    ann.join(30)
    entries = list(journal.read("order"))
    till.go_on["Bob"].set()
    bob.join(30)

    assert not any(entry.kind == "ToolReturned" for entry in entries)
    assert "somebody has deleted this run" in str(till.came["Ann"])
    assert (till.came["Bob"], till.paid) == ("done", ["Ann", "Bob", "Bob"])


def test_what_came_of_a_run_that_is_deleted_is_not_told_to_a_longer_one(journal: Journal) -> None:
    """Which awaits the outcome of a call that looks the same."""
    till = Till(journal)
    ann = till.begin("Ann")
    journal.delete("order")
    bob = till.begin("Bob")
    till.go_on["Bob"].set()
    bob.join(30)
    length = len(list(journal.read("order")))

    till.go_on["Ann"].set()
    ann.join(30)

    assert isinstance(till.came["Ann"], JournalConflictError)
    assert (len(list(journal.read("order"))), till.paid) == (length, ["Bob", "Bob", "Ann"])


def test_a_driver_writes_nothing_once_somebody_else_has_taken_its_run(journal: Journal) -> None:
    """Who has it now may just be asking the model, and has written nothing yet."""
    taken: list[Lease] = []

    def reply(messages: Sequence[ChatMessage]) -> ToolCall:
        keeper = Keeper(journal.claims)  # type: ignore[attr-defined]  # each of these has claims
        taken.append(at_once(keeper.take_steps("order", take_over=True)))
        return ToolCall("pay")

    @tool
    def pay() -> str:
        """Pay."""
        raise AssertionError("another one drives this run")

    script = ScriptedChatGenerator(When(lambda messages: True, reply))
    with pytest.raises(ClaimLostError, match="another process has taken up run 'order'"):
        Agent(chat_generator=script, tools=[pay], journal=journal).run("pay", run_id="order")

    assert [entry.kind for entry in journal.read("order")] == ["Started"]
    taken[0].release()
    assert agent_at(journal, 1000.0, "done").resume("order").text == "done"


class LateJournal(MemoryJournal):
    """Something happens right before what is written next."""

    happens: Callable[[], object] | None = None

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        happens, self.happens = self.happens, None
        if happens is not None:
            happens()
        super().append(run_id, entries, checkpoint)


@pytest.mark.parametrize("word", ["decide", "send", "cancel", "revoke"])
def test_no_word_to_a_run_that_is_deleted_reaches_the_next_of_its_id(word: str) -> None:
    """Which has as many entries by then, and goes its own way. Who has spoken hears that."""
    journal, paid = LateJournal(), list[str]()

    @tool
    def pay(to: str) -> str:
        """Pay."""
        paid.append(to)
        return "paid"

    def clerk(reply: ChatMessage | str) -> Agent[Any]:
        return Agent(
            chat_generator=ScriptedChatGenerator(reply),
            tools=[pay],
            journal=journal,
            confirmation_strategies={"pay": AlwaysAskPolicy()},
        )

    def begun(to: str) -> None:
        calls = [ToolCall("pay", {"to": f"{to} {name}"}, name) for name in ("c0", "c1")]
        agent = clerk(ChatMessage.from_assistant(tool_calls=calls))
        agent.run("pay", run_id="r", raise_at_break_point=False)
        agent.decide("r", agent.pending("r")[0].confirm(remember="arguments"))

    def begun_anew() -> None:
        journal.delete("r")
        begun("Bob")

    begun("Ann")
    ann = clerk("done")
    (question,), (grant,) = ann.pending("r"), ann.grants("r")
    words: dict[str, Callable[[], object]] = {
        "decide": lambda: ann.decide("r", question.confirm()),
        "send": lambda: ann.send("r", "my account is 77"),
        "cancel": lambda: ann.cancel("r", "enough"),
        "revoke": lambda: ann.revoke("r", grant),
    }
    journal.happens = begun_anew
    with pytest.raises(RunNotFoundError, match="deleted in the meantime"):
        words[word]()

    bob = clerk("done")
    bob.decide("r", bob.pending("r")[0].confirm())
    result = bob.resume("r")
    assert (result.exit_reason, result.text) == ("text", "done")
    assert sorted(paid) == ["Bob c0", "Bob c1"]
    assert "account" not in repr(result.messages)


class LostJournal(MemoryJournal):
    """Cannot be reached, from when something has been written to it on."""

    is_away = False
    loses = False

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        super().append(run_id, entries, checkpoint)
        self.is_away = self.loses

    def read(self, run_id: str, start: int = 0) -> Sequence[Entry]:
        """As the port says."""
        if self.is_away:
            raise JournalUnavailableError("nobody there")
        return super().read(run_id, start)


def test_a_word_that_is_written_is_said_to_be_although_the_store_is_lost_right_after() -> None:
    """To raise would have it said again, and so heard twice."""
    journal = LostJournal()
    asking = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("ask_me", {}, "c0"), "done"),
        tools=[create_tool_from_function(lambda: "", name="ask_me", description="Ask.")],
        journal=journal,
        confirmation_strategies={"ask_me": AlwaysAskPolicy()},
    )
    asking.run("hi", run_id="r", raise_at_break_point=False)
    journal.loses = True

    asking.send("r", "my account is 77")

    assert journal.is_away
    journal.is_away = journal.loses = False
    assert [entry.kind for entry in journal.read("r")].count("MessageReceived") == 1


def agent_at(journal: Journal, at: float, *script: Any) -> Agent[Any]:
    """An agent whose clock says so."""
    chat = ScriptedChatGenerator(*script)
    return Agent(chat_generator=chat, journal=journal, clock=ManualClock(at))


def test_a_thread_goes_on_behind_the_run_that_began_last_by_any_clock(journal: Journal) -> None:
    """The clock of who began the first of them is an hour ahead."""
    agent_at(journal, 4600.0, "1").run("one", thread_id="alice")
    agent_at(journal, 1000.0, "2").run("two", thread_id="alice")
    agent_at(journal, 1010.0, "3").run("three", thread_id="alice")

    last = agent_at(journal, 900.0, "4").run("four", thread_id="alice")

    assert [one.text for one in last.messages] == [
        "one", "1", "two", "2", "three", "3", "four", "4",
    ]  # fmt: skip


def test_any_run_of_a_thread_that_has_not_ended_keeps_the_thread(journal: Journal) -> None:
    """Whatever its writer's clock said."""

    @tool
    def pay() -> str:
        """Pay."""
        raise AssertionError("nobody has allowed it")

    agent_at(journal, 4600.0, "1").run("one", thread_id="alice")
    chat, clock = ScriptedChatGenerator(ToolCall("pay")), ManualClock(1000.0)
    asking = Agent(
        chat_generator=chat,
        tools=[pay],
        journal=journal,
        clock=clock,
        confirmation_strategies={"pay": AlwaysAskPolicy()},
    )
    waiting = asking.run("two", thread_id="alice", run_id="second", raise_at_break_point=False)
    assert waiting.pending

    with pytest.raises(ThreadNotEndedError) as refused:
        agent_at(journal, 1010.0, "3").run("three", thread_id="alice")
    assert refused.value.run_id == "second"


def test_a_late_retry_does_not_become_the_last_run_of_its_thread(journal: Journal) -> None:
    """It had failed, and the thread has gone on since."""
    gone = ChatGeneratorError(ModelFailure("authentication", "nobody may"))
    with pytest.raises(ChatGeneratorError):
        agent_at(journal, 1000.0, gone).run("one", thread_id="alice", run_id="first")
    agent_at(journal, 1010.0, "2").run("two", thread_id="alice")
    agent_at(journal, 1020.0, "late").resume("first")

    last = agent_at(journal, 1030.0, "3").run("three", thread_id="alice")

    said = [one.text for one in last.messages]
    assert (said[-4:], "late" in said) == (["two", "2", "three", "3"], False)


def test_a_thread_whose_last_run_goes_on_since_it_was_listed_has_not_ended() -> None:
    """It had failed, and somebody resumes it at the same moment."""
    gone = ChatGeneratorError(ModelFailure("authentication", "nobody may"))
    resumed = {"by": "another", "at": 1001.0, "mark": "1 Thinking 1"}

    class LateLists(MemoryJournal):
        """Whoever asks for a thread learns how it was a moment ago."""

        def runs(self, query: RunQuery = ALL_RUNS) -> list[StoredRun]:
            """As the port says."""
            listed = list(super().runs(query))
            if listed and listed[0].status == "failed":
                self.append("first", [Entry(2, 1001.0, "Resumed", "running", resumed)])
            return listed

    journal = LateLists()
    with pytest.raises(ChatGeneratorError):
        agent_at(journal, 1000.0, gone).run("one", thread_id="alice", run_id="first")

    with pytest.raises(ThreadNotEndedError, match="run 'first' is running") as refused:
        agent_at(journal, 1010.0, "2").run("two", thread_id="alice")
    assert refused.value.run_id == "first"


def test_a_run_that_is_forgotten_and_not_yet_deleted_keeps_no_thread() -> None:
    """Whoever cleans up has died in between. The thread begins anew, as it were deleted."""

    class Kept(MemoryJournal):
        """Nobody comes so far as to delete anything."""

        def delete(self, run_id: str) -> None:
            """Not yet."""

    journal = Kept()
    agent = agent_at(journal, 1000.0, "1", "2")
    for said in ("one", "two"):
        agent.run(said, thread_id="alice", run_id=said)
    assert Runs(journal, agent.spec).forget(2000.0)
    assert [entry.kind for entry in journal.read("two")][-1] == "Forgotten"

    anew = agent_at(journal, 3000.0, "3").run("three", thread_id="alice")

    assert [message.text for message in anew.messages] == ["three", "3"]


def test_no_run_shares_its_claim_with_a_thread(journal: Journal) -> None:
    """Any text is the id of a run, but for what begins as the names of threads do."""
    done = agent_at(journal, 1000.0, "1").run("one", run_id="thread alice", thread_id="alice")
    assert done.text == "1"

    with pytest.raises(ValueError, match="run_id must not begin as the names of threads do"):
        agent_at(journal, 1000.0, "1").run("one", run_id="\x1fthread alice")
