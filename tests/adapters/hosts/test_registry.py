"""What a host says of its agents: all that they may bring along."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
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
    Toolset,
    tool,
)
from detent.adapters.hosts.registry import hosted_agents
from detent.approvals import Principal
from detent.hosts import Accepted, Fork, HostRefusal, LocalHost
from detent.machine import AgentChangedError
from detent.models import CodeExecution, FallbackChatGenerator, WebSearch, chat_generator
from detent.testing import Line, When
from detent.web import web_app
from tests.adapters.faces.peers import peer


@tool(labels=["mail"])
def read() -> str:
    """Read mails."""
    return "a mail"


class Sure(ScriptedChatGenerator):
    """A model that says that its replies bring nothing along."""

    labels = ()


class Coming(Toolset):
    """Tools of which one is not there now."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Also of that one."""
        return (*super().labels, "parcels")


def test_the_labels_of_an_agent_are_of_all_that_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of its tools, of what its provider searches, and of agents among its tools; once each.

    A model that does not say what its replies bring, as one does that may be asked to search in its
    provider's own words, may bring what is untrusted.
    """
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
    searching = chat_generator(
        "anthropic:claude-opus-4-6",
        server_tools=[WebSearch(labels=["web"]), CodeExecution(labels=["files"])],
    )
    plain = ScriptedChatGenerator("Done.")
    inner = Agent(chat_generator=FallbackChatGenerator(plain, searching), tools=[read])
    helper = AgentTool(inner, name="helper", description="Helps.")
    sure = Sure("Done.")
    agents = {
        "sure": Agent(chat_generator=sure),
        "coming": Agent(chat_generator=sure, tools=[Coming([read])]),
        "plain": Agent(chat_generator=plain),
        "searching": Agent(chat_generator=searching),
        "around": Agent(chat_generator=plain, tools=[helper, read]),
    }
    labels = {agent.name: agent.labels for agent in hosted_agents(agents)}
    assert labels == {
        "plain": ("untrusted",),
        "searching": ("files", "untrusted", "web"),
        "around": ("files", "mail", "untrusted", "web"),
        "sure": (),
        "coming": ("mail", "parcels"),
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


def interrupted(messages: Sequence[ChatMessage]) -> str:
    """The process ends while the model is asked."""
    raise KeyboardInterrupt


def left_by_a_stranger(journal: MemoryJournal) -> None:
    """Three runs of another agent without a name: two have crashed, and one waits."""

    @tool
    def fetch() -> str:
        """Fetch mails."""
        raise KeyboardInterrupt

    def stranger(*script: Line | When, **options: Any) -> Agent[Any, Any]:
        script_of = ScriptedChatGenerator(*script)
        return Agent(chat_generator=script_of, tools=[fetch, read], journal=journal, **options)

    with pytest.raises(KeyboardInterrupt):
        stranger(When(lambda messages: True, interrupted)).run("Go.", run_id="asked")
    with pytest.raises(KeyboardInterrupt):
        stranger(ToolCall("fetch", {}, "c1")).run("Go.", run_id="called")
    waiting = stranger(
        ToolCall("read", {}, "c1"), confirmation_strategies={"read": AlwaysAskPolicy()}
    )
    with pytest.raises(HITLBreakpointException):
        waiting.run("Go.", run_id="r")


def test_runs_that_another_agent_without_a_name_has_left_are_left_alone() -> None:
    """The health has them, and whoever speaks to one is told what to do."""
    journal = MemoryJournal()
    left_by_a_stranger(journal)
    before = {run.run_id: run.length for run in journal.runs()}
    names = dict.fromkeys(before, "AgentChangedError")

    async def refused() -> HostRefusal | Accepted:
        host = LocalHost({"clerk": asking()}, journal, look_s=0.02)
        async with asyncio.timeout(30), host:
            while host.health().faults != names:  # noqa: ASYNC110 - it looks now and then
                await asyncio.sleep(0.01)
            assert await host.pending() == []
            for read in (host.run("r"), host.run("called", 1), host.verify("asked")):
                with pytest.raises(AgentChangedError, match="host that agent as ''"):
                    await read
            forked = await host.send("asked", Fork())
            assert isinstance(forked, HostRefusal)
            assert forked.why == "unreadable"
            return await host.send("r", ChatMessage.from_user("Go on."))

    said = asyncio.run(refused())
    assert isinstance(said, HostRefusal)
    assert said.why == "unreadable"
    assert said.text == (
        "run 'r' was begun by an agent without a name, and not by the rules that 'clerk' has here, "
        "so it may be another agent's: go on with it by its own agent, agent.resume('r'), or host "
        "that agent as ''; agents with names are not taken for one another"
    )
    assert {run.run_id: run.length for run in journal.runs()} == before


def test_who_hosts_an_agent_without_a_name_as_such_says_whose_runs_they_are() -> None:
    """So one whose rules have changed goes on with what it had begun, as one with a name does."""
    journal = MemoryJournal()
    with pytest.raises(HITLBreakpointException):
        asking(journal).run("Go.", run_id="r")
    after = asking(max_agent_steps=9).evolve(chat_generator=ScriptedChatGenerator("Done."))

    async def decided(name: str) -> Accepted | HostRefusal:
        async with asyncio.timeout(30), LocalHost({name: after}, journal) as host:
            said = await host.send("r", ChatMessage.from_user("Go on."))
            if isinstance(said, Accepted):
                (question,) = await host.pending()
                await host.send("r", question.call.confirm(by="Ada"))
                assert (await host.result("r")).text == "Done."
            return said

    assert isinstance(asyncio.run(decided("clerk")), HostRefusal)
    assert isinstance(asyncio.run(decided("")), Accepted)


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
