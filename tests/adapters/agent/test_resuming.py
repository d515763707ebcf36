"""Stopping and going on: at every point, in every way, the run ends as if it had never stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from attrs import evolve

from detent import (
    Agent,
    AgentResult,
    AlwaysAskPolicy,
    Appended,
    BlockingConfirmationStrategy,
    ChatGeneratorError,
    ChatMessage,
    ConfirmationUIResult,
    HITLBreakpointException,
    NeverAskPolicy,
    Runs,
    ScriptedChatGenerator,
    State,
    Tool,
    ToolCall,
    TypedState,
    create_tool_from_function,
    tool,
)
from detent.adapters.agent.inputs import RunRequest
from detent.adapters.control.breakpoints import (
    AgentBreakpoint,
    Breakpoint,
    ToolBreakpoint,
    break_every_step,
)
from detent.adapters.drivers import recording
from detent.adapters.drivers.recording import RunExistsError
from detent.adapters.drivers.steps import at_once
from detent.adapters.journals.memory import MemoryJournal
from detent.adapters.journals.sqlite import SQLiteJournal
from detent.core.errors import AgentChangedError
from detent.core.tools.idempotency import NEVER_RAN, IdempotencyKey
from detent.journals import RunNotFoundError, RunOfEngineError
from detent.machine import WaitUntil
from detent.models import ModelFailure
from detent.ports.journal import Checkpoint, Entry, Journal, JournalConflictError, JournalError
from detent.ports.results import BreakpointException
from detent.testing import JumpingClock

DONE: list[str] = []
"""What the tools have done, outside of any run."""


class Ledger(TypedState):
    """What is shared."""

    paid = Appended[int]()


def pay(n: int) -> str:
    """Pay."""
    DONE.append(f"paid {n}")
    return f"paid {n}"


def note(state: Ledger, n: int) -> Ledger:
    """Note."""
    return state.set(Ledger.paid, [n])


def never_ran(arguments: dict[str, Any], key: str) -> object:
    """Look up what happened: nothing."""
    return NEVER_RAN


def looked_up(arguments: dict[str, Any], key: str) -> object:
    """Look up what happened, outside of the run."""
    text = f"paid {arguments['n']}"
    return text if text in DONE else NEVER_RAN


def answer(messages: Sequence[ChatMessage]) -> ChatMessage | str:
    """The model: two turns of parallel calls, then a text."""
    turn = sum(1 for message in messages if message.tool_calls)
    turns = [(("pay", 1), ("note", 2)), (("note", 3), ("pay", 4), ("none", 5))]
    if turn == len(turns):
        return "done"
    calls = [ToolCall(name, {"n": n}, f"c{n}") for name, n in turns[turn]]
    return ChatMessage.from_assistant(tool_calls=calls)


@pytest.fixture(autouse=True)
def _nothing_is_done() -> None:
    DONE.clear()


def agent_of(journal: Journal | None = None, **options: Any) -> Agent[Ledger]:
    """A new agent, as another process makes it."""
    on_unknown = options.pop("on_unknown", "ask")
    tools: list[Tool] = [
        create_tool_from_function(pay, on_unknown=on_unknown),
        create_tool_from_function(note, on_unknown="rerun"),
    ]
    chat = ScriptedChatGenerator(*[options.pop("script", answer)] * 9)
    return Agent(chat_generator=chat, tools=tools, state_schema=Ledger, journal=journal, **options)


def whole() -> AgentResult[Ledger]:
    """The run that never stopped."""
    DONE.clear()
    result = agent_of().run("pay")
    DONE.clear()
    return result


def assert_same(result: AgentResult[Ledger], reference: AgentResult[Ledger]) -> None:
    """All that a caller can see, but the id."""
    assert list(result.messages) == list(reference.messages)
    assert result.state == reference.state
    assert result.exit_reason == reference.exit_reason
    assert result.token_usage == reference.token_usage
    assert result.tool_call_counts == reference.tool_call_counts


@pytest.mark.parametrize(
    "break_point",
    [
        Breakpoint("chat_generator", 0),
        Breakpoint("chat_generator", 2),
        Breakpoint("chat_generator", None),
        ToolBreakpoint("tool_invoker", 0),
        ToolBreakpoint("tool_invoker", 1, "pay"),
        AgentBreakpoint("agent", ToolBreakpoint("tool_invoker", None)),
        break_every_step,
        lambda run, effect: effect.key.place == 1,
        [Breakpoint("chat_generator", 1), ToolBreakpoint("tool_invoker", 1)],
    ],
    ids=lambda rule: getattr(rule, "__name__", None) or str(rule),
)
def test_a_run_that_stops_and_goes_on_ends_the_same(break_point: Any) -> None:
    """As text, in a new agent, with the same breakpoints, which never stop twice at one place."""
    reference = whole()
    stops: list[str] = []
    options: dict[str, Any] = {"messages": "pay"}
    while True:
        try:
            result = agent_of().run(**options, break_point=break_point)
        except BreakpointException as stopped:
            stops.append(stopped.snapshot.about_to)
            options = {"snapshot": stopped.snapshot.to_json()}
        else:
            break

    assert_same(result, reference)
    assert sorted(DONE) == ["paid 1", "paid 4"]
    assert stops
    assert len(set(stops)) == len(stops)


def test_a_snapshot_can_be_taken_up_again_and_again() -> None:
    """Each time the same comes of it, and it stays as it is."""
    reference = whole()
    with pytest.raises(BreakpointException) as caught:
        agent_of().run("pay", break_point=Breakpoint("chat_generator", 1))
    snapshot = caught.value.snapshot
    before = snapshot.to_json()

    for given in (snapshot, snapshot.to_dict(), before):
        assert_same(agent_of().run([], snapshot=given), reference)
        assert_same(asyncio.run(agent_of().run_async(snapshot=given)), reference)
    assert snapshot.to_json() == before


def test_a_stop_can_be_a_value() -> None:
    """For those who like no exceptions."""
    result = agent_of().run("pay", break_point=break_every_step, raise_at_break_point=False)

    assert [effect.key.kind for effect in result.held] == ["model"]
    assert result.exit_reason is None
    assert result.snapshot.about_to == "ask the model (turn 1)"


@pytest.mark.parametrize("way", ["journal", "snapshot"])
def test_a_run_that_the_model_left_without_an_answer_is_carried_on(way: str) -> None:
    """The provider is back: what was done is not done again, and the model is asked again."""
    gone = ChatGeneratorError(ModelFailure("connection", "nobody is there"))
    calls = ChatMessage.from_assistant(tool_calls=[ToolCall("look", {"n": 1}, "c")])
    journal = MemoryJournal()
    looked: list[int] = []

    @tool
    def look(n: int) -> str:
        """Look."""
        looked.append(n)
        return "seen"

    def agent(*script: Any) -> Agent[Any]:
        return Agent(chat_generator=ScriptedChatGenerator(*script), tools=[look], journal=journal)

    for script in ((calls, gone), (gone,)):
        with pytest.raises(ChatGeneratorError, match="nobody is there"):
            agent(*script).run("go", run_id="r") if calls in script else agent(*script).resume("r")
        assert journal.runs()[0].status == "failed"

    back = agent("welcome back")
    if way == "journal":
        result = back.resume("r")
        assert Runs(journal, back.spec).replay("r") == result.run
        assert [run.status for run in journal.runs()] == ["done"]
        assert agent().resume("r").text == "welcome back"
    else:
        result = back.run(snapshot=Runs(journal, back.spec).fork("r"))
    assert (result.text, result.step_count, looked) == ("welcome back", 2, [1])


def test_a_finished_run_has_no_snapshot() -> None:
    """There is nothing to go on with."""
    with pytest.raises(ValueError, match="the run has ended"):
        _ = whole().snapshot


def test_what_a_snapshot_would_pass_over_is_refused() -> None:
    """New messages, options or state belong to a new run."""
    result = agent_of().run("pay", break_point=break_every_step, raise_at_break_point=False)

    with pytest.raises(ValueError, match="leave out messages, paid"):
        agent_of().run("more", snapshot=result.snapshot, paid=[1])


def test_a_break_point_names_a_tool_that_is_there() -> None:
    """It is checked before anything runs."""
    with pytest.raises(ValueError, match="Tool 'zzz' is not available"):
        agent_of().run("pay", break_point=ToolBreakpoint("tool_invoker", 0, "zzz"))
    assert DONE == []


# --- the journal ------------------------------------------------------------------------


def cut(journal: MemoryJournal, length: int) -> MemoryJournal:
    """What another process finds when the first one was killed after `length` entries."""
    shorter = MemoryJournal()
    shorter.append("r", list(journal.read("r"))[:length])
    return shorter


def entries_of(journal: Journal) -> list[Entry]:
    return list(journal.read("r"))


def recorded(**options: Any) -> tuple[MemoryJournal, AgentResult[Ledger]]:
    """A whole run with its journal."""
    journal = MemoryJournal()
    result = agent_of(journal, **options).run("pay", run_id="r")
    return journal, result


@pytest.mark.parametrize(
    "on_unknown", ["rerun", lambda arguments, key: NEVER_RAN], ids=["rerun", "f"]
)
def test_a_run_that_is_cut_off_anywhere_ends_the_same(on_unknown: Any) -> None:
    """After every single entry; what was settled is not done again."""
    reference = whole()
    journal, _ = recorded(on_unknown=on_unknown)
    for length in range(1, len(entries_of(journal)) + 1):
        found = cut(journal, length)
        refs = [tuple(one.data["ref"]) for one in found.read("r") if one.kind == "ToolReturned"]
        settled = {
            text for ref, text in {(1, 0): "paid 1", (2, 1): "paid 4"}.items() if ref in refs
        }
        DONE.clear()
        assert_same(agent_of(found, on_unknown=on_unknown).resume("r"), reference)
        assert sorted(DONE) == sorted({"paid 1", "paid 4"} - settled)
        names = [entry.data["ref"] for entry in found.read("r") if entry.kind == "ToolReturned"]
        assert len(names) == len({tuple(name) for name in names}) == 4
        assert found.runs()[0].status == "done"


def test_a_call_of_unknown_outcome_waits_for_a_human() -> None:
    """Without a declaration nothing is run again, however often the run is taken up."""
    journal, _ = recorded()
    kinds = [entry.kind for entry in entries_of(journal)]
    found = cut(journal, kinds.index("ToolStarted") + 2)
    DONE.clear()

    for _ in range(3):
        result = agent_of(found).resume("r")
        assert result.exit_reason is None
        assert "nobody knows" in result.snapshot.summary()
    assert DONE == []
    assert found.runs()[0].status == "waiting"


def unreachable(arguments: dict[str, Any], key: str) -> str:
    """Look a payment up where nobody answers."""
    raise OSError(f"no route to the bank, for {arguments['n']}")


async def unreachable_async(arguments: dict[str, Any], key: str) -> str:
    """The same, later."""
    return unreachable(arguments, key)


async def given_up(arguments: dict[str, Any], key: str) -> str:
    """As a library may that has its own time-out."""
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("lookup", "why"),
    [
        (unreachable, "OSError: no route to the bank, for 1"),
        (unreachable_async, "OSError: no route to the bank, for 1"),
        (given_up, "CancelledError"),
    ],
)
@pytest.mark.parametrize("colour", ["sync", "async"])
def test_a_human_answers_for_a_call_that_nobody_could_look_up(
    lookup: Any, why: str, colour: str
) -> None:
    """`resume` raises nothing that the lookup raised, and the call is not run again unasked."""
    journal, _ = recorded(on_unknown=lookup)
    kinds = [entry.kind for entry in entries_of(journal)]
    found = cut(journal, kinds.index("ToolStarted") + 2)
    DONE.clear()
    agent = agent_of(found, on_unknown=lookup)

    waiting = agent.resume("r") if colour == "sync" else asyncio.run(agent.resume_async("r"))

    assert waiting.exit_reason is None
    assert [run.status for run in found.runs()] == ["waiting"]
    (call,) = agent.pending("r")
    assert f"looking it up failed with {why}. The tool was given the key" in call.reason
    assert "paid 1" not in DONE
    agent.decide("r", call.respond("paid 1"))
    assert agent_of(found, on_unknown=lookup).resume("r").text == "done"
    assert "paid 1" not in DONE


@pytest.mark.parametrize("colour", ["sync", "async"])
@pytest.mark.parametrize("kept", ["journal", "snapshot"])
def test_a_pause_lasts_no_longer_where_the_clock_was_set_back(colour: str, kept: str) -> None:
    """By an hour: what is left of the pause is not an hour and a second."""
    hour = 3600.0
    busy = ModelFailure("overloaded", "", retryable=True)
    journal = MemoryJournal()

    def agent(clock: JumpingClock, *script: Any) -> Agent[State]:
        chat = ScriptedChatGenerator(*script)
        return Agent(chat_generator=chat, clock=clock, journal=journal)

    first = agent(JumpingClock(10 * hour), ChatGeneratorError(busy))
    with pytest.raises(BreakpointException) as stopped:
        first.run(
            "hello", run_id="r", break_point=lambda run, effect: isinstance(effect, WaitUntil)
        )
    clock = JumpingClock(9 * hour)
    second = agent(clock, "here I am")
    snapshot = stopped.value.snapshot.to_json()

    match colour, kept:
        case "sync", "journal":
            result = second.resume("r")
        case "sync", _:
            result = second.run(snapshot=snapshot)
        case _, "journal":
            result = asyncio.run(second.resume_async("r"))
        case _:
            result = asyncio.run(second.run_async(snapshot=snapshot))

    assert result.text == "here I am"
    assert 9 * hour < clock.now() <= 9 * hour + 61


def test_a_human_answers_for_a_call_of_unknown_outcome() -> None:
    """And the run goes on."""

    class Human:
        def get_user_confirmation(
            self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
        ) -> ConfirmationUIResult:
            return ConfirmationUIResult("respond", "it was paid")

    rules = {"pay": BlockingConfirmationStrategy(NeverAskPolicy(), Human())}
    journal, _ = recorded(confirmation_strategies=rules)
    begun = [one.kind == "ToolStarted" and one.data["ref"] == [1, 0] for one in entries_of(journal)]
    found = cut(journal, begun.index(True) + 1)

    result = agent_of(found, confirmation_strategies=rules).resume("r")

    assert result.exit_reason == "text"
    assert result.messages[2].tool_call_results[0].text == "it was paid"


def test_a_tool_gets_the_same_key_each_time() -> None:
    """So that whoever does the work can tell."""
    seen: list[str] = []

    def charge(n: int, key: IdempotencyKey) -> str:
        """Charge."""
        seen.append(key)
        return "charged"

    def agent(journal: Journal) -> Agent[Any]:
        call = ChatMessage.from_assistant(tool_calls=[ToolCall("charge", {"n": 1})])
        tool = create_tool_from_function(charge, on_unknown="rerun")
        lines: list[Callable[[Sequence[ChatMessage]], Any]] = [
            lambda messages: "done" if messages[-1].tool_call_results else call
        ] * 3
        return Agent(chat_generator=ScriptedChatGenerator(*lines), tools=[tool], journal=journal)

    journal = MemoryJournal()
    agent(journal).run("go", run_id="r")
    agent(cut(journal, 3)).resume("r")

    assert len(seen) == 2
    assert len({*seen}) == 1
    assert seen[0].startswith("r/1/0/")


def test_a_breakpoint_and_the_journal_work_together() -> None:
    """A run that stopped is taken up by its id, by four processes in turn."""
    reference = whole()
    journal = MemoryJournal()
    with pytest.raises(BreakpointException):
        agent_of(journal).run("pay", run_id="r", break_point=break_every_step)
    stops, result = 0, reference
    while journal.runs()[0].status != "done":
        try:
            result = agent_of(journal).resume("r", break_point=break_every_step)
        except BreakpointException:
            stops += 1

    assert stops == 4
    assert_same(result, reference)
    assert_same(asyncio.run(agent_of(journal).resume_async("r")), reference)


def test_of_two_processes_on_one_run_one_wins() -> None:
    """The other is told, and nothing of the run is lost or doubled."""
    reference = whole()
    journal = MemoryJournal()

    def meddling(messages: Sequence[ChatMessage]) -> Any:
        if len(messages) == 1:
            agent_of(journal).resume("r", take_over=True)
        return answer(messages)

    agent = agent_of(journal, script=meddling)
    with pytest.raises(JournalConflictError, match="another process works on this run"):
        agent.run("pay", run_id="r")

    assert sorted(DONE) == ["paid 1", "paid 4"]
    assert_same(agent_of(journal).resume("r"), reference)


def test_an_id_that_is_taken_is_told_so() -> None:
    """Nobody else is at work: the run is there from before, and stays as it is."""
    journal, _ = recorded()
    before = entries_of(journal)

    with pytest.raises(
        RunExistsError, match=r"already has a run 'r', with 12 .* agent\.resume\('r'"
    ):
        agent_of(journal).run("pay", run_id="r")

    assert entries_of(journal) == before


class FullDisk(MemoryJournal):
    """A store that takes so many appends, and no more."""

    left = 0

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """Fail once the disk is full."""
        if not self.left:
            raise JournalError("no space left on the device")
        self.left -= 1
        super().append(run_id, entries, checkpoint)


def test_a_store_that_fails_loses_nothing_of_what_it_has() -> None:
    """At whichever append: a clear error, and the run goes on when there is room again."""
    reference = whole()
    for room in range(12):
        DONE.clear()
        journal = FullDisk()
        journal.left = room
        agent = agent_of(journal, on_unknown=looked_up)
        with suppress(JournalError):
            agent.run("pay", run_id="r")
        journal.left = 99
        if not journal.runs():
            continue
        assert_same(agent.resume("r"), reference)
        assert sorted(DONE) == ["paid 1", "paid 4"]


class Refusing(MemoryJournal):
    """A store that refuses one tool's result, once."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = Event()

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """Fail at the first result."""
        if entries[0].kind == "ToolReturned" and not self.refused.is_set():
            self.refused.set()
            raise JournalError("no space left on the device")
        super().append(run_id, entries, checkpoint)


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_work_under_way_is_heard_out_when_the_store_fails(colour: str) -> None:
    """Whoever goes on with the run would else do it again, while it is still being done."""
    journal, came_back, done = Refusing(), Event(), list[str]()

    def slow() -> str:
        """Be at work when the store fails."""
        journal.refused.wait(5)
        too_late = came_back.wait(0.05)
        done.append("too late" if too_late else "in time")
        return "paid"

    def quick() -> str:
        """Have a result that cannot be kept."""
        return "noted"

    calls = [ToolCall("slow", id="a"), ToolCall("quick", id="b")]
    agent = Agent(
        chat_generator=ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=calls), "done"),
        tools=[create_tool_from_function(one, on_unknown="rerun") for one in (slow, quick)],
        journal=journal,
    )
    with pytest.raises(JournalError, match="no space"):
        agent.run("go", run_id="r") if colour == "sync" else asyncio.run(
            agent.run_async("go", run_id="r")
        )
    came_back.set()

    assert done == ["in time"]
    assert agent.resume("r").text == "done"
    assert done == ["in time"]


def test_an_agent_with_other_rules_is_told_where_it_parts() -> None:
    """In place of going on with another run than the stored one."""
    journal, _ = recorded()
    changed = agent_of(journal, max_agent_steps=1)

    with pytest.raises(AgentChangedError, match=r"entry 5 .* left the run at '2 Thinking"):
        changed.resume("r")


@tool(name="pay")
def pay_by_name(name: str) -> str:
    """Pay."""
    return name


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({}, {"confirmation_strategies": {"pay": AlwaysAskPolicy()}}, "was clear, and is guarded"),
        ({"confirmation_strategies": {"pay": AlwaysAskPolicy()}}, {}, "rule, and is clear now"),
        ({}, {"tools": [pay_by_name]}, "a call of 'pay' ends at once now: "),
        ({}, {"tools": []}, "it has no tool 'pay'"),
        ({}, {"max_agent_steps": 1}, "the run would have ended there, by an exit condition or a "),
        ({"max_agent_steps": 1}, {}, "the run had ended there, by an exit condition or a limit"),
    ],
)
def test_it_is_told_in_what_it_differs(
    before: dict[str, Any], now: dict[str, Any], told: str
) -> None:
    """As far as it shows: tools, confirmation rules, ends."""

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    def agent(**options: Any) -> Agent[Any]:
        model = ScriptedChatGenerator(ToolCall("pay", {"amount": 3}), "done")
        parts: dict[str, Any] = {"chat_generator": model, "tools": [pay], "journal": journal}
        return Agent(**{**parts, **options})

    journal = MemoryJournal()
    with suppress(HITLBreakpointException):
        agent(**before).run("pay", run_id="r")
    with pytest.raises(AgentChangedError, match=told):
        agent(**now).resume("r")


def test_secrets_of_the_generator_stay_out_of_the_journal() -> None:
    """Only what happened is written down, not what the agent is made of."""
    journal = MemoryJournal()
    agent = agent_of(journal)
    agent.chat_generator.api_key = "sk-secret"  # type: ignore[union-attr]  # as some have
    agent.run("pay", run_id="r")

    assert "sk-secret" not in repr([entry.text for entry in entries_of(journal)])


def test_a_run_that_is_not_there_is_an_error() -> None:
    """As is an agent without a journal."""
    with pytest.raises(RunNotFoundError, match="no run 'r'"):
        agent_of(MemoryJournal()).resume("r")
    with pytest.raises(ValueError, match="has no journal"):
        agent_of().resume("r")


def test_two_hundred_turns_take_little_room_and_time(tmp_path: Path) -> None:
    """Storage grows by what is new: far from each turn storing the whole run again."""
    turns = 200

    def busy(messages: Sequence[ChatMessage]) -> Any:
        turn = sum(1 for message in messages if message.tool_calls)
        call = ToolCall("read", {"n": turn}, f"c{turn}")
        return ChatMessage.from_assistant(tool_calls=[call]) if turn < turns else "done"

    def read(n: int) -> str:
        """Read."""
        return str(n % 10) * 1000

    agent = Agent(
        chat_generator=ScriptedChatGenerator(*[busy] * (turns + 1)),
        tools=[create_tool_from_function(read)],
        max_agent_steps=turns + 1,
        journal=SQLiteJournal(tmp_path / "runs.db"),
    )

    agent.run("go", run_id="r")

    size = sum(path.stat().st_size for path in tmp_path.iterdir() if "-shm" not in path.name)
    assert agent.resume("r").step_count == turns + 1
    assert size < 5_000_000


def test_a_run_whose_open_call_needs_a_missing_tool_is_refused() -> None:
    """The tool is named, and nothing is done."""
    journal, _ = recorded()
    kinds = [entry.kind for entry in entries_of(journal)]
    found = cut(journal, kinds.index("ModelReplied") + 1)
    poorer = Agent(chat_generator=ScriptedChatGenerator(), state_schema=Ledger, journal=found)

    with pytest.raises(AgentChangedError, match="it has no tool 'pay', 'note'"):
        poorer.resume("r")


@pytest.mark.parametrize("every", [None, 1], ids=["from the start", "from a checkpoint"])
def test_a_run_of_an_engine_is_resumed_by_nobody_else(
    every: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But where somebody says that the engine has lost it; what has ended gives its result."""
    if every is not None:
        monkeypatch.setattr(recording, "ENTRIES", every)
    journal = MemoryJournal()
    script = ScriptedChatGenerator(ToolCall("pay", {"n": 1}), "Done.", "Done.")
    agent = Agent(
        chat_generator=script, tools=[create_tool_from_function(pay)], journal=journal, name="it"
    )
    engine = evolve(agent.assembly, engine="Temporal")

    def has_paid(run: Any, effect: object) -> bool:
        return len(run.messages) > 2

    request: RunRequest[Any] = RunRequest("go", has_paid, None, None, None, None, "r", {}, None)
    at_once(engine.begin(request, None)).go(None, raises=False)
    assert bool(journal.checkpoints("r")) is (every is not None)

    with pytest.raises(RunOfEngineError, match="Temporal"):
        agent.resume("r")
    with pytest.raises(RunOfEngineError, match="Temporal"):
        asyncio.run(agent.resume_async("r", wait=60))
    assert agent.resume("r", take_over=True).text == "Done."
    assert agent.resume("r").text == "Done."


def test_a_run_of_an_engine_that_a_worker_drives_is_no_busy_one() -> None:
    """To wait for that process, or to take the run from it, would be of no use."""
    journal = MemoryJournal()
    agent = Agent(chat_generator=ScriptedChatGenerator("Done."), journal=journal, name="it")
    engine = evolve(agent.assembly, engine="DBOS")
    request: RunRequest[Any] = RunRequest("go", None, None, None, None, None, "r", {}, None)
    handle = at_once(engine.begin(request, None))

    with pytest.raises(RunOfEngineError, match="DBOS"):
        agent.resume("r")
    asyncio.run(handle.leave_async())


@pytest.mark.parametrize("journal", [MemoryJournal(), None], ids=["kept", "not kept"])
def test_ctrl_c_says_how_to_go_on(journal: MemoryJournal | None) -> None:
    """In a note below its traceback, each time; where nothing is kept there is no way."""

    def stop(*asked: object) -> str:
        raise KeyboardInterrupt

    agent = Agent(chat_generator=ScriptedChatGenerator(stop), journal=journal)
    with pytest.raises(KeyboardInterrupt) as stopped:
        agent.run("Hi", run_id="r-1")

    way = "nothing is lost: agent.resume('r-1') goes on with the run"
    assert getattr(stopped.value, "__notes__", []) == ([way] if journal else [])
