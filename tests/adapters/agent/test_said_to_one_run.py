"""What people say to one run that waits: the n-th message or decision costs no more than the first.

Work is counted, in calls of functions: how long they take is for the machine to say.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from detent import (
    Agent,
    AlwaysAskPolicy,
    ChatMessage,
    MemoryJournal,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
    tool,
)
from detent.adapters.drivers.company.known_runs import MOST
from detent.adapters.drivers.loading import loaded
from detent.adapters.hosts.people import People
from detent.core.errors import StoredDataError
from detent.journals import (
    AuditedJournal,
    DirectoryJournal,
    EncryptedJournal,
    Journal,
    RunNotFoundError,
)


@tool
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def waiting(journal: Journal, calls: int = 1, run_id: str = "m") -> Agent[Any]:
    """An agent whose run waits for a human, who is asked about so many calls of one reply."""
    asked = [ToolCall("pay", {"amount": number}, f"c{number}") for number in range(calls)]
    agent = Agent(
        chat_generator=ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=asked), "Done."),
        tools=[pay],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
        journal=journal,
    )
    agent.run("Pay.", run_id=run_id, raise_at_break_point=False)
    return agent


def calls_of(work: Callable[[], object]) -> int:
    """How many functions of Python are called."""
    count = 0

    def profile(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


STORES: dict[str, Callable[[Path], Journal]] = {
    "memory": lambda folder: MemoryJournal(),
    "sqlite": lambda folder: SQLiteJournal(folder / "runs.db"),
    "directory": lambda folder: DirectoryJournal(folder / "runs"),
    "audited": lambda folder: AuditedJournal(SQLiteJournal(folder / "runs.db")),
    "encrypted": lambda folder: EncryptedJournal(
        SQLiteJournal(folder / "runs.db"), lambda text: text[::-1], lambda text: text[::-1]
    ),
}


@pytest.mark.parametrize("store", STORES)
def test_messages_to_a_run_that_waits_cost_what_they_are(store: str, tmp_path: Path) -> None:
    """Four times as many cost about four times as much, whatever is unread by then."""
    agent = waiting(STORES[store](tmp_path))

    def say(count: int) -> None:
        for number in range(count):
            agent.send("m", f"more {number}")

    say(30)
    first = calls_of(lambda: say(100))
    more = calls_of(lambda: say(300))

    assert more < 3 * 1.5 * first
    journal = agent.assembly.required_journal
    assert len(loaded(journal, agent.assembly.spec, "m").run.unread) == 430
    assert 1 <= len([*journal.checkpoints("m")]) <= 5


@pytest.mark.parametrize("store", STORES)
def test_decisions_about_the_calls_of_one_reply_cost_what_they_are(
    store: str, tmp_path: Path
) -> None:
    """Each is listed with the names of all that still wait, and little more is done for each."""

    def cost(calls: int) -> int:
        agent = waiting(STORES[store](tmp_path / f"{calls}"), calls)
        (*questions,) = agent.pending("m")
        people = People(agent.assembly)

        def decide() -> None:
            for question in questions:
                people.say("m", question.reject())

        work = calls_of(decide)
        assert agent.pending("m") == ()
        return work

    for calls in (32, 128):
        (tmp_path / f"{calls}").mkdir()

    assert cost(128) < 4 * 2.5 * cost(32)


def test_a_run_that_has_begun_anew_is_not_taken_for_the_one_of_before() -> None:
    """By somebody else, who has deleted it: what is known of it counts no more."""
    journal = MemoryJournal()
    agent = waiting(journal)
    for _ in range(3):
        agent.send("m", "more")
    journal.delete("m")

    with pytest.raises(RunNotFoundError):
        agent.send("m", "more")

    waiting(journal, calls=2)
    agent.send("m", "more")
    assert len(agent.pending("m")) == 2
    assert len(loaded(journal, agent.assembly.spec, "m").run.unread) == 1


class Rewinding(MemoryJournal):
    """A store that can be as it was, as from a copy."""

    def rewind(self, run_id: str, length: int) -> None:
        """Be as when the run had so many entries."""
        del self._entries[run_id][length:]
        self._read[run_id] = length


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5])
def test_a_store_with_another_past_is_read_anew(count: int) -> None:
    """However much others have said to the run since its copy was made: what was lost is lost."""
    journal = Rewinding()
    agent = waiting(journal)
    length = len([*journal.read("m")])
    for _ in range(3):
        agent.send("m", "lost")
    agent.pending("m")
    journal.rewind("m", length)
    for _ in range(count):
        evolved(agent).send("m", "others")
    agent.send("m", "more")

    assert said_to(agent) == ["others"] * count + ["more"]


def evolved(agent: Agent[Any]) -> Agent[Any]:
    """The agent as another process has it."""
    return Agent(
        chat_generator=ScriptedChatGenerator("Done."),
        tools=[pay],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
        journal=agent.assembly.required_journal,
    )


def said_to(agent: Agent[Any]) -> list[str]:
    """What waits to be read by the model."""
    journal = agent.assembly.required_journal
    return [message.text or "" for message in loaded(journal, agent.assembly.spec, "m").run.unread]


@pytest.mark.parametrize("store", STORES)
def test_what_others_say_in_between_is_known(store: str, tmp_path: Path) -> None:
    """With the checkpoints that they have written, on which those of ours build."""
    journal = STORES[store](tmp_path)
    agent = waiting(journal)
    other = evolved(agent)
    for number in range(150):
        agent.send("m", f"a{number}")
        other.send("m", f"b{number}")

    assert said_to(agent) == [f"{who}{number}" for number in range(150) for who in "ab"]
    chain = [one.data for one in journal.checkpoints("m")]
    positions = [one.position for one in journal.checkpoints("m")]
    assert [one["after"] for one in chain] == [0, *positions[:-1]]


def test_a_run_that_cannot_be_followed_says_so_each_time() -> None:
    """It is read again from its start, which tells most of it."""
    journal = Rewinding()
    agent = waiting(journal)
    agent.send("m", "more")
    agent.send("m", "more")
    last = [*journal.read("m")][-1]
    journal.append("m", [evolve(last, position=last.position + 1, data={"mark": "9 Acting 9"})])

    for _ in "ab":
        with pytest.raises(StoredDataError, match="cannot be followed"):
            agent.pending("m")


def test_only_some_runs_are_known() -> None:
    """Those that something was said to last; of the others all is read again."""
    journal = MemoryJournal()
    agent = waiting(journal)
    for number in range(MOST + 2):
        waiting(journal, run_id=f"m{number}")
    for _ in "ab":
        for number in range(MOST + 2):
            agent.send(f"m{number}", "more")

    lengths = [len(loaded(journal, agent.assembly.spec, f"m{n}").run.unread) for n in (0, MOST)]
    assert lengths == [2, 2]
