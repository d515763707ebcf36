"""A spied tool is the same tool, and tells how it was used."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Any

import pytest
from attrs import fields

from detent import (
    Agent,
    ChatMessage,
    ComponentTool,
    FencingToken,
    IdempotencyKey,
    Replaced,
    SecretParameter,
    State,
    Tool,
    ToolCall,
    TypedState,
    create_tool_from_function,
    inject,
    stores,
    tool,
)
from detent.testing import ScriptedChatGenerator, SpiedTool, spy


@tool
def double(n: int, state: State | None = None) -> int:
    """Double a number."""
    if n > 99:
        raise ValueError("too much")
    return 2 * n


@tool(outputs_to_state={"found": {}})
async def halve(n: int) -> float:
    """Halve a number."""
    await asyncio.sleep(0)
    if n > 99:
        raise ValueError("too much")
    return n / 2


class Adder:
    """Adds."""

    def run(self, a: int, b: int = 1) -> dict[str, int]:
        """Add two numbers."""
        return {"sum": a + b}


@pytest.mark.parametrize(
    "original",
    [double, halve, ComponentTool(Adder()), create_tool_from_function(partial(Adder().run, b=2))],
    ids=lambda original: original.name,
)
def test_it_is_the_same_in_all_but_its_function(original: Tool) -> None:
    """What the model sees, how it is wired, what its arguments become."""
    spied = spy(original)

    assert isinstance(spied, Tool)
    for one in fields(Tool):
        same = getattr(spied, one.name) is getattr(original, one.name)
        assert same == (one.name != "function")


@pytest.mark.parametrize("original", [double, halve], ids=lambda original: original.name)
@pytest.mark.parametrize("way", ["run", "run_async"])
def test_it_tells_how_an_agent_used_it(original: Any, way: str) -> None:
    """Arguments and results, in the order in which the calls began; failures as well."""
    spied = spy(original)
    assert isinstance(spied, SpiedTool)
    agent = agent_with(spied)

    result: Any = getattr(agent, way)("work")
    if way == "run_async":
        result = asyncio.run(result)

    first, second = sorted(spied.uses, key=lambda use: str(use.arguments["n"]))
    assert (second.arguments["n"], second.returned) == (4, (original.name == "double" and 8) or 2.0)
    assert (first.arguments["n"], first.returned) == (100, None)
    assert str(first.raised) == "too much"
    assert "too much" in result.messages[2].tool_call_results[0].text


def agent_with(spied: Tool) -> Agent[State]:
    calls = [ToolCall(spied.name, {"n": 100}), ToolCall(spied.name, {"n": 4})]
    chat = ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=calls), "done")
    return Agent(chat_generator=chat, tools=[spied], state_schema={"found": {"type": float}})


def test_what_the_tool_writes_reaches_the_state() -> None:
    """The wiring is that of the original."""
    assert agent_with(spy(halve)).run("work")["found"] == 2.0


class Garden(TypedState):
    """What a tool is given."""

    owner = Replaced("nobody")
    beds = Replaced(0)


@tool
@stores(Garden.beds)
def water(
    state: Garden,
    bed: int,
    *,
    key: IdempotencyKey,
    token: FencingToken,
    code: Annotated[str, SecretParameter()],
    tags: list[str] = [],  # noqa: B006 - of such a default each call gets a copy
    owner: str = inject(Garden.owner),
) -> int:
    """Water a bed."""
    return bed + len(f"{owner}{state.owner}{bool(key)}{token}{tags}")


@pytest.mark.parametrize("wired", [water, spy(water)], ids=["plain", "spied"])
def test_what_detent_fills_in_it_fills_in_as_for_the_plain_tool(wired: Tool) -> None:
    """By `inject`, the state itself, what names the call, and defaults; a decision binds alike."""
    call = ToolCall("water", {"bed": 1, "code": "hush"})
    chat = ScriptedChatGenerator(call, "done")
    agent = Agent(chat_generator=chat, tools=[wired], state_schema=Garden)
    result = agent.run("work", owner="Eva")

    assert result.state.beds == 1 + len("EvaEvaTrue0[]")
    for name in ("version", "signature", "inputs", "outputs", "hidden", "masked", "spec"):
        assert getattr(wired, name) == getattr(water, name), name
    if isinstance(wired, SpiedTool):
        (use,) = wired.uses
        assert use.arguments.keys() == water.signature.declared.keys()
        assert (use.arguments["owner"], use.arguments["tags"]) == ("Eva", [])


def test_only_a_tool_is_spied() -> None:
    """A function is made one first."""
    function: Any = print
    with pytest.raises(TypeError, match="make one of <built-in function print> by @tool first"):
        spy(function)
