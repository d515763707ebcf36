"""Any object with a typed run method can be a tool."""

from __future__ import annotations

from typing import Any

import pytest

from detent import Agent, ScriptedChatGenerator
from detent.adapters.tools.component_tool import ComponentTool, component
from detent.core.errors import ToolDefinitionError
from detent.core.state.state import State
from detent.core.tools.tool import Tool
from detent.core.tools.wiring_check import wiring_faults


@component
class HTTPPageFetcher:
    """Fetch a page."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix

    @component.output_types(page=str)
    def run(self, url: str, state: State | None = None) -> dict[str, str]:
        """Get what is there.

        :param url: where it is
        """
        return {"page": self.prefix + url}


class Plain:  # noqa: D101 - that it has no docstring is the point
    async def run(self, url: str) -> str:
        """Get what is there."""
        return url


def test_a_component_is_described_by_its_class() -> None:
    """Its parameters by the docstring of its run method; the state is hidden."""
    made = ComponentTool(HTTPPageFetcher("to "))
    assert (made.name, made.description) == ("http_page_fetcher", "Fetch a page.")
    assert made.spec.parameters["properties"] == {
        "url": {"type": "string", "description": "where it is"}
    }
    assert made.function(url="x") == {"page": "to x"}
    assert isinstance(made, Tool)


def test_of_an_agent_an_agent_tool_is_made() -> None:
    """Its own signature is no tool's."""
    with pytest.raises(ToolDefinitionError, match=r"AgentTool\(agent, name=…"):
        ComponentTool(Agent(chat_generator=ScriptedChatGenerator("x")), "inner")


def test_any_object_with_a_run_method_will_do() -> None:
    """Without a docstring of its own it is described by that of `run`."""
    made = ComponentTool(Plain(), timeout_s=3)
    assert (made.name, made.description, made.timeout_s) == ("plain", "Get what is there.", 3)
    assert made.signature.is_async


def test_name_description_and_schema_can_be_given() -> None:
    """They take the place of what the class says."""
    schema = {"type": "object", "properties": {"url": {"type": "string", "format": "uri"}}}
    made = ComponentTool(HTTPPageFetcher(), "fetch", "Fetch it.", schema)
    assert (made.name, made.description) == ("fetch", "Fetch it.")
    assert made.parameters == schema
    assert ComponentTool(type("Bare", (), {"run": lambda self: 1})()).description == "bare"


def test_declared_outputs_are_wired_by_name() -> None:
    """A wrong one is found when the agent is built."""
    state = State({"page": {"type": str}})
    good = ComponentTool(HTTPPageFetcher(), outputs_to_state={"page": {"source": "page"}})
    bad = ComponentTool(HTTPPageFetcher(), outputs_to_state={"page": {"source": "text"}})
    assert wiring_faults(good, state) == []
    (fault,) = wiring_faults(bad, state)
    assert fault.endswith("has no 'text' for the state key 'page': Outputs has page")


@pytest.mark.parametrize("wrong", [HTTPPageFetcher, object(), None])
def test_what_has_no_run_method_is_no_component(wrong: Any) -> None:
    """Nor is a class of which nothing has been made."""
    with pytest.raises(ToolDefinitionError, match="an object with a method 'run'"):
        ComponentTool(wrong)


def test_a_component_class_needs_a_run_method() -> None:
    """The decorator says so at once."""
    with pytest.raises(ToolDefinitionError, match="Plan needs a method 'run'"):
        component(type("Plan", (), {}))
