"""What a host says of its agents: all that they may bring along."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    ChatMessage,
    HITLBreakpointException,
    MemoryJournal,
    ScriptedChatGenerator,
    ToolCall,
    tool,
)
from detent.adapters.hosts.registry import hosted_agents
from detent.approvals import Principal
from detent.hosts import Accepted, HostRefusal, LocalHost
from detent.models import CodeExecution, FallbackChatGenerator, WebSearch, chat_generator
from detent.web import web_app
from tests.adapters.faces.peers import peer


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


def asking(journal: MemoryJournal | None = None, **options: Any) -> Agent[Any, Any]:
    """An agent that asks before it reads."""
    return Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("read", {}, "c1"), "Done."),
        tools=[read],
        confirmation_strategies={"read": AlwaysAskPolicy()},
        journal=journal,
        **options,
    )


def test_a_host_goes_on_with_what_its_agent_has_begun_without_a_name() -> None:
    """A script has begun it; whoever hosts the agent is asked, and answers."""
    journal = MemoryJournal()
    with pytest.raises(HITLBreakpointException):
        asking(journal).run("Go.", run_id="r")
    after = asking(approvers=lambda *_: Principal("Ada")).evolve(
        chat_generator=ScriptedChatGenerator("Done.")
    )

    async def decided() -> str | None:
        async with LocalHost({"clerk": after, "boss": asking(name="boss")}, journal) as host:
            (question,) = await host.pending()
            boss, clerk = await host.agents()
            assert [boss.has_runs_of(name) for name in ("boss", "")] == [True, False]
            assert [clerk.has_runs_of(name) for name in ("clerk", "", "boss")] == [
                True,
                True,
                False,
            ]
            async with peer(web_app(host)) as client:
                assert "Nothing waits" not in (await client.get("/")).text
                (asked,) = (await client.get("/api/pending")).json()["pending"]
            assert (asked["agent"], asked["wanted"]) == ("", "credential")
            said = await host.send("r", question.call.confirm(by="Ada"))
            assert isinstance(said, Accepted)
            return (await host.result("r", timeout=10)).text

    assert asyncio.run(decided()) == "Done."


def test_of_several_agents_without_a_name_none_is_meant() -> None:
    """And whoever asks is told what to do."""
    journal = MemoryJournal()
    with pytest.raises(HITLBreakpointException):
        asking(journal).run("Go.", run_id="r")

    async def refused() -> HostRefusal | Accepted:
        async with LocalHost({"clerk": asking(), "boss": asking()}, journal) as host:
            assert await host.pending() == []
            return await host.send("r", ChatMessage.from_user("Go on."))

    said = asyncio.run(refused())
    assert isinstance(said, HostRefusal)
    assert said.why == "other_agent"
    assert said.text == (
        "run 'r' is of agent ''; this host has 'boss', 'clerk'; to go on with it here, host its "
        "agent as ''"
    )
