"""Shrinking finds what matters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    BlockingConfirmationStrategy,
    ChatMessage,
    Confirmed,
    MemoryJournal,
    ToolCall,
    tool,
)
from detent.adapters.testing.simulation.nested_runs import innermost, slots_in
from detent.adapters.testing.simulation.scenarios import Scenario, scenario_of
from detent.adapters.testing.simulation.shrinking import fewest, shrink
from detent.core.run.run import Running
from detent.machine import CallRef, Cancelled, CancelRequested, Run
from detent.testing import ScriptedChatGenerator, ScriptedHuman, transcript


@given(st.sets(st.integers(0, 60), max_size=5))
def test_what_matters_is_left(wanted: set[int]) -> None:
    """All of what makes it fail, in order, and nothing else."""
    assert fewest(range(61), lambda items: wanted <= set(items)) == tuple(sorted(wanted))


def test_no_single_item_can_be_left_out() -> None:
    """Also where what matters is not the same in every part."""

    def fails(items: Sequence[int]) -> bool:
        return sum(items) >= 10

    left = fewest([1, 2, 3, 4, 5, 6], fails)

    assert fails(left)
    assert not any(fails(left[:at] + left[at + 1 :]) for at in range(len(left)))


@tool
def look(city: str) -> str:
    """Look up the weather."""
    return f"{city}: rain"


@tool
def pay(amount: int) -> str:
    """Pay."""
    if amount == 13:
        raise ValueError("no luck")
    return f"paid {amount}"


def calls(*made: ToolCall) -> ChatMessage:
    """What the model says when it makes calls."""
    return ChatMessage.from_assistant(tool_calls=made)


def agent_in(journal: MemoryJournal) -> Agent[Any]:
    """An agent that has a long day, in which one payment fails."""
    model = ScriptedChatGenerator(
        calls(ToolCall("look", {"city": "Oslo"}), ToolCall("look", {"city": "Rome"})),
        calls(
            ToolCall("look", {"city": "Bonn"}),
            ToolCall("pay", {"amount": 5}),
            ToolCall("pay", {"amount": 7}),
        ),
        calls(ToolCall("pay", {"amount": 13}), ToolCall("pay", {"amount": 1})),
        calls(ToolCall("look", {"city": "Kiel"})),
        "That was all.",
    )
    human = BlockingConfirmationStrategy(AlwaysAskPolicy(), ScriptedHuman(*[Confirmed()] * 4))
    return Agent(
        chat_generator=model,
        tools=[look, pay],
        confirmation_strategies={"pay": human},
        journal=journal,
    )


def has_failed(run: Run[Any]) -> bool:
    """Whether the model was told that a payment has failed."""
    answers = [one for message in run.messages for one in message.tool_call_results]
    return any("no luck" in one.text for one in answers)


def kept_scenario() -> Scenario[Any]:
    """What the journal of such a day says."""
    journal = MemoryJournal()
    agent = agent_in(journal)
    agent.run("Go.", run_id="day")
    return scenario_of(journal, agent.spec, "day")


def test_a_story_is_what_the_journal_says() -> None:
    """It can be played, told and kept as text."""
    scenario = kept_scenario()

    assert scenario.play().outcome is not None
    assert len(list(scenario.runs())) == len(scenario.events) + 1
    assert Scenario.from_json(scenario.spec, scenario.to_json()) == scenario
    assert "ToolRaised" in str(scenario)
    assert "assistant  That was all." in str(scenario)


def test_a_stored_run_that_fails_is_made_small() -> None:
    """One turn, one call, and the human's yes to it, which counts for the call as it is now."""
    scenario = kept_scenario()

    small = shrink(scenario, has_failed)

    names = [type(event).__name__ for event in small.events]
    assert len(scenario.events) > 20
    assert names == ["ModelReplied", "Judged", "HumanDecided", "ToolRaised"]
    assert has_failed(small.play())
    assert [one.call.arguments for one in list(small.runs())[1].slots] == [{"amount": 13}]
    assert shrink(small, has_failed) == small


def look_at(*cities: str) -> list[ToolCall]:
    """Calls that do not matter."""
    return [ToolCall("look", {"city": city}) for city in cities]


def agent_two_deep(journal: MemoryJournal) -> Agent[Any]:
    """An agent whose helper has a helper, which pays; a human says yes each time."""
    human = BlockingConfirmationStrategy(AlwaysAskPolicy(), ScriptedHuman(*[Confirmed()] * 3))
    pays = [ToolCall("pay", {"amount": amount}) for amount in (5, 13, 7)]
    clerk = Agent(
        chat_generator=ScriptedChatGenerator(
            calls(*look_at("Oslo"), pays[0]), calls(*look_at("Rome"), *pays[1:]), "paid"
        ),
        tools=[look, pay],
        confirmation_strategies={"pay": human},
    )
    ask = ToolCall("clerk", {"task": "Pay."})
    desk = Agent(
        chat_generator=ScriptedChatGenerator(
            calls(*look_at("Bonn")), calls(*look_at("Kiel"), ask, *look_at("Bern")), "done"
        ),
        tools=[look, AgentTool(clerk, name="clerk", description="pays")],
    )
    ask = ToolCall("desk", {"task": "Have it paid."})
    return Agent(
        chat_generator=ScriptedChatGenerator(
            calls(*look_at("Graz")), calls(*look_at("Linz"), ask), calls(*look_at("Wien")), "bye"
        ),
        tools=[look, AgentTool(desk, name="desk", description="has things paid")],
        journal=journal,
    )


def test_what_does_not_matter_is_left_out_of_agents_inside_too() -> None:
    """Each of them has one turn with one call left, and the human's yes counts for that."""
    journal = MemoryJournal()
    agent = agent_two_deep(journal)
    agent.run("Go.", run_id="day")
    scenario = scenario_of(journal, agent.spec, "day")

    def is_begun(run: Run[Any]) -> bool:
        return any(
            slot.call.arguments.get("amount") == 13 and isinstance(slot.status, Running)
            for _, slot in slots_in(run)
        )

    small = shrink(scenario, is_begun)

    assert len(scenario.events) > 35
    names = ["ModelReplied", "ToolStarted"]
    assert [type(innermost(one)).__name__ for one in small.events] == [
        *(*names, *names),
        *("ModelReplied", "Judged", "HumanDecided", "ToolStarted"),
    ]
    assert [slot.ref for _, slot in slots_in(small.play())] == [CallRef(1, 0)] * 3
    told = transcript(small.play()).splitlines()
    assert [line.strip() for line in told if "call  " in line] == [
        "call       desk(task='Have it paid.') [Delegated]",
        "call       clerk(task='Pay.') [Delegated]",
        "call       pay(amount=13) [Running]",
    ]
    assert Scenario.from_json(small.spec, small.to_json()) == small


def test_a_failure_at_the_start_needs_no_event() -> None:
    """Nothing has to happen for it."""
    assert shrink(kept_scenario(), lambda run: True).events == ()


def test_a_story_without_a_failure_is_refused() -> None:
    """Most likely the predicate is wrong."""
    with pytest.raises(ValueError, match="no run of this scenario fails"):
        shrink(kept_scenario(), lambda run: False)


def test_events_without_a_place_are_left_where_they_are() -> None:
    """A cancelled run, for one."""
    scenario = kept_scenario()
    ends = [*scenario.events[:-3], CancelRequested("enough")]
    cancelled = Scenario(scenario.spec, scenario.start, tuple(ends))

    small = shrink(cancelled, lambda run: isinstance(run.outcome, Cancelled) and has_failed(run))

    assert [type(event).__name__ for event in small.events][-1] == "CancelRequested"
    assert len(small.events) == 5
