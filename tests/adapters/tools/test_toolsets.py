"""Toolsets are handed around as one and taken apart by the agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from attrs import evolve

from detent import Agent
from detent.adapters.tools.toolsets import Toolset, flat
from detent.core.errors import ToolDefinitionError
from detent.core.tools.tool import Tool
from detent.testing import ScriptedChatGenerator

ONE = Tool("one", "", {"type": "object"}, lambda: 1)
TWO = evolve(ONE, name="two")
THREE = evolve(ONE, name="three")


def test_a_toolset_is_a_collection_of_tools() -> None:
    """In order, found by name or as they are."""
    tools = Toolset([ONE, Toolset([TWO])])
    assert list(tools) == [ONE, TWO]
    assert len(tools) == 2
    assert tools[1] == TWO
    assert "one" in tools
    assert TWO in tools
    assert THREE not in tools
    assert "three" not in tools


def test_tools_can_be_added() -> None:
    """One, or all of another toolset."""
    tools = Toolset()
    tools.add(ONE)
    tools.add(Toolset([TWO, THREE]))
    assert [tool.name for tool in tools] == ["one", "two", "three"]
    with pytest.raises(ToolDefinitionError, match="'one'"):
        tools.add(ONE)
    assert len(tools) == 3


def test_an_empty_toolset_is_one_nevertheless() -> None:
    """Its tools may come later."""
    assert Toolset()


class Later(Toolset):
    """What there is changes."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __iter__(self) -> Iterator[Tool]:
        return (evolve(ONE, name=name) for name in self.names)


def test_a_subclass_may_find_its_tools_late() -> None:
    """All else follows from the iteration."""
    tools = Later()
    assert len(tools) == 0
    tools.names += ["four", "five"]
    assert len(tools) == 2
    assert "five" in tools
    assert tools[0].name == "four"


def test_lists_of_both_become_one_list() -> None:
    """However deep."""
    assert flat([ONE, Toolset([TWO, Toolset([THREE])])]) == [ONE, TWO, THREE]
    assert flat(Toolset([ONE])) == [ONE]
    assert flat(()) == []


class Counter:
    """What could be a component."""

    def run(self, text: str) -> int:
        """Count."""
        return len(text)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (ONE, "tools come as a list of Tool and Toolset, or as a Toolset"),
        ("one", "tools come as a list"),
        (3, "tools come as a list"),
        ([ONE, "two"], "a list of tools holds Tool and Toolset, got 'two'"),
        (
            [len],
            r"got <built-in function len>; make it a tool: @tool above its def, or tool\(len\)",
        ),
        (ONE, r"; put it into a list: tools=\[…\]"),
        (len, r"got <built-in function len>; make it a tool: .* tool\(len\)"),
        ([Counter], r"; give an instance of the class: Counter\(…\)"),
        ([Counter()], r"; make a tool of it: ComponentTool\(…\)"),
        ([Agent(chat_generator=ScriptedChatGenerator())], r"; make a tool of the agent: AgentTool"),
        ({"name": "one"}, r"; make a tool with its schema: Tool\(name, description, parameters, f"),
        ([{"name": "one"}], r"; make a tool with its schema: Tool\("),
    ],
)
def test_what_is_no_tool_is_refused(wrong: Any, expected: str) -> None:
    """A tool alone is not a list of tools."""
    with pytest.raises(TypeError, match=expected):
        flat(wrong)
    with pytest.raises(TypeError, match=expected):
        Toolset(wrong)


def test_two_tools_of_one_name_are_refused() -> None:
    """A model could not tell them apart."""
    with pytest.raises(ToolDefinitionError, match="several tools are called 'one'"):
        Toolset([ONE, Toolset([ONE])])
