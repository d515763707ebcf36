"""A driver that has lost its run while a tool was at work: what it knows is heard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from detent import (
    Agent,
    AgentTool,
    ChatMessage,
    MemoryJournal,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
    tool,
)
from detent.core.errors import AgentChangedError
from detent.journals import DirectoryJournal, Journal
from detent.machine import OutcomeUnknownError
from detent.ports.claims import RunBusyError
from detent.ports.journal import JournalConflictError

PAY = ToolCall("pay", {"amount": 5}, "c1")


class Till:
    """A tool that is at work until it is let go, and what came of it."""

    def __init__(self, journal: Journal, *, fails: bool = False) -> None:
        self.journal, self.fails = journal, fails
        self.begun, self.go_on = Event(), Event()
        self.paid: list[int] = []
        self.raised: list[BaseException] = []

    def agent(
        self, *script: Any, outer: tuple[Any, ...] = (), on_unknown: Any = "ask"
    ) -> Agent[Any, Any]:
        """An agent with the tool, or with an agent inside that has it."""

        @tool(on_unknown=on_unknown)
        def pay(amount: int) -> str:
            """Pay."""
            self.begun.set()
            assert self.go_on.wait(30)
            self.paid.append(amount)
            if self.fails:
                raise ValueError("the till is empty")
            return "paid"

        if not outer:
            model = ScriptedChatGenerator(*script)
            return Agent(chat_generator=model, tools=[pay], journal=self.journal)
        inner = Agent(chat_generator=ScriptedChatGenerator(*script), tools=[pay])
        helper = AgentTool(inner, name="helper", description="Helps.")
        model = ScriptedChatGenerator(*outer)
        return Agent(chat_generator=model, tools=[helper], journal=self.journal)

    def lose(self, drive: Callable[[], object], take: Callable[[], object]) -> None:
        """Somebody else takes up the run in the middle of the call; then the call ends."""

        def driving() -> None:
            try:
                drive()
            except BaseException as error:  # noqa: BLE001 - the test looks at it
                self.raised.append(error)

        thread = Thread(target=driving)
        thread.start()
        assert self.begun.wait(30)
        take()
        self.go_on.set()
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture(params=["memory", "directory", "sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    """A store of each kind that needs no server."""
    made: dict[str, Callable[[], Journal]] = {
        "memory": MemoryJournal,
        "directory": lambda: DirectoryJournal(tmp_path / "runs"),
        "sqlite": lambda: SQLiteJournal(tmp_path / "runs.db"),
    }
    return made[request.param]()


def taken(agent: Agent[Any, Any]) -> None:
    """Somebody takes up the run, and finds that a human must say what became of the call."""
    assert agent.resume("r", take_over=True).pending
    assert len(agent.pending("r")) == 1


@pytest.mark.parametrize("is_async", [False, True])
def test_nobody_is_asked_what_somebody_knows(journal: Journal, is_async: bool) -> None:  # noqa: FBT001 - a case
    """The question goes away, and the run goes on with what really happened."""
    till = Till(journal)
    first, second = till.agent(PAY, "Done."), till.agent("Done.")

    def drive() -> object:
        if is_async:
            return asyncio.run(first.run_async("Pay.", run_id="r"))
        return first.run("Pay.", run_id="r")

    till.lose(drive, lambda: taken(second))

    assert isinstance(till.raised[0], JournalConflictError)
    assert second.pending("r") == ()
    result = second.resume("r")
    assert result.messages[-2].tool_call_results[0].text == "paid"
    assert till.paid == [5]


def test_a_failure_is_known_as_well(journal: Journal) -> None:
    """The model is told, and nobody."""
    till = Till(journal, fails=True)
    second = till.agent("Done.")

    till.lose(lambda: till.agent(PAY, "x").run("Pay.", run_id="r"), lambda: taken(second))

    assert second.pending("r") == ()
    (result,) = second.resume("r").messages[-2].tool_call_results
    assert result.error
    assert "the till is empty" in result.text


def test_an_agent_inside_is_told_too(journal: Journal) -> None:
    """It happened inside: its call is heard where it was made."""
    till = Till(journal)
    first = till.agent(PAY, "ok", outer=(ToolCall("helper", {"task": "pay"}, "c0"), "x"))
    second = till.agent("ok", outer=("Done.",))

    till.lose(lambda: first.run("Pay.", run_id="r"), lambda: taken(second))

    assert second.pending("r") == ()
    assert second.resume("r").text == "Done."
    assert till.paid == [5]


def test_what_a_human_has_decided_meanwhile_counts(journal: Journal) -> None:
    """They had the call rejected: the model knows that it was not run, and hears nothing else."""
    till = Till(journal)
    second = till.agent("Done.")

    def take() -> None:
        taken(second)
        (call,) = second.pending("r")
        second.decide("r", call.reject("leave it"))

    till.lose(lambda: till.agent(PAY, "x").run("Pay.", run_id="r"), take)

    result = second.resume("r")
    assert "leave it" in result.messages[-2].tool_call_results[0].text


@pytest.mark.parametrize("is_async", [False, True])
def test_a_tool_may_not_know_itself(journal: Journal, is_async: bool) -> None:  # noqa: FBT001 - a case
    """A human is asked about that call alone, in its words; what ran beside it is known."""

    @tool
    def wire() -> str:
        """Wire it."""
        raise OutcomeUnknownError("the bank is silent")

    @tool
    def look() -> str:
        """Look."""
        return "seen"

    calls = [ToolCall("wire", id="w"), ToolCall("look", id="l")]
    model = ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=calls), "Done.")
    agent = Agent(chat_generator=model, tools=[wire, look], journal=journal)

    if is_async:
        result = asyncio.run(agent.run_async("Wire.", run_id="r"))
    else:
        result = agent.run("Wire.", run_id="r")

    (call,) = result.pending
    assert (call.tool_name, call.reason) == ("wire", "the bank is silent")
    agent.decide("r", call.respond("it went out"))
    answers = [one.text for m in agent.resume("r").messages for one in m.tool_call_results]
    assert answers == ["it went out", "seen"]


class Interrupting(MemoryJournal):
    """Lets somebody do something right behind the start of a tool, and before it begins."""

    def __init__(self, meanwhile: Callable[[], object], *, is_inside: bool = False) -> None:
        super().__init__()
        self._kind = "HappenedInside" if is_inside else "ToolStarted"
        self._meanwhile: list[Callable[[], object]] = [meanwhile]

    def append(self, run_id: str, entries: Any, checkpoint: Any = None) -> None:
        """As a journal in memory."""
        super().append(run_id, entries, checkpoint)
        own = [f"{entry.kind} {entry.text}" for entry in entries if entry.kind == self._kind]
        if any("ToolStarted" in text for text in own) and self._meanwhile:
            self._meanwhile.pop()()


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("is_inside", [False, True])
def test_who_lost_the_run_before_a_tool_began_says_so(is_async: bool, is_inside: bool) -> None:  # noqa: FBT001 - cases
    """Nobody is asked whether it ran: it did not, and it runs where the run is now."""
    journal = Interrupting(lambda: taken(second), is_inside=is_inside)
    till = Till(journal)
    till.go_on.set()
    task = ToolCall("helper", {"task": "Pay."}, "c0")
    outer = ((task, "Done."), ("Done.",)) if is_inside else ((), ())
    first = till.agent(PAY, "Paid.", outer=outer[0])
    second = till.agent("Paid." if is_inside else "Done.", outer=outer[1])

    def drive() -> object:
        if is_async:
            return asyncio.run(first.run_async("Pay.", run_id="r"))
        return first.run("Pay.", run_id="r")

    with pytest.raises((RunBusyError, JournalConflictError)):
        drive()

    assert till.paid == []
    assert second.pending("r") == ()
    assert second.resume("r").text == "Done."
    assert till.paid == [5]


def test_what_runs_again_already_is_not_begun_a_third_time() -> None:
    """A tool that may run again is at work for the other driver: no word about the first start."""
    begun, go_on, paid = Event(), Event(), list[int]()

    @tool(on_unknown="rerun")
    def pay(amount: int) -> str:
        """Pay."""
        begun.set()
        assert go_on.wait(30)
        paid.append(amount)
        return "paid"

    def agent(*script: Any) -> Agent[Any, Any]:
        return Agent(chat_generator=ScriptedChatGenerator(*script), tools=[pay], journal=journal)

    def meanwhile() -> None:
        thread.start()
        assert begun.wait(30)

    journal = Interrupting(meanwhile)
    results: list[Any] = []
    thread = Thread(target=lambda: results.append(agent("Done.").resume("r", take_over=True)))

    with pytest.raises((RunBusyError, JournalConflictError)):
        agent(PAY).run("Pay.", run_id="r")
    go_on.set()
    thread.join(30)

    assert results[0].text == "Done."
    assert paid == [5]


@pytest.mark.parametrize("is_async", [False, True])
def test_what_a_driver_with_other_rules_knows_is_heard(journal: Journal, *, is_async: bool) -> None:
    """Its version is replaced while its tool is at work: the outcome is that of the call."""
    till = Till(journal)
    first, second = till.agent(PAY, "Done.", on_unknown="fail"), till.agent("Done.")

    def drive() -> object:
        if is_async:
            return asyncio.run(first.run_async("Pay.", run_id="r"))
        return first.run("Pay.", run_id="r")

    till.lose(drive, lambda: taken(second))

    assert isinstance(till.raised[0], AgentChangedError)
    assert second.pending("r") == ()
    (listed,) = journal.runs()
    assert (listed.status, listed.pending) == ("running", ())
    result = second.resume("r")
    assert result.messages[-2].tool_call_results[0].text == "paid"
    assert till.paid == [5]


def test_what_was_decided_by_other_rules_stands(journal: Journal) -> None:
    """Somebody has said what became of the call: what its driver knows comes too late."""
    till = Till(journal)
    first, second = till.agent(PAY, "Done.", on_unknown="fail"), till.agent("Done.")

    def take() -> None:
        taken(second)
        (call,) = second.pending("r")
        second.decide("r", call.respond("not paid"))

    till.lose(lambda: first.run("Pay.", run_id="r"), take)

    result = second.resume("r")
    assert result.messages[-2].tool_call_results[0].text == "not paid"
