"""The runs of a journal: at any entry, from any entry, and no more."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from attrs import evolve

from detent import (
    NEVER_RAN,
    Agent,
    AgentTool,
    ChatMessage,
    IdempotencyKey,
    Limits,
    ScriptedChatGenerator,
    StateError,
    Tool,
    ToolBreakpoint,
    ToolCall,
    tool,
)
from detent.adapters.drivers import recording
from detent.adapters.drivers.history import Runs
from detent.adapters.drivers.loading import Loaded
from detent.adapters.drivers.recording import Recorder
from detent.adapters.drivers.steps import at_once
from detent.adapters.journals.memory import MemoryJournal
from detent.adapters.system.clocks import ManualClock
from detent.approvals import Allow
from detent.core.errors import AgentChangedError, StoredDataError, UnstorableError
from detent.core.run.approval import Verdict
from detent.core.tools.idempotency import NO_KEY
from detent.journals import RunNotFoundError
from detent.machine import EffectPerformer, FrozenDict, FunctionToolExecutor, Session, drive, start
from detent.ports.journal import Entry, Journal


@tool(outputs_to_state={"seen": {}})
def look(n: int) -> int:
    """Look."""
    return n


def answer(messages: Sequence[ChatMessage]) -> ChatMessage | str:
    """Look twice, then say what was seen."""
    seen = sum(1 for message in messages if message.tool_calls)
    if seen == 2:
        return "done"
    return ChatMessage.from_assistant(tool_calls=[ToolCall("look", {"n": seen}, f"c{seen}")])


def agent_of(*script: Any, journal: Journal | None = None) -> Agent[Any]:
    return Agent(
        chat_generator=ScriptedChatGenerator(*(script or [answer] * 9)),
        tools=[look],
        state_schema={"seen": {"type": list[int]}},
        journal=journal,
    )


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs[Any]:
    """The runs of a journal with one run, which has checkpoints."""
    monkeypatch.setattr(recording, "ENTRIES", 3)
    journal = MemoryJournal()
    agent = agent_of(journal=journal)
    agent.run("look", run_id="r")
    return Runs(journal, agent.spec)


def test_a_run_is_seen_as_it_was_after_each_entry(runs: Runs[Any]) -> None:
    """With a checkpoint and without."""
    entries = list(runs.journal.read("r"))
    seen = [len(runs.at("r", length).messages) for length in range(1, len(entries) + 1)]

    assert seen == [1, 1, 1, 3, 3, 3, 5, 6]
    assert runs.at("r").state.get("seen") == [0, 1]


def test_a_run_made_again_of_its_events_is_the_same_run(runs: Runs[Any]) -> None:
    """With checkpoints and without."""
    assert len(list(runs.journal.checkpoints("r"))) > 1

    assert runs.replay("r") == runs.at("r")


def test_the_entries_of_a_run_are_read_once(runs: Runs[Any]) -> None:
    """There may be many: the first one is not read apart from the others."""
    asked: list[tuple[str, int]] = []

    class Counting(MemoryJournal):
        def read(self, run_id: str, start: int = 0) -> Sequence[Entry]:
            asked.append((run_id, start))
            return list(runs.journal.read(run_id, start))

    assert Runs(Counting(), runs.spec).replay("r") == runs.replay("r")
    assert asked == [("r", 0)]


def test_no_policy_is_asked_when_a_run_is_made_again() -> None:
    """Also where it would now say something else."""
    verdicts: list[Verdict] = [Allow(), Allow()]
    spec = evolve(agent_of().spec, policies=FrozenDict({"look": lambda *asked: verdicts.pop()}))
    journal = MemoryJournal()
    run = start(spec, [ChatMessage.from_user("look")], run_id="r")
    recorder = Recorder(journal, spec, ManualClock(0.0), Loaded(run, 0))
    at_once(recorder.begin(run))
    session = Session(spec, run, record=recorder)
    performer = EffectPerformer(ScriptedChatGenerator(*[answer] * 9), FunctionToolExecutor())

    ended = drive(session, performer.perform)

    assert [entry.kind for entry in journal.read("r")].count("Judged") == 2
    assert verdicts == []
    assert Runs(journal, spec).replay("r") == ended


@pytest.mark.parametrize(("run_id", "until"), [("r", None), ("s", None), ("s", 3)])
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (None, "its state has the key 'seen': list\\[int\\]; this agent has messages"),
        (
            list[str],
            "its state has the key 'seen' as list\\[int\\]; this agent has it as list\\[str",
        ),
    ],
)
def test_a_state_that_another_release_kept_is_no_damage(
    runs: Runs[Any], kind: Any, text: str, until: int | None, run_id: str
) -> None:
    """Whatever has kept the value: the begin of a run, an event, a checkpoint."""
    agent_of(journal=runs.journal).run("look", run_id="s", seen=[1])
    anew = Tool("look", look.description, look.parameters, print)
    schema = {"seen": {"type": kind}} if kind else {}
    other = Agent(chat_generator=ScriptedChatGenerator(), tools=[anew], state_schema=schema)
    changed = evolve(runs, spec=other.spec)
    with pytest.raises(AgentChangedError) as caught:
        changed.at(run_id, until)
    if run_id == "s":  # by its events alone, another release may well follow the first one
        with pytest.raises(AgentChangedError, match=text):
            changed.replay(run_id)
    said = str(caught.value)
    assert re.search(text, said)
    assert f"run {run_id!r} was written by an agent with other rules: " in said
    assert "Go on with the agent as it was, or begin another run" in said


def test_other_rules_are_found_out_at_the_first_difference(runs: Runs[Any]) -> None:
    """The message says which entry, what it gave and what it gives."""
    other = evolve(runs, spec=evolve(runs.spec, limits=Limits(max_agent_steps=1)))

    with pytest.raises(StoredDataError, match=r"entry 3 .*ToolReturned.* '2 Thinking"):
        other.replay("r")


def test_a_run_is_tried_again_with_another_model_and_state(runs: Runs[Any]) -> None:
    """From where it was then; the first one stays as it is."""
    before = runs.at("r")

    fork = runs.fork("r", 4, messages=[ChatMessage.from_user("stop")], seen=[7])
    result = agent_of("stopped").run(snapshot=fork)

    assert [message.text for message in result.messages[-2:]] == ["stop", "stopped"]
    assert result["seen"] == [7]
    assert result.run_id != "r"
    assert runs.at("r") == before


def test_a_fork_is_what_the_run_was(runs: Runs[Any]) -> None:
    """What comes after, and whether the run is still there, is nothing to it."""
    messages = runs.at("r", 5).messages
    fork = runs.fork("r", 5)
    runs.delete("r")

    assert fork.messages == tuple(messages)
    assert fork.run_id != "r"
    assert agent_of("stopped").run(snapshot=fork).messages[: len(messages)] == messages
    with pytest.raises(RunNotFoundError):
        runs.fork("r", 5)


def test_a_fork_goes_on_in_the_journal(runs: Runs[Any]) -> None:
    """As a snapshot, or as its text."""
    agent = agent_of("stopped", journal=runs.journal)

    direct = agent.run(snapshot=runs.fork("r", 4))
    by_text = agent_of("stopped", journal=runs.journal).run(snapshot=runs.fork("r", 4).to_json())

    assert (direct.messages, direct.state) == (by_text.messages, by_text.state)
    assert runs.replay(direct.run_id).messages == direct.messages


def test_a_fork_of_more_than_there_is_is_refused(runs: Runs[Any]) -> None:
    """It would be another one than was meant. One of nothing has the start, and one of all, all."""
    has = len([*runs.journal.read("r")])
    told = f"run 'r' has {has} entries, and not {has + 1}"
    with pytest.raises(ValueError, match=told):
        runs.fork("r", has + 1)
    assert runs.fork("r", has).messages == tuple(runs.at("r").messages)
    assert runs.fork("r", 0).messages == tuple(runs.at("r", 1).messages)


def test_what_cannot_be_stored_is_refused_at_once(runs: Runs[Any]) -> None:
    """Not when somebody looks at the fork."""
    spec = Agent(
        chat_generator=ScriptedChatGenerator(), tools=[look], state_schema={"seen": {"type": list}}
    ).spec
    with pytest.raises(UnstorableError, match="seen"):
        Runs(runs.journal, spec).fork("r", seen=[print])


def test_a_run_that_has_ended_goes_on_with_another_message(runs: Runs[Any]) -> None:
    """As a conversation does; with a journal it is a new run."""
    fork = runs.fork("r", messages=[ChatMessage.from_user("thanks")])

    result = agent_of("welcome", journal=MemoryJournal()).run(snapshot=fork)

    assert result.text == "welcome"
    assert len(result.messages) == 8


def test_nothing_can_be_said_between_a_call_and_its_answer(runs: Runs[Any]) -> None:
    """A provider would refuse such a conversation."""
    said = [ChatMessage.from_user("stop")]
    with pytest.raises(ValueError, match="calls that are not answered"):
        runs.fork("r", 2, messages=said)
    with pytest.raises(StateError):
        runs.fork("r", 4, none=1)


def test_where_nothing_can_be_said_the_nearest_places_are_named(runs: Runs[Any]) -> None:
    """Each is one where it can; behind a call that waits at the end there is none."""
    said = [ChatMessage.from_user("stop")]
    with pytest.raises(ValueError, match=r"after 2 entries .* fork it after 1 or 4 of its entries"):
        runs.fork("r", 2, messages=said)
    assert runs.fork("r", 1, messages=said).messages[-1] == said[0]
    assert runs.fork("r", 4, messages=said).messages[-1] == said[0]

    agent = agent_of(ToolCall("look", {"n": 1}), journal=MemoryJournal())
    agent.run(
        "Go", run_id="w", break_point=ToolBreakpoint("tool_invoker"), raise_at_break_point=False
    )
    waiting = Runs(agent.assembly.required_journal, agent.spec)
    with pytest.raises(ValueError, match="fork it after 1 of its entries, or without a message"):
        waiting.fork("w", messages=said)


def test_a_call_that_was_under_way_is_not_run_in_silence(runs: Runs[Any]) -> None:
    """A fork from the middle of it is like a crash there."""
    kinds = [entry.kind for entry in runs.journal.read("r")]

    result = agent_of().run(snapshot=runs.fork("r", kinds.index("ToolStarted") + 1))

    assert result.exit_reason is None
    assert "nobody knows" in result.snapshot.summary()


def test_runs_are_listed_and_deleted(runs: Runs[Any]) -> None:
    """By status, or all of them."""
    runs.journal.append("half", list(runs.journal.read("r"))[:3])
    assert {run.run_id: run.status for run in runs.list()} == {"r": "done", "half": "running"}
    assert [run.run_id for run in runs.list("running")] == ["half"]

    runs.delete("half")
    runs.delete("half")

    assert [run.run_id for run in runs.list()] == ["r"]


def test_old_runs_are_forgotten_once_they_have_ended(runs: Runs[Any]) -> None:
    """Those that have not are kept, however old."""
    (run,) = runs.journal.runs()
    half = MemoryJournal()
    half.append("half", list(runs.journal.read("r"))[:3])

    assert runs.forget(run.at) == []
    assert runs.forget(run.at + 1) == ["r"]
    assert runs.journal.runs() == []
    assert evolve(runs, journal=half).forget(run.at + 1) == []


@pytest.mark.parametrize("depth", [0, 1])
def test_a_fork_does_nothing_twice_that_was_under_way(depth: int) -> None:
    """The look-up is asked for the key that was given away, also inside an agent."""
    given, looked_up = list[str](), list[str]()

    def look_up(arguments: Mapping[str, Any], key: IdempotencyKey) -> Any:
        looked_up.append(key)
        return "charged" if key in given else NEVER_RAN

    @tool(on_unknown=look_up)
    def charge(amount: int, key: IdempotencyKey = NO_KEY) -> str:
        """Charge."""
        given.append(key)
        raise KeyboardInterrupt

    def clerk(*script: Any, **options: Any) -> Agent[Any]:
        return Agent(chat_generator=ScriptedChatGenerator(*script), **options)

    def agent(*script: Any) -> Agent[Any]:
        if not depth:
            return clerk(*script, "Done.", tools=[charge], journal=journal)
        inner = clerk(*script, "Paid.", tools=[charge])
        helper = AgentTool(inner, name="helper", description="Pays.")
        call = [ToolCall("helper", {"task": "Pay."}, "h1")] if script else []
        return clerk(*call, "Done.", tools=[helper], journal=journal)

    journal = MemoryJournal()
    with pytest.raises(KeyboardInterrupt):
        agent(ToolCall("charge", {"amount": 5}, "c1")).run("go", run_id="r")

    fork = Runs(journal, agent().spec).fork("r")
    ended = [agent().run(snapshot=fork, run_id="f"), agent().resume("r")]

    assert [result.text for result in ended] == ["Done.", "Done."]
    assert len(given) == 1
    assert looked_up == given * 2
