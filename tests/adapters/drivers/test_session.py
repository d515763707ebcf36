"""The session: what a loop is given to do, and what it may bring back."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from detent import (
    AgentSpec,
    Ask,
    AskHuman,
    CallRef,
    CancelRequested,
    ChatMessage,
    ChatReply,
    Confirmed,
    Effect,
    Event,
    FrozenDict,
    HumanDecided,
    Judge,
    Judged,
    Limits,
    ModelReplied,
    Modified,
    Run,
    RunTool,
    Session,
    State,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    ToolReturned,
    ToolStarted,
    WaitUntil,
    due,
    start,
)
from detent.core.tools import by_name

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}}
SPEC = AgentSpec(
    State({}),
    by_name([Tool("note", "", NUMBER, print), Tool("pay", "", NUMBER, print)]),
    policies=FrozenDict({"pay": lambda call, tool, run: Ask("money")}),
)
START = start(SPEC, [ChatMessage.from_user("hello")], run_id="r")


def calling(*names: str) -> ModelReplied:
    """The model calls these tools."""
    calls = [ToolCall(name, {"n": 1}, str(place)) for place, name in enumerate(names)]
    return ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=calls)))


def session_after(event: Event) -> Session[State]:
    """A session whose model has answered, and whose policies have been asked."""
    session = Session(SPEC, START)
    (asked,) = session.take()
    session.land(asked, event)
    while questions := [one for one in due(SPEC, session.run) if isinstance(one, Judge)]:
        session.feed(*(Judged(one.ref, Ask("money")) for one in questions))
    return session


def returned(effect: Effect) -> ToolReturned:
    assert isinstance(effect, RunTool)
    return ToolReturned(effect.ref, effect.attempt, ToolResult("done"))


def confirmed(effect: Effect) -> HumanDecided:
    assert isinstance(effect, AskHuman)
    return HumanDecided(effect.ref, effect.digest, Confirmed())


def test_an_effect_is_given_out_once() -> None:
    """While it is under way it is not offered again."""
    session = Session(SPEC, START)

    (asked,) = session.take()

    assert session.take() == []
    assert session.under_way == {asked.key: asked}


def test_a_tool_is_recorded_as_started_before_anybody_can_run_it() -> None:
    """The intent comes before the deed."""
    events: list[Event] = []
    session = Session(SPEC, START, observers=[lambda before, event, after: events.append(event)])
    session.land(session.take()[0], calling("note"))

    (tool,) = session.take()

    assert isinstance(tool, RunTool)
    assert events == [calling("note"), ToolStarted(tool.ref, 1)]


def test_observers_see_the_run_before_and_after() -> None:
    """Every event, those from outside too, and those that change nothing."""
    seen: list[tuple[Run[Any], Event, Run[Any]]] = []
    session = Session(
        SPEC, START, observers=[lambda before, event, after: seen.append((before, event, after))]
    )

    session.feed(CancelRequested("enough"))
    session.feed(CancelRequested("again"))

    assert seen == [
        (START, CancelRequested("enough"), session.run),
        (session.run, CancelRequested("again"), session.run),
    ]


def test_what_is_left_unpaid_is_offered_again_to_the_next_loop() -> None:
    """Not to this one; and the run is as it was."""
    session = session_after(calling("pay"))
    (human,) = session.take()
    session.land(human, None)
    assert session.take() == []
    assert session.under_way == {}

    session.open()

    assert session.take() == [human]


def test_a_decision_that_does_not_fit_is_not_asked_for_in_a_circle() -> None:
    """A UI that gives wrong arguments time and again would hold the loop for ever."""
    session = session_after(calling("pay"))
    (human,) = session.take()
    assert isinstance(human, AskHuman)
    wrong = HumanDecided(human.ref, human.digest, Modified({"n": "all"}))

    session.land(human, wrong)

    assert session.take() == []
    session.feed(confirmed(human))
    assert [effect.key.kind for effect in session.take()] == ["tool"]


def test_an_effect_that_was_put_back_is_offered_again() -> None:
    """As if it had not been taken."""
    session = session_after(calling("pay"))
    (human,) = session.take()

    session.put_back(human)

    assert session.take() == [human]


def test_what_is_no_longer_owed_is_no_longer_under_way() -> None:
    """And what comes of it later is not heard."""
    session = session_after(calling("note"))
    (tool,) = session.take()

    session.feed(CancelRequested("enough"))

    assert session.take() == []
    assert session.under_way == {}
    ended = session.run
    session.land(tool, returned(tool))
    assert session.run is ended


def test_a_settled_effect_is_under_way_no_more_wherever_its_event_came_from() -> None:
    """A decision may arrive by another road than the one that was asked."""
    session = session_after(calling("pay"))
    (human,) = session.take()

    session.feed(confirmed(human))
    (tool,) = session.take()

    assert session.under_way == {tool.key: tool}


def test_what_another_session_was_given_does_not_land_here() -> None:
    """Two runs have effects of the same key; only one's own count."""
    ours, theirs = Session(SPEC, START), Session(SPEC, START)
    (asked,) = ours.take()
    (foreign,) = theirs.take()
    assert foreign.key == asked.key

    ours.land(foreign, calling("note"))

    assert ours.run == START
    assert ours.under_way == {asked.key: asked}


def test_an_exception_is_kept_and_nothing_new_is_begun() -> None:
    """What is under way may still land; then the exception is raised."""
    session = session_after(calling("pay", "pay", "note"))
    first, second, tool = session.take()
    broken = EOFError("nobody there")
    session.land(first, broken)
    session.land(second, confirmed(second))
    assert session.take() == []

    session.land(tool, returned(tool))

    with pytest.raises(EOFError) as caught:
        session.close()
    assert caught.value is broken
    session.open()
    assert [effect.key.kind for effect in session.take()] == ["human", "tool"]


@pytest.mark.parametrize("calls", [("pay",), ("pay", "note")])
def test_nobody_waits_for_the_end_of_a_runs_time_alone(calls: tuple[str, ...]) -> None:
    """A run that waits for a human comes back at once; what else is under way is waited for."""
    spec = evolve(SPEC, limits=Limits(max_seconds=60))
    session = Session(spec, start(spec, [ChatMessage.from_user("hello")], run_id="r", at=0))
    ask, end = session.take()
    assert end == WaitUntil(CallRef(0, 0), 0, "limit", 60)
    session.land(ask, calling(*calls))

    human, *tools = session.take()
    session.land(human, None)
    assert session.take() == []
    assert list(session.under_way) == [one.key for one in (end, *tools) if tools]
    for tool in tools:
        session.land(tool, returned(tool))

    assert session.take() == []
    assert session.under_way == {}


def test_a_closed_session_gives_its_run() -> None:
    """As far as it has come."""
    assert Session(SPEC, START).close().phase == Thinking()
