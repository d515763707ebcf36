"""Jobs: an agent whose every effect is performed elsewhere comes to what it comes to at home."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from detent import (
    NEVER_RAN,
    Agent,
    AgentTool,
    Appended,
    AskAbove,
    ChatMessage,
    HITLBreakpointException,
    IdempotencyKey,
    MemoryJournal,
    Runs,
    ScriptedChatGenerator,
    StoredDataError,
    ToolCall,
    TypedState,
    WiringError,
    tool,
)
from detent.hosts import UnknownAgentError
from detent.machine import (
    AgentChangedError,
    ManualClock,
    RunTool,
    ToolLost,
    ToolStarted,
    due,
    make_job,
    match_decision,
    perform_job,
    perform_job_async,
    report_from_json,
    run_from_json,
    run_to_json,
    start,
    step,
)
from detent.testing import When


class Notes(TypedState):
    """What the helper has written down."""

    notes = Appended[str]()


@tool(outputs_to_state={"notes": {}})
def note(text: str) -> list[str]:
    """Write something down."""
    return [text]


def look_up(arguments: object, key: IdempotencyKey) -> object:
    """Nobody has paid."""
    return NEVER_RAN


@tool(on_unknown=look_up)
def pay(euros: int) -> str:
    """Pay."""
    return f"paid {euros}"


def helper_says(messages: Any) -> Any:
    """It writes twice, and is done."""
    done = any(message.tool_call_results for message in messages)
    return "noted" if done else [ToolCall("note", {"text": text}) for text in "ab"]


def main_says(messages: Any) -> Any:
    """It has somebody help and pays, and is done."""
    if any(message.tool_call_results for message in messages):
        return "done"
    return [ToolCall("helper", {"task": "go"}), ToolCall("pay", {"euros": 5})]


def scripted(says: Any) -> ScriptedChatGenerator:
    """The same in every process."""

    def answer(messages: Any) -> Any:
        said = says(messages)
        is_text = isinstance(said, str)
        return said if is_text else ChatMessage.from_assistant(tool_calls=said)

    return ScriptedChatGenerator(When(lambda _: True, answer))


def make_agents() -> dict[str, Agent[Any, Any]]:
    """As each process makes them."""
    helper = Agent(chat_generator=scripted(helper_says), tools=[note], state_schema=Notes)
    tools = [AgentTool(helper, name="helper", description="Helps."), pay]
    rules = {"pay": AskAbove("euros", 50)}
    return {
        "main": Agent(
            chat_generator=scripted(main_says), tools=tools, confirmation_strategies=rules
        )
    }


def elsewhere(job: str) -> str:
    """What a worker does with a text, and answers."""
    return json.dumps(perform_job(make_agents(), json.loads(job)))


def driven(work: Any) -> Any:
    """A run all of whose effects are performed by `work`, from text to text."""
    handle = make_agents()["main"].begin("go", run_id="r")
    session, keys = handle.session, []
    while effects := session.take():
        for effect in effects:
            job = json.dumps(make_job("main", session.spec, session.run, effect))
            keys.append(effect.key.to_text())
            session.land(effect, report_from_json(session.spec, effect, json.loads(work(job))))
    return handle.result(), keys


def test_a_run_whose_effects_are_performed_elsewhere_is_the_same() -> None:
    """Judges, tools and models, also those of an agent inside, with what its tools write."""
    result, keys = driven(elsewhere)
    assert result.messages == make_agents()["main"].run("go").messages
    assert {key.split("/")[0] for key in keys} == {"model", "judge", "tool"}
    assert "tool/1/1/1@1.0.helper" in keys


def test_another_process_performs_a_job() -> None:
    """All that it needs is text, and the agents."""
    root = Path(__file__).resolve().parents[3]
    code = "import sys; from tests.adapters.hosts import test_jobs as here; "
    code += "print(here.elsewhere(sys.stdin.read()))"

    def work(job: str) -> str:
        path = f"import sys; sys.path[:0] = [{str(root)!r}, {str(root / 'src')!r}]; "
        done = subprocess.run(
            [sys.executable, "-c", path + code],
            input=job,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    agent = make_agents()["main"]
    run = start(agent.spec, [ChatMessage.from_user("go")], run_id="r")
    (effect,) = due(agent.spec, run)
    report = json.loads(work(json.dumps(make_job("main", agent.spec, run, effect))))
    event = report_from_json(agent.spec, effect, report)
    assert event is not None
    run = step(agent.spec, run, event)
    assert [one.key.to_text() for one in due(agent.spec, run)] == ["judge/1/1/1", "tool/1/0/1"]


def test_a_lost_call_is_looked_up_elsewhere() -> None:
    """As an engine does it that says of one call that its worker is gone."""
    agent = make_agents()["main"]
    spec = agent.spec
    run = start(spec, [ChatMessage.from_user("go")], run_id="r")

    def performed(kind: str) -> Any:
        effect = next(one for one in due(spec, run) if one.key.kind == kind and not one.path)
        report = perform_job(make_agents(), make_job("main", spec, run, effect))
        event = report_from_json(spec, effect, report)
        assert event is not None
        return step(spec, run, event)

    for kind in ("model", "judge"):
        run = performed(kind)
    effect = next(one for one in due(spec, run) if one.key.to_text() == "tool/1/1/1")
    assert isinstance(effect, RunTool)
    run = step(spec, run, ToolStarted(effect.ref, effect.attempt))
    run = step(spec, run, ToolLost(effect.ref, effect.attempt, "a worker"))
    run = performed("reconcile")
    assert "tool/1/1/2" in [one.key.to_text() for one in due(spec, run)]


def test_a_decision_is_matched_to_its_question_by_value() -> None:
    """What counts is an event, what does not a refusal; nothing is raised for either."""
    rules, journal = {"pay": AskAbove("euros", 1)}, MemoryJournal()
    agent = make_agents()["main"].evolve(confirmation_strategies=rules, journal=journal)
    with pytest.raises(HITLBreakpointException) as stopped:
        agent.run("go", run_id="r")
    (call,) = stopped.value.pending
    spec = agent.spec
    stored = json.dumps(run_to_json(spec, Runs(journal, spec).at("r")))
    run = run_from_json(spec, json.loads(stored))
    matched = match_decision(spec, run, call.confirm(by="Ada"), at=7.0)
    run = step(spec, run, matched.unwrap())
    assert [one.key.kind for one in due(spec, run)] == ["tool"]
    refused = match_decision(spec, run, call.confirm(by="Ada"), at=8.0)
    assert refused.failure().why == "repeated"


def test_a_worker_is_told_of_an_agent_that_it_has_not_or_has_otherwise() -> None:
    """Before it performs anything."""
    agent = make_agents()["main"]
    run = start(agent.spec, [ChatMessage.from_user("go")], run_id="r")
    job = make_job("main", agent.spec, run, due(agent.spec, run)[0])
    others = {"main": agent.evolve(max_agent_steps=3)}
    for agents, error in (({}, UnknownAgentError), (others, AgentChangedError)):
        with pytest.raises(error):
            perform_job(agents, job)
        with pytest.raises(error):
            asyncio.run(perform_job_async(agents, job))
    with pytest.raises(StoredDataError, match="this is no job"):
        perform_job({"main": agent}, {"agent": "main"})
    report = asyncio.run(perform_job_async({"main": agent}, job))
    assert report == perform_job({"main": agent}, job)


def test_an_agent_that_has_evolved_leaves_the_first_one_as_it_was() -> None:
    """What is named is another part; all else is the same."""
    first = make_agents()["main"]
    journal, clock = MemoryJournal(), ManualClock()
    second = first.evolve(journal=journal, clock=clock, tools=[pay], confirmation_strategies={})
    assert second.assembly.journal is journal
    assert second.assembly.clock is clock
    assert list(second.spec.tools) == ["pay"]
    assert second.chat_generator is first.chat_generator
    assert first.assembly.journal is None
    assert list(first.spec.tools) == ["helper", "pay"]
    third = second.evolve(journal=None, chat_generator=ScriptedChatGenerator("x"))
    assert third.assembly.journal is None
    assert third.run("hi").text == "x"


def test_what_somebody_adds_to_a_list_later_is_no_part_of_an_agent_like_it() -> None:
    """Its tools are those that it was made with."""
    tools: list[Any] = [pay]
    agent = Agent(chat_generator=ScriptedChatGenerator("x"), tools=tools)
    tools.append(note)
    assert list(agent.evolve(name="other").spec.tools) == ["pay"]


def test_an_agent_does_not_evolve_into_what_does_not_fit() -> None:
    """It is found as in an agent that is made so."""
    agent = make_agents()["main"]
    with pytest.raises(WiringError, match="pay"):
        agent.evolve(tools=[note])
    wrong: dict[str, Any] = {"state_schema": {"a": {"type": int}}}
    with pytest.raises(TypeError, match="evolve keeps state_schema"):
        agent.evolve(**wrong)
    wrong = {"jurnal": None}
    with pytest.raises(TypeError, match="did you mean journal="):
        agent.evolve(**wrong)
