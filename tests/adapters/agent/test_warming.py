"""Whoever needs to load or connect does so once, before the first run, whoever begins it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, get_ident
from typing import Any
from weakref import ref

import pytest

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    ComponentTool,
    MemoryJournal,
    ScriptedChatGenerator,
    Tool,
    ToolCall,
    Toolset,
    create_tool_from_function,
)
from detent.models import ChatReply


class Counted:
    """Counts how often it is made ready, and in which threads."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def warm_up(self) -> None:
        """Once more."""
        self.threads.append(get_ident())


class Model(ScriptedChatGenerator):
    """A generator that answers only when it is ready."""

    def __init__(self, *lines: Any) -> None:
        super().__init__(*lines)
        self.ready = Counted()

    def warm_up(self) -> None:
        """Once more."""
        self.ready.warm_up()

    def run(self, *args: Any, **kwargs: Any) -> ChatReply:
        """As scripted."""
        assert self.ready.threads
        return super().run(*args, **kwargs)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Lazy(Toolset):
    """A toolset whose tool is only known once it is connected."""

    def __init__(self) -> None:
        super().__init__()
        self.connections = Counted()

    def warm_up(self) -> None:
        """Connect."""
        self.connections.warm_up()

    def __iter__(self) -> Iterator[Tool]:
        if self.connections.threads:
            yield create_tool_from_function(add)
        else:
            yield Tool("placeholder", "", {"type": "object"}, print)


class Adder(Counted):
    """Adds."""

    def run(self, a: int, b: int) -> int:
        """Add two numbers."""
        assert self.threads
        return a + b


class AsyncAdder(Adder):
    """Its warm-up is a coroutine function."""

    async def warm_up(self) -> None:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]  # both are allowed
        """Once more."""
        await asyncio.sleep(0)
        super().warm_up()


CALL = ToolCall("add", {"a": 1, "b": 2})


def agent_with(tools: Sequence[Any], *lines: Any, **options: Any) -> tuple[Agent[Any], Model]:
    model = Model(*lines)
    return Agent(chat_generator=model, tools=tools, **options), model


def run(agent: Agent[Any]) -> Any:
    return agent.run("go")


def run_async(agent: Agent[Any]) -> Any:
    return asyncio.run(agent.run_async("go"))


def stream(agent: Agent[Any]) -> Any:
    return list(agent.stream("go"))[-1]


def stream_async(agent: Agent[Any]) -> Any:
    async def read() -> Any:
        return [item async for item in agent.stream_async("go")][-1]

    return asyncio.run(read())


def begin(agent: Agent[Any]) -> Any:
    return agent.begin("go").go(None, raises=True)


@pytest.mark.parametrize("way", [run, run_async, stream, stream_async, begin])
def test_every_way_to_run_makes_every_part_ready_once(way: Callable[[Agent[Any]], Any]) -> None:
    """The generator, a toolset before what it holds is looked at, and the tools' components."""
    lazy, adder, other = Lazy(), Adder(), AsyncAdder()
    tools = [lazy, ComponentTool(adder, name="plus"), ComponentTool(other, name="also")]
    calls = [ToolCall(name, {"a": 1, "b": 2}) for name in ("add", "plus", "also")]
    agent, model = agent_with(tools, *calls, "done", *calls, "done again")

    assert way(agent).text == "done"
    result = way(agent)

    assert result.text == "done again"
    answers = [one.text for message in result.messages for one in message.tool_call_results]
    assert answers == ["3", "3", "3"]
    counted = (model.ready, lazy.connections, adder, other)
    assert [len(one.threads) for one in counted] == [1, 1, 1, 1]


def test_a_loop_is_not_kept_waiting() -> None:
    """What loads is called in a thread."""
    agent, model = agent_with([], "done")

    assert run_async(agent).text == "done"
    assert get_ident() not in model.ready.threads


def test_those_who_come_meanwhile_wait() -> None:
    """Of many threads one warms up, and none runs before."""
    count = 8
    agent, model = agent_with([Lazy()], *["done"] * count)
    gate = Barrier(count)

    def go() -> Any:
        gate.wait()
        return agent.run("go").text

    with ThreadPoolExecutor(count) as threads:
        done = [threads.submit(go) for _ in range(count)]

    assert [one.result() for one in done] == ["done"] * count
    assert len(model.ready.threads) == 1


def test_an_agent_is_warmed_up_by_hand() -> None:
    """With the agents that work for it; a run does it no more."""
    inner, outer = Model("hi"), Model(ToolCall("ask", {"task": "x"}), "done")
    ask = AgentTool(Agent(chat_generator=inner), name="ask", description="")
    agent = Agent(chat_generator=outer, tools=[ask])
    agent.warm_up()
    agent.warm_up()

    assert (len(inner.ready.threads), len(outer.ready.threads)) == (1, 1)
    assert agent.run("go").text == "done"
    assert (len(inner.ready.threads), len(outer.ready.threads)) == (1, 1)


def test_tools_of_one_run_are_made_ready_too() -> None:
    """Once, however many runs they are given to."""
    lazy = Lazy()
    agent, _ = agent_with([], CALL, "done", CALL, "done")

    for _ in range(2):
        result = agent.run("go", tools=[lazy])
        assert [one.text for one in result.messages[-2].tool_call_results] == ["3"]
    assert len(lazy.connections.threads) == 1


def test_who_could_not_load_is_asked_again() -> None:
    """The error is the caller's, before anything is written down."""
    journal, model = MemoryJournal(), Model("done")
    errors: list[Exception] = [OSError("no such file")]
    model.warm_up = lambda: _fail(errors, model)  # type: ignore[method-assign]  # for this test
    agent = Agent(chat_generator=model, journal=journal)

    with pytest.raises(OSError, match="no such file"):
        agent.run("go")
    assert list(journal.runs()) == []
    assert agent.run("go").text == "done"
    assert len(model.ready.threads) == 1


def _fail(errors: list[Exception], model: Model) -> None:
    if errors:
        raise errors.pop()
    model.ready.warm_up()


class Slotted:
    """Python cannot refer to it weakly."""

    __slots__ = ("warmed",)

    def __init__(self) -> None:
        self.warmed = 0

    def warm_up(self) -> None:
        """Once more."""
        self.warmed += 1

    def run(self, messages: Any, **options: Any) -> ChatReply:
        """An answer."""
        return ScriptedChatGenerator("done").run(messages)


def test_a_part_that_nothing_refers_to_weakly_is_ready_once_as_well() -> None:
    """It is kept in mind itself."""
    model = Slotted()
    agent = Agent(chat_generator=model)

    assert [agent.run("go").text, agent.run("go").text] == ["done", "done"]
    assert model.warmed == 1


def test_what_one_run_alone_was_given_is_forgotten() -> None:
    """A tool that is made for each run would fill the memory otherwise, warmed up or ready."""
    agent, _ = agent_with([], "done", "done", "done")
    gone: list[ref[object]] = []
    for _ in range(3):
        given = create_tool_from_function(lambda: 1, name="one", description="One.")
        agent.run("go", tools=[given])
        gone.append(ref(given))
        del given
    gc.collect()

    assert [one() for one in gone] == [None, None, None]
    assert not [one for one in agent._assembly._warm._ready.values() if one() is None]


def test_whoever_only_decides_loads_no_model() -> None:
    """A process that shows questions connects its toolsets, to know the tools, and no more."""
    journal = MemoryJournal()
    options = {"journal": journal, "confirmation_strategies": {"*": AlwaysAskPolicy()}}
    agent, _ = agent_with([Lazy()], CALL, "done", **options)
    assert agent.run("go", run_id="r", raise_at_break_point=False).exit_reason is None

    lazy = Lazy()
    other, model = agent_with([lazy], **options)
    (call,) = other.pending("r")
    other.decide("r", call.confirm())

    assert (len(lazy.connections.threads), model.ready.threads) == (1, [])
