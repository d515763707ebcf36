"""Tools that write the same state side by side lose no update, whatever comes first."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from itertools import permutations
from threading import Condition
from typing import Any, TypeAlias

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from detent.adapters.agent.agent import Agent
from detent.adapters.testing.doubles.scripted import ScriptedChatGenerator
from detent.adapters.tools.decorator import tool
from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.chat.replies import ChatReply
from detent.core.machine.step import replay, start
from detent.core.run.events import (
    ClockTicked,
    Event,
    ModelReplied,
    ToolRaised,
    ToolReturned,
    ToolStarted,
)
from detent.core.run.refs import CallRef
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.state.keys import Write
from detent.core.state.state import State
from detent.core.tools.invocation import Invocation
from detent.core.tools.result import ToolFault, ToolResult
from detent.core.tools.retries import Retries
from detent.core.tools.tool import Tool, by_name
from detent.core.tools.wiring import Reply
from detent.ports.results import AgentResult

SCHEDULES = 400
KINDS = ("stored", "live", "lone", "replied", "later")
SCHEMA = {
    "log": {"type": list[int]},
    "total": {"type": int, "handler": lambda current, update: (current or 0) + update},
}


class Turns:
    """Lets the calls of one run go on in an order that was drawn beforehand."""

    def __init__(self, order: list[int]) -> None:
        self._left = list(order)
        self._moved = Condition()

    def wait_for(self, number: int) -> None:
        """Block until it is this call's turn; from then on it is the next one's."""
        with self._moved:
            assert self._moved.wait_for(lambda: self._left[0] == number, timeout=30)
            self._left.pop(0)
            self._moved.notify_all()


def tools_that_write(turns: Turns) -> list[Tool]:
    """One tool for each way of writing; each writes its number twice, in two turns."""

    @tool(outputs_to_state={"log": {"source": "log"}, "total": {"source": "one"}})
    def stored(number: int) -> dict[str, Any]:
        turns.wait_for(number)
        turns.wait_for(number)
        return {"log": [number, number], "one": 1}

    @tool
    def live(number: int, state: State) -> str:
        turns.wait_for(number)
        state.set("log", [number])
        turns.wait_for(number)
        state.set("log", [number])
        state.set("total", 1)
        return str(state.get("log").count(number))

    @tool
    def lone(number: int, state: State) -> State:
        turns.wait_for(number)
        state = state.set("log", [number])
        turns.wait_for(number)
        return state.set("log", [number]).set("total", 1)

    @tool
    def replied(number: int) -> Reply:
        turns.wait_for(number)
        turns.wait_for(number)
        return Reply("ok", Write("log", [number, number]), Write("total", 1))

    @tool
    async def later(number: int, state: State) -> str:
        await asyncio.to_thread(turns.wait_for, number)
        state.set("log", [number])
        await asyncio.to_thread(turns.wait_for, number)
        state.set("log", [number])
        state.set("total", 1)
        return "ok"

    return [stored, live, lone, replied, later]


def blocking(agent: Agent[State]) -> AgentResult[State]:
    return agent.run("go")


def in_a_loop(agent: Agent[State]) -> AgentResult[State]:
    return asyncio.run(agent.run_async("go"))


@pytest.mark.parametrize(("go", "first"), [(blocking, 0), (in_a_loop, 1)])
def test_no_schedule_loses_an_update(
    go: Callable[[Agent[State]], AgentResult[State]], first: int
) -> None:
    """Whatever the order in which calls of all kinds get on, each write is there, in call order."""
    for seed in range(first, SCHEDULES, 2):
        draw = random.Random(seed)  # noqa: S311 - the same schedules every time
        kinds = [draw.choice(KINDS) for _ in range(draw.randint(2, 5))]
        order = [number for number in range(len(kinds)) for _ in range(2)]
        draw.shuffle(order)
        calls = [ToolCall(kind, {"number": number}) for number, kind in enumerate(kinds)]
        model = ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=calls), "done")
        tools = tools_that_write(Turns(order))
        result = go(Agent(chat_generator=model, tools=tools, state_schema=SCHEMA))
        expected = [number for number in range(len(kinds)) for _ in range(2)]
        assert result["log"] == expected, f"schedule {seed}"
        assert result["total"] == len(kinds), f"schedule {seed}"


WRITING = [
    evolve(made, timeout_s=5, retries=Retries(1)) for made in tools_that_write(Turns([0, 0]))
]
SPEC = AgentSpec(state=State(SCHEMA), tools=by_name(WRITING))
FATES = ("done", "failed", "tried again", "timed out", "came late", "hung, then done")
"""What may come of a call."""

Later: TypeAlias = "Callable[[float], Event]"
"""An event for which it is not settled yet when it happens."""


def result_of(run: Run[State], place: int, kind: str) -> ToolResult:
    """What the call at `place` gives, after it has written its number twice."""
    invocation = Invocation(SPEC.tools[kind], run.slots[place].call, run.state)
    state: Any = invocation.arguments().get("state")
    value: object = {"log": [place, place], "one": 1}
    if state is not None:
        state.set("log", [place, place]).set("total", 1)
        value = "ok"
    elif kind == "replied":
        value = Reply("ok", Write("log", [place, place]), Write("total", 1))
    return invocation.result(value)


def course_of(run: Run[State], place: int, kind: str, fate: str) -> list[Later]:
    """All that happens to one call, in order."""
    ref = CallRef(run.turn, place)
    result = result_of(run, place, kind)

    def begins(attempt: int, *, limited: bool = False) -> Later:
        return lambda now: ToolStarted(ref, attempt, now if limited else None)

    def returns(attempt: int) -> Later:
        return lambda now: ToolReturned(ref, attempt, result)

    def raises(*, again: bool) -> Later:
        return lambda now: ToolRaised(ref, 1, ToolFault("raised", "no", again), now, 0.5)

    tried = [begins(2), returns(2)]
    hung = [begins(1, limited=True), ClockTicked, ClockTicked]
    return {
        "done": [begins(1), returns(1)],
        "failed": [begins(1), raises(again=False)],
        "tried again": [begins(1), raises(again=True), ClockTicked, *tried],
        "timed out": [*hung, begins(2, limited=True), ClockTicked],
        "came late": [*hung, *tried, returns(1)],
        "hung, then done": [*hung, *tried],
    }[fate]


def opened(kinds: list[str]) -> Run[State]:
    """A run in which the model has just made a call of each kind."""
    calls = [ToolCall(kind, {"number": place}) for place, kind in enumerate(kinds)]
    said = ChatMessage.from_assistant(tool_calls=calls)
    begun = start(SPEC, [ChatMessage.from_user("go")], run_id="r")
    return replay(SPEC, begun, [ModelReplied(1, 1, ChatReply(said))])


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(FATES)), min_size=1, max_size=5),
    st.randoms(),
)
def test_every_order_of_arrival_gives_the_same_run(
    calls: list[tuple[str, str]], draw: random.Random
) -> None:
    """Results are folded in the model's order, whatever came first and whatever else went wrong."""
    run = opened([kind for kind, _ in calls])
    courses = [course_of(run, place, *call) for place, call in enumerate(calls)]
    turns = [place for place, course in enumerate(courses) for _ in course[1:]]
    draw.shuffle(turns)  # all but the last event of each call, in any order;
    ends = []
    for last in permutations(range(len(calls))):  # the last ones in every order
        left = [iter(course) for course in courses]
        events = [next(left[place])(now * 1000.0) for now, place in enumerate([*turns, *last])]
        ends.append(replay(SPEC, run, events))
    assert ends == [ends[0]] * len(ends)
    done = [place for place, (_, fate) in enumerate(calls) if fate not in ("failed", "timed out")]
    assert ends[0].turn == 2
    assert ends[0].state.get("log", []) == [place for place in done for _ in range(2)]
    assert ends[0].state.get("total", 0) == len(done)
    assert [
        one.origin.arguments["number"] for m in ends[0].messages for one in m.tool_call_results
    ] == (list(range(len(calls))))


@pytest.mark.parametrize("go", [blocking, in_a_loop])
def test_a_tool_that_fails_changes_nothing_through_a_value_that_can_be_changed(
    go: Callable[[Agent[State]], AgentResult[State]],
) -> None:
    """Neither through one that it was given, nor through one that it read or wrote itself."""

    @tool(inputs_from_state={"notes": "given"})
    def spoil(given: list[dict[str, int]], state: State) -> str:
        mine = [{"n": 2}]
        state.set("notes", mine)
        for value in (given, state.get("notes"), state.data["notes"], mine):
            with suppress(TypeError):  # what is frozen refuses
                value[0]["n"] = 3
            with suppress(TypeError, AttributeError):
                value.append({"n": 4})
        raise ValueError("all for nothing")

    called = ChatMessage.from_assistant(tool_calls=[ToolCall("spoil")])
    schema = {"notes": {"type": list, "default": [{"n": 1}]}}
    agent = Agent(
        chat_generator=ScriptedChatGenerator(called, "done"), tools=[spoil], state_schema=schema
    )
    result = go(agent)
    assert "all for nothing" in result.messages[-2].tool_call_results[0].text
    assert result["notes"] == [{"n": 1}]
    assert agent.spec.state.get("notes") == [{"n": 1}]
