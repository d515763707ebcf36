"""What the strategies draw is valid, and of every kind."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from random import Random
from types import NoneType
from typing import Any, TypeVar, get_args

import pytest
from attrs import evolve
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import SearchStrategy

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    AskOncePolicy,
    BlockingConfirmationStrategy,
    ChatMessage,
    Confirmed,
    Limits,
    Reply,
    State,
    tool,
)
from detent.core.tools.invocation import argument_faults
from detent.machine import (
    AgentSpec,
    AnswerRejected,
    Done,
    Event,
    Exhausted,
    GrantRevoked,
    HappenedInside,
    Outcome,
    Resumed,
    Run,
    due,
    step,
)
from detent.testing import (
    Schedule,
    ScriptedChatGenerator,
    ScriptedHuman,
    agents,
    given_run,
    schedules,
    scripts,
)

T = TypeVar("T")


@tool
def pay(amount: int, to: str, *, note: str | None = None) -> dict[str, int]:
    """Pay somebody."""
    return {"paid": amount}


@tool(timeout_s=5, retries=1, on_unknown=lambda arguments, key: None)
def look(places: list[str]) -> str:
    """Look somewhere."""
    return ", ".join(places)


def agent_with(*script: Any) -> Agent[State]:
    """An agent that asks before it pays."""
    human = ScriptedHuman(by_tool={"pay": Confirmed()})
    return Agent(
        chat_generator=ScriptedChatGenerator(*script),
        tools=[pay, look],
        confirmation_strategies={"pay": BlockingConfirmationStrategy(AlwaysAskPolicy(), human)},
    )


AGENT = agent_with()


@given(scripts(AGENT))
def test_a_script_fits_the_agent(script: tuple[ChatMessage, ...]) -> None:
    """All calls are ones that the agent carries out, and it comes to the end."""
    for message in script:
        for call in message.tool_calls:
            assert argument_faults(call, AGENT.spec.tools[call.tool_name]) == []
    agent = agent_with(*script)

    result = agent.run("go")

    assert result.exit_reason == "text"
    assert not any(one.error for said in result.messages for one in said.tool_call_results)


def drawn(strategy: SearchStrategy[T], fits: Callable[[T], bool]) -> T:
    """The first that fits, as it comes."""
    calm = settings(
        max_examples=10_000, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow]
    )
    return find(strategy, fits, settings=calm, random=Random(1))  # noqa: S311 - the same each time


def test_scripts_are_of_all_lengths() -> None:
    """With and without calls, with several in a turn; without tools there is only an answer."""
    drawn(scripts(AGENT), lambda script: len(script) == 1)
    drawn(scripts(AGENT), lambda script: len(script[0].tool_calls) == 3)
    bare: AgentSpec[State] = AgentSpec(State({}))
    drawn(scripts(bare), lambda script: len(script) == 1 and not script[0].tool_calls)


@given(schedules(AGENT))
def test_a_schedule_can_happen(schedule: Schedule[State]) -> None:
    """No event is refused, and after the end only those come that a run hears then."""
    run = schedule.start
    for event in schedule.events:
        assert due(schedule.spec, run) or isinstance(event, AnswerRejected | Resumed)
        run = step(schedule.spec, run, event)
    assert run == schedule.run


def asking_a_helper() -> Agent[State]:
    """An agent that has the other one among its tools."""
    helper = AgentTool(AGENT, name="helper", description="helps")
    return Agent(chat_generator=ScriptedChatGenerator(), tools=[helper])


def remembering() -> Agent[State]:
    """An agent whose humans are asked once for all calls of a tool."""
    once = BlockingConfirmationStrategy(AskOncePolicy(), ScriptedHuman())
    return Agent(
        chat_generator=ScriptedChatGenerator(),
        tools=[pay],
        confirmation_strategies={"pay": once},
    )


AGENTS: dict[Agent[State], set[type[Any]]] = {
    AGENT: {*get_args(Event)} - {HappenedInside, GrantRevoked},
    asking_a_helper(): {HappenedInside},
    remembering(): {GrantRevoked},
}
"""Who hears what: two kinds do not come to the simple agent."""


@pytest.mark.parametrize("agent", AGENTS, ids=["simple", "asking", "remembering"])
def test_each_kind_of_event_comes_and_changes_a_run(agent: Agent[State]) -> None:
    """None is forgotten: what is left of them after thousands of schedules is named."""
    missing = set(AGENTS[agent])

    def all_have_come(schedule: Schedule[State]) -> bool:
        run = schedule.start
        for event in schedule.events:
            before, run = run, step(schedule.spec, run, event)
            if type(event) in missing and run != before:
                missing.remove(type(event))
        return not missing

    with suppress(NoSuchExample):
        drawn(schedules(agent), all_have_come)
    assert missing == set()


@pytest.mark.parametrize("outcome", [None, *get_args(Outcome)])
def test_runs_end_in_every_way(outcome: type[Any] | None) -> None:
    """And some do not end. Limits are reached where they are low."""
    spec = evolve(AGENT.spec, limits=Limits(2)) if outcome is Exhausted else AGENT.spec
    drawn(schedules(spec), lambda one: isinstance(one.run.outcome, outcome or NoneType))


@given_run(AGENT)
def test_a_run_is_given(run: Run[State]) -> None:
    """A property of whatever has happened: nothing is owed to a run that has ended."""
    assert (due(AGENT.spec, run) == ()) == isinstance(run.phase, Done)


@tool
def look_for(what: str) -> Reply | None:
    """Find it, and write down where."""
    return None


@tool
def store(what: str) -> Reply:
    """Store it."""
    return Reply("stored")


FINDER: Agent[Any] = Agent(chat_generator=ScriptedChatGenerator(), tools=[look_for, store])


@given_run(FINDER)
def test_tools_may_return_what_writes_to_the_state(run: Run[State]) -> None:
    """Which keys it writes to no type says; the model is told something."""
    assert (due(FINDER.spec, run) == ()) == isinstance(run.phase, Done)


@given(agents())
def test_agents_are_drawn(spec: AgentSpec[State]) -> None:
    """They have tools and rules."""
    assert spec.tools
    assert len(spec.policies) <= len(spec.tools)


def test_where_hypothesis_is_not_installed_it_is_said_how_to_get_it() -> None:
    """The rest of `detent.testing` needs none of it."""
    code = (
        "import sys; sys.modules['hypothesis'] = None; import detent.testing as testing; "
        "testing.spy; testing.given_run"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("ImportError: given_run, agents, scripts and schedules need hypothesis")
    assert last.endswith("pip install hypothesis")
