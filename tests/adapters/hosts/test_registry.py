"""What a host says of its agents: all that they may bring along."""

from __future__ import annotations

import pytest

from detent import Agent, AgentTool, ScriptedChatGenerator, tool
from detent.adapters.hosts.registry import hosted_agents
from detent.models import CodeExecution, FallbackChatGenerator, WebSearch, chat_generator


@tool(labels=["mail"])
def read() -> str:
    """Read mails."""
    return "a mail"


def test_the_labels_of_an_agent_are_of_all_that_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of its tools, of what its provider searches, and of agents among its tools; once each."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
    searching = chat_generator(
        "anthropic:claude-opus-4-6",
        server_tools=[WebSearch(labels=["web"]), CodeExecution(labels=["files"])],
    )
    plain = ScriptedChatGenerator("Done.")
    inner = Agent(chat_generator=FallbackChatGenerator(plain, searching), tools=[read])
    helper = AgentTool(inner, name="helper", description="Helps.")
    agents = {
        "plain": Agent(chat_generator=plain),
        "searching": Agent(chat_generator=searching),
        "around": Agent(chat_generator=plain, tools=[helper, read]),
    }
    labels = {agent.name: agent.labels for agent in hosted_agents(agents)}
    assert labels == {
        "plain": (),
        "searching": ("files", "web"),
        "around": ("files", "mail", "web"),
    }
