"""Programs with agents, written for a well-known library, run with only their imports changed.

Each is as its documentation prints it, with what its dots leave out filled in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from detent import AgentBreakpoint, AlwaysAskPolicy, NeverAskPolicy
from detent import BlockingConfirmationStrategy as HumanInTheLoopStrategy
from detent.adapters.agent.agent import Agent
from detent.adapters.confirmation.console import SimpleConsoleUI
from detent.adapters.control.breakpoints import Breakpoint, ToolBreakpoint
from detent.adapters.testing.doubles.scripted import ScriptedChatGenerator
from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.storage.snapshot import AgentSnapshot
from detent.core.tools.tool import Tool
from detent.ports.results import BreakpointException

PARAMETERS = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

Model = Callable[..., ScriptedChatGenerator]


def calling(*lines: Any) -> Model:
    """A provider whose model says these lines."""
    return lambda model="": ScriptedChatGenerator(*lines)


def search(text: str) -> str:
    return f"found: {text}"


def test_an_exit_tool_ends_the_run() -> None:
    """Agent: usage example."""
    OpenAIChatGenerator = calling(ToolCall("search", {"text": "detents"}))  # noqa: N806 - the provider

    tools = [
        Tool(name="calculator", description="...", parameters=PARAMETERS, function=eval),
        Tool(name="search", description="...", parameters=PARAMETERS, function=search),
    ]

    agent = Agent(
        chat_generator=OpenAIChatGenerator(),
        tools=tools,
        exit_conditions=["search"],
    )

    # Run the agent
    result = agent.run(messages=[ChatMessage.from_user("Find information about detents")])

    assert "messages" in result  # Contains conversation history
    assert result["last_message"].tool_call_results[0].result == "found: detents"


def test_a_human_is_asked_before_a_tool_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agent with confirmation: usage example. The person at the terminal says yes."""
    OpenAIChatGenerator = calling(  # noqa: N806 - the provider
        ToolCall("search", {"text": "detents"}), "They hold."
    )
    monkeypatch.setattr("builtins.input", lambda prompt="": "y")

    calculator_tool = Tool(
        name="calculator",
        description="A tool for performing mathematical calculations.",
        parameters=PARAMETERS,
        function=eval,
    )
    search_tool = Tool(
        name="search",
        description="A tool for searching the web.",
        parameters=PARAMETERS,
        function=search,
    )

    agent = Agent(
        chat_generator=OpenAIChatGenerator(),
        tools=[calculator_tool, search_tool],
        confirmation_strategies={
            calculator_tool.name: HumanInTheLoopStrategy(
                confirmation_policy=NeverAskPolicy(), confirmation_ui=SimpleConsoleUI()
            ),
            search_tool.name: HumanInTheLoopStrategy(
                confirmation_policy=AlwaysAskPolicy(), confirmation_ui=SimpleConsoleUI()
            ),
        },
    )

    # Run the agent
    result = agent.run(messages=[ChatMessage.from_user("Find information about detents")])

    assert "messages" in result  # Contains conversation history
    assert result["last_message"].text == "They hold."


@pytest.mark.parametrize(
    "point",
    [
        Breakpoint(component_name="chat_generator", visit_count=1),
        ToolBreakpoint(component_name="tool_invoker", visit_count=0, tool_name="search"),
    ],
    ids=["chat generator", "tool"],
)
def test_a_run_stops_and_goes_on_from_its_snapshot(point: Breakpoint) -> None:
    """Agent.run: `break_point` and `snapshot`, as its arguments are described."""
    call = ToolCall("search", {"text": "detents"})
    agent = Agent(
        chat_generator=ScriptedChatGenerator(call, "They hold."),
        tools=[Tool("search", "...", PARAMETERS, search)],
    )
    agent.warm_up()
    with pytest.raises(BreakpointException) as stopped:
        agent.run(
            messages=[ChatMessage.from_user("Find information about detents")],
            break_point=AgentBreakpoint("agent", point),
        )
    data = stopped.value.snapshot.to_dict()

    result = agent.run(messages=[], snapshot=AgentSnapshot.from_dict(data))

    assert result["last_message"].text == "They hold."


def test_misuse_is_refused_in_words() -> None:
    """TypeError for a generator without tools, ValueError for exit conditions that are none."""

    class NoTools:
        def run(self, messages: object) -> object:
            return messages

    tools = [Tool("search", "...", PARAMETERS, search)]
    wrong: Any = NoTools()
    with pytest.raises(TypeError, match="does not accept tools parameter in its run method"):
        Agent(chat_generator=wrong, tools=tools)
    with pytest.raises(ValueError, match="exit condition 'find' is neither 'text' nor a tool"):
        Agent(chat_generator=ScriptedChatGenerator(), tools=tools, exit_conditions=["find"])
