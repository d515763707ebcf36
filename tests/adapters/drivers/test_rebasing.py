"""Rebasing: people speak to a run from elsewhere while a driver is at work on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from threading import Event as Flag
from typing import Any, TypeAlias

import pytest
from attrs import define, field

from detent import (
    Agent,
    AgentResult,
    AgentTool,
    BreakpointException,
    ChatMessage,
    HITLBreakpointException,
    MemoryJournal,
    Runs,
    ScriptedChatGenerator,
    SQLiteJournal,
    State,
    ToolBreakpoint,
    ToolCall,
    before_tool,
    create_tool_from_function,
    on_exit,
)
from detent.adapters.drivers import recording
from detent.adapters.drivers.loading import loaded
from detent.approvals import AlwaysAskPolicy
from detent.core.storage.checkpoints import join_chain
from detent.journals import Journal, JournalConflictError, JournalError
from detent.machine import (
    AgentSpec,
    CancelRequested,
    Event,
    HumanDecided,
    Resumed,
    Session,
    start,
)
from tests.adapters.drivers.foreign_words import (
    RUN,
    Overheard,
    Seen,
    Words,
    assert_in_order,
    in_turn,
    once,
    written,
)

SPEC = AgentSpec(State({}))
Drive: TypeAlias = Callable[[Agent[Any, Any]], AgentResult[Any, Any]]
STORES: dict[str, Callable[[Path], Journal]] = {
    "memory": lambda place: MemoryJournal(),
    "sqlite": lambda place: SQLiteJournal(place / "runs.db"),
}


@pytest.fixture(params=["blocking", "async"])
def drive(request: pytest.FixtureRequest) -> Drive:
    """Begin the run, in either colour."""
    if request.param == "blocking":
        return lambda agent: agent.run("go", run_id=RUN)
    return lambda agent: asyncio.run(agent.run_async("go", run_id=RUN))


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    """A store that two may write to."""
    return STORES[request.param](tmp_path)


def calls(*names: str) -> ChatMessage:
    """The model calls these tools."""
    made = [ToolCall(name, id=f"{name}-{place}") for place, name in enumerate(names)]
    return ChatMessage.from_assistant(tool_calls=made)


def scripted(turns: Sequence[ChatMessage | str]) -> ScriptedChatGenerator:
    """A model that says in each turn what it would say in any process."""

    def answer(messages: Sequence[ChatMessage]) -> ChatMessage | str:
        return turns[sum(one.role == "assistant" for one in messages)]

    return ScriptedChatGenerator(*[answer] * 9)


@define
class Bench:
    """Agents on one store whose tools write down that they have run.

    `work` ends when so many `humans` have been asked. `starts` has how many starts stood in the
    store when each tool ran.
    """

    store: Journal
    turns: Sequence[ChatMessage | str]
    inner: Sequence[ChatMessage | str] = ()
    humans: int = 1
    asked: Flag = field(factory=Flag)
    ran: list[str] = field(factory=list)
    starts: list[int] = field(factory=list)
    seen: Seen = field(factory=list)

    def agent(self, journal: Journal | None = None, **options: Any) -> Agent[Any, Any]:
        """The same agent, as each process makes it. `pay` and `ship` need a human."""

        def work() -> str:
            """Work."""
            assert self.asked.wait(10)
            return self._ran("work")

        def pay() -> str:
            """Pay."""
            return self._ran("pay")

        def ship() -> str:
            """Ship."""
            return self._ran("ship")

        tools: list[Any] = [create_tool_from_function(one) for one in (work, pay, ship)]
        rules = {name: AlwaysAskPolicy() for name in ("pay", "ship")}
        if self.inner:
            helper = Agent(
                chat_generator=scripted(self.inner),
                tools=tools,
                confirmation_strategies=rules,
            )
            tools.append(AgentTool(helper, name="helper", description="Help."))
        return Agent(
            chat_generator=scripted(self.turns),
            tools=tools,
            confirmation_strategies=rules,
            journal=self.store if journal is None else journal,
            **options,
        )

    def driver(self, before: Callable[[Sequence[str]], Words | None], **options: Any) -> Agent[Any]:
        """An agent that others are faster than."""
        watch = [lambda *folded: self.seen.append(folded)]
        journal = Overheard(self.store, before, self.humans, self.asked)
        return self.agent(journal, observers=watch, **options)

    def _ran(self, name: str) -> str:
        self.starts.append(self.kinds().count("ToolStarted"))
        self.ran.append(name)
        return f"{name} done"

    def confirmed(self, name: str = "pay", **remember: Any) -> Words:
        """A human confirms a call, from another process."""

        def confirm(store: Journal) -> None:
            agent = self.agent()
            (call,) = (one for one in agent.pending(RUN) if one.tool_name == name)
            agent.decide(RUN, call.confirm(by="Ada", **remember))

        return confirm

    def revoked(self, store: Journal) -> None:
        """A human takes back what was confirmed, from another process."""
        agent = self.agent()
        for grant in agent.grants(RUN):
            agent.revoke(RUN, grant, by="Bea")

    def kinds(self) -> list[str]:
        """What the journal has, behind the start."""
        return [entry.kind for entry in self.store.read(RUN)][1:]

    def assert_whole(self, result: AgentResult[Any, Any]) -> None:
        """The journal replays to the driver's own run, and observers have seen that."""
        assert Runs(self.store, self.agent().spec).replay(RUN) == result.run
        assert_in_order(self.seen, self.agent(), self.store)


def test_a_decision_while_another_call_is_at_work(drive: Drive, store: Journal) -> None:
    """The driver hears of it, goes on with it, and runs nothing twice."""
    bench = Bench(store, [calls("work", "pay"), "done"])

    result = drive(bench.driver(once("ToolReturned", bench.confirmed())))

    assert result.text == "done"
    assert bench.ran == ["work", "pay"]
    assert [done.by for done in result.run.decisions] == ["Ada"]
    assert bench.kinds().index("HumanDecided") < bench.kinds().index("ToolReturned")
    bench.assert_whole(result)


def test_several_entries_at_once(drive: Drive, store: Journal) -> None:
    """Each of them is heard."""
    bench = Bench(store, [calls("work", "pay", "ship"), "done"], humans=2)

    def both(store: Journal) -> None:
        bench.confirmed("ship")(store)
        bench.confirmed("pay")(store)

    result = drive(bench.driver(once("ToolReturned", both)))

    assert result.text == "done"
    assert sorted(bench.ran) == ["pay", "ship", "work"]
    bench.assert_whole(result)


def test_two_conflicts_in_a_row(drive: Drive, store: Journal) -> None:
    """While the driver reads the one, the other comes."""
    bench = Bench(store, [calls("work", "pay", "ship"), "done"], humans=2)
    words = (bench.confirmed("ship"), bench.confirmed("pay"))

    result = drive(bench.driver(once("ToolReturned", *words)))

    assert result.text == "done"
    assert sorted(bench.ran) == ["pay", "ship", "work"]
    first = bench.kinds().index("HumanDecided")
    assert bench.kinds()[first : first + 3] == ["HumanDecided", "HumanDecided", "ToolReturned"]
    bench.assert_whole(result)


def test_no_tool_runs_before_its_start_is_recorded(drive: Drive, store: Journal) -> None:
    """Not even where people speak right before that is written: it is written behind them first."""
    bench = Bench(store, [calls("work", "pay", "ship"), "done"], humans=2)
    before = in_turn(
        ("ToolReturned", bench.confirmed("pay")), ("ToolStarted", bench.confirmed("ship"))
    )

    result = drive(bench.driver(before))

    assert sorted(bench.ran) == ["pay", "ship", "work"]
    assert all(count >= place for place, count in enumerate(bench.starts, 1))
    bench.assert_whole(result)


def test_a_confirmation_is_taken_back_while_the_model_answers(drive: Drive, store: Journal) -> None:
    """What it would have covered waits, though its start was about to be recorded."""
    bench = Bench(store, [calls("work", "pay"), calls("pay"), "done"])
    confirm = bench.confirmed(remember="tool")
    before = in_turn(("ToolReturned", confirm), ("Judged", bench.revoked))

    with pytest.raises(HITLBreakpointException) as stopped:
        drive(bench.driver(before))

    assert bench.ran == ["work", "pay"]
    assert [call.tool_name for call in stopped.value.pending] == ["pay"]
    assert bench.kinds().count("GrantRevoked") == 1
    bench.assert_whole(stopped.value.result)


def test_a_cancellation_while_a_call_is_at_work(drive: Drive, store: Journal) -> None:
    """The run ends, what came of the call is late, and what is late is not written."""
    bench = Bench(store, [calls("work"), "done"], humans=0)
    cancel = written(bench.agent(), CancelRequested("enough"))

    result = drive(bench.driver(once("ToolReturned", cancel)))

    assert result.exit_reason == "cancelled"
    assert bench.kinds() == ["ModelReplied", "ToolStarted", "CancelRequested"]
    assert [type(event).__name__ for _, event, _ in bench.seen][-1] == "ToolReturned"
    bench.assert_whole(result)


def test_a_tool_whose_start_comes_too_late_does_not_run(drive: Drive, store: Journal) -> None:
    """Its start was to be recorded with the model's answer, and the run has ended before."""
    bench = Bench(store, [calls("work", "work"), "done"], humans=0)
    cancel = written(bench.agent(), CancelRequested("enough"))

    result = drive(bench.driver(once("ToolStarted", cancel)))

    assert result.exit_reason == "cancelled"
    assert bench.ran == []
    assert bench.kinds() == ["CancelRequested"]
    bench.assert_whole(result)


def test_a_decision_inside_an_agent(drive: Drive, store: Journal) -> None:
    """It is the same there, also for what is under way in there."""
    help_me = ChatMessage.from_assistant(tool_calls=[ToolCall("helper", {"task": "help"}, "h")])
    bench = Bench(store, [help_me, "done"], [calls("work", "pay"), "helped"])
    words: list[Words] = [bench.confirmed()]

    def before(kinds: Sequence[str]) -> Words | None:
        return words.pop() if words and bench.ran else None

    result = drive(bench.driver(before))

    assert result.text == "done"
    assert bench.ran == ["work", "pay"]
    bench.assert_whole(result)


@pytest.mark.parametrize("with_words", [False, True])
def test_another_driver_has_the_run(drive: Drive, store: Journal, with_words: bool) -> None:  # noqa: FBT001 - a case
    """Then only what it knows of its call is written, also if people have spoken before."""
    bench = Bench(store, [calls("work", "pay"), "done"])

    def taken_over(store: Journal) -> None:
        if with_words:
            bench.confirmed()(store)
        written(bench.agent(), Resumed("another"))(store)

    with pytest.raises(JournalConflictError, match="another process works on this run"):
        drive(bench.driver(once("ToolReturned", taken_over)))

    assert bench.kinds()[-2:] == ["Resumed", "ToolReturned"]  # what it knows all the same


def test_another_driver_comes_between(drive: Drive, store: Journal) -> None:
    """Behind what people have said, which has happened and is told."""
    bench = Bench(store, [calls("work", "pay"), "done"])
    words = (bench.confirmed(), written(bench.agent(), Resumed("another")))

    with pytest.raises(JournalConflictError):
        drive(bench.driver(once("ToolReturned", *words)))

    assert bench.kinds()[-3:] == ["HumanDecided", "Resumed", "ToolReturned"]
    assert isinstance(bench.seen[-1][1], HumanDecided)


def test_a_run_that_is_deleted_is_nobodys(drive: Drive, store: Journal) -> None:
    """There is nothing to come behind."""
    bench = Bench(store, [calls("work"), "done"], humans=0)

    with pytest.raises(JournalConflictError, match="somebody has deleted"):
        drive(bench.driver(once("ToolReturned", lambda store: store.delete(RUN))))

    assert bench.kinds() == []


def test_what_was_missed_cannot_be_read(drive: Drive, store: Journal) -> None:
    """Then what the driver holds has not happened, as if its own append had failed."""
    bench = Bench(store, [calls("work", "pay"), "done"])
    agent = bench.driver(lambda kinds: None)
    journal = agent.assembly.journal
    assert isinstance(journal, Overheard)

    def spoken(store: Journal) -> None:
        bench.confirmed()(store)
        journal.failure = JournalError("the disk is gone")

    journal.before = once("ToolReturned", spoken)

    with pytest.raises(JournalError, match="the disk is gone"):
        drive(agent)

    assert bench.kinds()[-1] == "HumanDecided"
    assert "HumanDecided" not in [type(event).__name__ for _, event, _ in bench.seen]


def test_the_store_fails_after_a_conflict(drive: Drive, store: Journal) -> None:
    """What people have said has happened and is told; what the driver held has not."""
    bench = Bench(store, [calls("work", "pay"), "done"])

    def full(store: Journal) -> None:
        raise JournalError("the disk is full")

    with pytest.raises(JournalError, match="the disk is full"):
        drive(bench.driver(once("ToolReturned", bench.confirmed(), full)))

    assert bench.kinds()[-1] == "HumanDecided"
    assert isinstance(bench.seen[-1][1], HumanDecided)
    assert_in_order(bench.seen, bench.agent(), store)


def test_an_observer_that_raises_loses_no_outcome(drive: Drive, store: Journal) -> None:
    """What it was told of may be others' words: what the driver knows is recorded all the same."""
    bench = Bench(store, [calls("work", "pay"), "done"])

    def raises(before: object, event: Event, after: object) -> None:
        if isinstance(event, HumanDecided):
            raise LookupError("no such screen")  # noqa: TRY004 - any error will do

    agent = bench.driver(once("ToolReturned", bench.confirmed()))
    agent.assembly.observers.append(raises)  # type: ignore[attr-defined]  # a list here

    with pytest.raises(LookupError, match="no such screen"):
        drive(agent)

    assert bench.kinds()[-2:] == ["HumanDecided", "ToolReturned"]
    assert_in_order(bench.seen, bench.agent(), store)


def test_hooks_are_asked_about_the_end_as_it_is(drive: Drive, store: Journal) -> None:
    """Not once more about one that they have rejected, and about no tool that is not owed."""
    bench = Bench(store, [calls("work", "pay"), "first", "second"])
    ends: list[bool] = []
    begun: list[str] = []

    def spoken_about(run: Any) -> str | None:
        ends.append(bool(run.grants))
        return None if ends[1:] else "say more"

    hooks = [on_exit(spoken_about), before_tool(lambda one, run: begun.append(one.call.tool_name))]
    confirm = bench.confirmed(remember="tool")
    before = in_turn(("ToolReturned", confirm), ("AnswerRejected", bench.revoked))

    result = drive(bench.driver(before, hooks=hooks))

    assert ends == [True, False]
    assert begun == ["work", "pay"]
    assert result.text == "second"
    bench.assert_whole(result)


def test_people_speak_before_a_stop(store: Journal) -> None:
    """A breakpoint stops the run as if they had spoken right behind that."""
    bench = Bench(store, [calls("work"), "done"], humans=0)
    agent = bench.driver(once("Stopped", written(bench.agent(), CancelRequested("enough"))))

    with pytest.raises(BreakpointException):
        agent.run("go", run_id=RUN, break_point=ToolBreakpoint("tool_invoker", tool_name="work"))

    assert bench.agent().resume(RUN).exit_reason == "cancelled"
    assert bench.ran == []


def test_another_driver_comes_before_a_stop(store: Journal) -> None:
    """Then the run does not stop here."""
    bench = Bench(store, [calls("work"), "done"], humans=0)
    agent = bench.driver(once("Stopped", lambda store: bench.agent().resume(RUN)))
    bench.asked.set()

    with pytest.raises(JournalConflictError):
        agent.run("go", run_id=RUN, break_point=ToolBreakpoint("tool_invoker", tool_name="work"))

    assert bench.ran == ["work"]


def test_both_build_on_each_others_checkpoints(
    drive: Drive, store: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that none of them says nothing, and all say what the events say."""
    monkeypatch.setattr(recording, "ENTRIES", 1)
    bench = Bench(store, [calls("work", "pay", "ship"), calls("work"), "done"], humans=2)
    words = (bench.confirmed("ship"), bench.confirmed("pay"))

    result = drive(bench.driver(once("ToolReturned", *words)))

    chain = [(one.position, one.data) for one in store.checkpoints(RUN)]
    last = join_chain(chain)
    assert last is not None
    assert last[0] == chain[-1][0]
    assert all(data["after"] == place for (place, _), (_, data) in pairwise(chain))
    assert loaded(store, bench.agent().spec, RUN).run == result.run
    bench.assert_whole(result)


def test_a_run_is_resumed_while_a_human_decides(store: Journal) -> None:
    """Between reading the run and saying so."""
    bench = Bench(store, [calls("work", "pay"), "done"])

    def full(store: Journal) -> None:
        raise JournalError("the disk is full")

    with pytest.raises(JournalError):
        bench.driver(once("ToolReturned", full)).run("go", run_id=RUN)
    bench.seen.clear()

    result = bench.driver(once("Resumed", bench.confirmed())).resume(RUN)

    assert [call.tool_name for call in bench.agent().pending(RUN)] == ["work"]
    assert bench.ran == ["work", "pay"]
    assert [type(event).__name__ for _, event, _ in bench.seen[:2]] == ["HumanDecided", "Resumed"]
    assert Runs(store, bench.agent().spec).replay(RUN) == result.run


def test_a_session_that_nobody_tells_is_refused() -> None:
    """A loop of one's own, with a record of its own, is told of the conflict as before."""

    def record(happened: object) -> None:
        raise JournalConflictError("r", 1, 2)

    run = start(SPEC, [ChatMessage.from_user("go")], run_id=RUN)
    session = Session(SPEC, run, record=record)

    with pytest.raises(JournalConflictError):
        session.feed(CancelRequested("enough"))

    assert session.run is run
