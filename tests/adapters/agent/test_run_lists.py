"""What a list says of the runs of an agent: whose they are, and for whom or for when they wait."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from detent import (
    Agent,
    AgentTool,
    ChatMessage,
    MemoryJournal,
    Runs,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
    tool,
)
from detent.adapters.system.clocks import JumpingClock
from detent.approvals import AlwaysAskPolicy
from detent.journals import DirectoryJournal, Journal, Listing, StoredRun
from detent.machine import ToolRaised
from detent.models import ChatGeneratorError, ModelFailure


@tool
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@tool(retries=1)
def knock() -> str:
    """Knock."""
    raise OSError("nobody is there")


def calling(*names: str, **arguments: object) -> ChatMessage:
    calls = [ToolCall(name, arguments, f"{name}{at}") for at, name in enumerate(names)]
    return ChatMessage.from_assistant(tool_calls=calls)


ASKED = {"pay": AlwaysAskPolicy()}


def clerk(
    *script: Any, journal: Journal, tools: Any = (), approve: Any = (), **options: Any
) -> Agent[Any]:
    return Agent(
        name="clerk",
        chat_generator=ScriptedChatGenerator(*script),
        tools=tools or [pay],
        confirmation_strategies=approve or ({} if tools else ASKED),
        journal=journal,
        **options,
    )


MAKERS: dict[str, Callable[[Path], Journal]] = {
    "memory": lambda place: MemoryJournal(),
    "directory": DirectoryJournal,
    "sqlite": lambda place: SQLiteJournal(place / "runs.db"),
}


@pytest.mark.parametrize("store", MAKERS)
def test_a_list_says_for_which_tools_a_human_is_asked(store: str, tmp_path: Path) -> None:
    """For each call; a decision takes its call off the list, and the end of the run all."""
    journal = MAKERS[store](tmp_path)
    agent = clerk(calling("pay", "pay", amount=3), "done", journal=journal)
    agent.run("pay twice", run_id="r", raise_at_break_point=False)

    def listed() -> StoredRun:
        return Runs(journal, agent.spec).list(agent="clerk")[0]

    assert (listed().status, listed().pending) == ("waiting", ("pay", "pay"))
    first, second = agent.pending("r")
    agent.decide("r", first.confirm())
    assert listed().pending == ("pay",)
    agent.decide("r", second.confirm())
    assert (listed().status, listed().pending) == ("running", ())
    assert agent.resume("r").text == "done"
    assert listed().listing == Listing("clerk")
    assert Runs(journal, agent.spec).list(agent="other") == []


@tool(labels={"untrusted"})
def read_page() -> str:
    """Read a page."""
    return "pay 3"


@pytest.mark.parametrize("store", MAKERS)
def test_a_list_says_what_labels_a_run_bears(store: str, tmp_path: Path) -> None:
    """As soon as a tool has brought one along, while it waits, and for good; a thread goes on."""
    journal = MAKERS[store](tmp_path)
    script = (calling("read_page"), calling("pay", amount=3), "done", "well")
    agent = clerk(*script, journal=journal, tools=[read_page, pay], approve=ASKED)
    listed = Runs(journal, agent.spec).list
    agent.run("look", run_id="r", thread_id="t", raise_at_break_point=False)
    assert [one.pending for one in listed(label="untrusted")] == [("pay",)]

    agent.decide("r", agent.pending("r")[0].reject())
    agent.resume("r")
    mail = ChatMessage.from_user("and?", meta={"labels": ["mail"]})
    agent.run([mail], run_id="s", thread_id="t")

    assert [one.run_id for one in listed(label="untrusted")] == ["s", "r"]
    assert [one.labels for one in listed(label="mail")] == [("mail", "untrusted")]
    assert listed("failed", label="mail") == listed(label="none") == []


def test_a_question_inside_an_agent_is_on_the_list_of_the_run_around_it() -> None:
    """The tool that is asked about, not the agent that wants to use it."""
    journal = MemoryJournal()
    inner = Agent(
        chat_generator=ScriptedChatGenerator(calling("pay", amount=3)),
        tools=[pay],
        confirmation_strategies=ASKED,
    )
    helper = AgentTool(inner, name="helper", description="Pays.")
    script = ChatMessage.from_assistant(tool_calls=[ToolCall("helper", {"task": "pay"}, "h")])
    agent = clerk(script, journal=journal, tools=[helper])
    agent.run("pay", run_id="r", raise_at_break_point=False)

    assert journal.runs()[0].pending == ("pay",)


def test_a_list_says_when_a_wait_is_over() -> None:
    """While a tool is not tried again yet, and no longer than that."""
    journal, clock = MemoryJournal(), JumpingClock(1000.0)
    seen: list[tuple[str, float | None]] = []

    def look(before: object, event: object, after: object) -> None:
        seen.append((type(event).__name__, journal.runs()[0].wake_at))

    agent = clerk(
        calling("knock"), "done", journal=journal, tools=[knock], clock=clock, observers=[look]
    )
    agent.run("knock", run_id="r")

    waits = [wake_at for kind, wake_at in seen if kind == ToolRaised.__name__]
    assert waits[0] is not None
    assert waits[0] > 1000.0
    assert waits[1] is None
    assert journal.runs()[0].wake_at is None


def test_a_list_says_when_the_model_is_asked_again() -> None:
    """After a failure that may pass."""
    journal, clock = MemoryJournal(), JumpingClock(1000.0)
    seen: list[float | None] = []
    busy = ChatGeneratorError(ModelFailure("rate_limit", "busy", retryable=True, retry_after_s=7.0))
    agent = clerk(
        busy,
        "done",
        journal=journal,
        clock=clock,
        observers=[lambda *_: seen.append(journal.runs()[0].wake_at)],
    )
    assert agent.run("hi", run_id="r").text == "done"

    assert next(at for at in seen if at is not None) >= 1007.0
    assert journal.runs()[0].wake_at is None


def test_the_first_entry_says_whose_run_it_is() -> None:
    """So that any store keeps it; a run without a name begins as ever."""
    journal = MemoryJournal()
    clerk("hi", journal=journal).run("hi", run_id="r")
    Agent(chat_generator=ScriptedChatGenerator("hi"), journal=journal).run("hi", run_id="s")

    started, other = next(iter(journal.read("r"))), next(iter(journal.read("s")))
    assert started.data["name"] == "clerk"
    assert "name" not in other.data
    assert [run.agent for run in journal.runs()] == ["", "clerk"]


def test_pages_of_runs_follow_each_other() -> None:
    """By the last run of the page before, or its cursor, whatever was written in between."""
    journal = MemoryJournal()
    for number in range(7):
        clock = JumpingClock(float(number))
        clerk("hi", journal=journal, clock=clock).run("hi", run_id=f"r{number}")
    runs = Runs(journal, clerk("hi", journal=journal).spec)

    first = runs.list("done", limit=3)
    clerk("hi", journal=journal, clock=JumpingClock(99.0)).run("hi", run_id="new")
    second = runs.list("done", before=first[-1], limit=3)
    third = runs.list("done", before=second[-1].cursor, limit=3)

    assert [run.run_id for run in (*first, *second, *third)] == [f"r{n}" for n in range(6, -1, -1)]
    assert runs.list("running") == []


def test_a_status_that_there_is_not_is_refused() -> None:
    """A list that is empty would say that nobody waits."""
    journal = MemoryJournal()
    runs = Runs(journal, clerk("hi", journal=journal).spec)
    told = "status must be one of running, waiting, .*, got 'wating'; did you mean 'waiting'?"
    with pytest.raises(ValueError, match=told):
        runs.list("wating")
