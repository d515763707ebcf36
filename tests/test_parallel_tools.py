"""Tools that write the same state side by side lose no update, whatever comes first."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from itertools import permutations
from threading import Condition
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detent.adapters.agent import Agent
from detent.adapters.testing.scripted import ScriptedChatGenerator
from detent.core.events import Event, ModelReplied, ToolRaised, ToolReturned
from detent.core.invocation import Invocation
from detent.core.keys import Write
from detent.core.messages import ChatMessage, ToolCall
from detent.core.replies import ChatReply
from detent.core.result import AgentResult
from detent.core.results import ToolFault
from detent.core.run import Run
from detent.core.slots import CallRef
from detent.core.spec import AgentSpec
from detent.core.state import State
from detent.core.step import replay, start
from detent.core.tools import Tool, by_name, tool
from detent.core.wiring import Reply

SCHEDULES = 1000
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


WRITING = tools_that_write(Turns([0, 0]))
SPEC = AgentSpec(state=State(SCHEMA), tools=by_name(WRITING))


def events_of(kinds: list[str | None]) -> tuple[Run[State], list[Event]]:
    """A run with a call for each kind, and what comes of each; None is one that fails."""
    calls = [ToolCall(kind or "stored", {"number": place}) for place, kind in enumerate(kinds)]
    said = ChatMessage.from_assistant(tool_calls=calls)
    begun = start(SPEC, [ChatMessage.from_user("go")], run_id="r")
    run = replay(SPEC, begun, [ModelReplied(1, 1, ChatReply(said))])
    events: list[Event] = []
    for place, kind in enumerate(kinds):
        if kind is None:
            events.append(ToolRaised(CallRef(1, place), 1, ToolFault("raised", "no")))
            continue
        invocation = Invocation(SPEC.tools[kind], run.slots[place].call, run.state)
        state: Any = invocation.arguments().get("state")
        if state is not None:
            state.set("log", [place, place]).set("total", 1)
            value: object = "ok"
        else:
            value = {"log": [place, place], "one": 1}
        if kind == "replied":
            value = Reply("ok", Write("log", [place, place]), Write("total", 1))
        events.append(ToolReturned(CallRef(1, place), 1, invocation.result(value)))
    return run, events


@settings(max_examples=40)
@given(st.lists(st.sampled_from([*KINDS, None]), min_size=1, max_size=4))
def test_every_order_of_arrival_gives_the_same_run(kinds: list[str | None]) -> None:
    """Results and writes are folded in the model's order; a call that fails writes nothing."""
    run, events = events_of(kinds)
    ends = [replay(SPEC, run, order) for order in permutations(events)]
    assert all(end == ends[0] for end in ends)
    done = [place for place, kind in enumerate(kinds) if kind is not None]
    assert ends[0].state.get("log", []) == [place for place in done for _ in range(2)]
    assert ends[0].state.get("total", 0) == len(done)
    assert [
        one.origin.arguments["number"] for m in ends[0].messages for one in m.tool_call_results
    ] == (list(range(len(kinds))))
