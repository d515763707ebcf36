"""A run of a host as it was, tried again from there, and held against its entries."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    ChatMessage,
    MemoryJournal,
    ScriptedChatGenerator,
    ToolCall,
    tool,
)
from detent.adapters.agent.records.proofs import proof_of
from detent.hosts import (
    Accepted,
    BlockingHost,
    Fork,
    HostRefusal,
    LocalHost,
    PendingQuestion,
    RunProof,
)
from detent.journals import AuditedJournal, Checkpoint, Entry, Journal
from detent.machine import AgentChangedError


@tool
def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


@tool
def look() -> str:
    """Look."""
    return "seen"


def clerk(*script: Any, tools: Any = (pay,)) -> Agent[Any, Any]:
    rules = {"pay": AlwaysAskPolicy()} if pay in tools else {}
    chat = ScriptedChatGenerator(*script)
    return Agent(chat_generator=chat, tools=[*tools], confirmation_strategies=rules)


PAY = ToolCall("pay", {"to": "Ann"}, "c1")


def agents() -> dict[str, Agent[Any, Any]]:
    return {
        "clerk": clerk(PAY, "Done."),
        "other": clerk("I am another model."),
        "looker": clerk("Hm.", tools=(look,)),
    }


def asked(journal: Journal | None = None, *forks: Fork) -> list[Accepted | HostRefusal]:
    """What a host says to forks of a run whose call waits."""

    async def visit() -> list[Accepted | HostRefusal]:
        async with LocalHost(agents(), journal or MemoryJournal(), look_s=0.05) as host:
            await host.start("clerk", "Pay Ann.", run_id="r")
            async for _ in host.watch("r"):
                if await host.pending():
                    break
            return [await host.send("r", fork) for fork in forks]

    return asyncio.run(visit())


def test_another_model_goes_on_with_what_was_said_then() -> None:
    """With another message in the place of all that came behind."""
    journal = MemoryJournal()

    async def visit() -> tuple[str, str | None, list[str | None]]:
        async with LocalHost(agents(), journal, look_s=0.05) as host:
            await host.start("clerk", "Pay Ann.", run_id="r")
            said = ChatMessage.from_user("No, wait.")
            made = await host.send("r", Fork(1, said, "other", by="Eve"))
            assert isinstance(made, Accepted)
            await host.result(made.run_id, timeout=10)
            hosted = await host.run(made.run_id)
            texts = [one.text for one in hosted.run.messages]
            return hosted.listed.agent, hosted.run.started_by, texts

    agent, by, texts = asyncio.run(visit())
    assert (agent, by) == ("other", "Eve")
    assert texts == ["Pay Ann.", "No, wait.", "I am another model."]
    (made,) = (run.run_id for run in journal.runs() if run.run_id != "r")
    begun = next(iter(journal.read(made)))
    assert begun.data["fork_of"] == {"run_id": "r", "entries": 1}


def test_a_fork_is_of_who_makes_it_and_so_are_the_runs_inside() -> None:
    """Whoever may not say yes to runs of their own must not get one that another has begun."""
    call = ToolCall("helper", {"task": "Pay Ann."})
    helper = AgentTool(agents()["clerk"], name="helper", description="Pays.")

    async def visit() -> list[str | None]:
        outer = Agent(chat_generator=ScriptedChatGenerator(call), tools=[helper])
        async with LocalHost({"outer": outer}, MemoryJournal(), look_s=0.05) as host:
            await host.start("outer", "Go.", run_id="r", started_by="Cyd")
            async for _ in host.watch("r"):
                if await host.pending():
                    break
            made = await host.send("r", Fork(by="Ada"))
            assert isinstance(made, Accepted)
            found = list[PendingQuestion]()
            async for _ in host.watch(made.run_id):
                found = [one for one in await host.pending() if one.call.run_id == made.run_id]
                if found:
                    break
            return [one.call.started_by for one in found]

    assert asyncio.run(visit()) == ["Ada"]


def test_an_agent_without_the_tools_cannot_go_on() -> None:
    """A call that is open needs its tool; nothing is begun."""
    journal = MemoryJournal()
    (said,) = asked(journal, Fork(agent="looker"))
    assert isinstance(said, HostRefusal)
    assert said.why == "unreadable"
    assert "'pay'" in said.text
    assert len(journal.runs()) == 1


def test_a_fork_of_what_is_damaged_is_refused() -> None:
    """Behind the damage; before it, it is made."""
    journal = Changed()
    asked(journal)
    journal.is_changed = True

    async def visit() -> list[Accepted | HostRefusal]:
        async with LocalHost(agents(), journal, look_s=0.05) as host:
            return [await host.send("r", fork) for fork in (Fork(), Fork(1))]

    behind, before = asyncio.run(visit())
    assert isinstance(behind, HostRefusal)
    assert behind.why == "unreadable"
    assert isinstance(before, Accepted)


class Changed(MemoryJournal):
    """A store in which somebody changes the second entry of runs, and takes the checkpoints."""

    is_changed = False

    def read(self, run_id: str, start: int = 0) -> list[Entry]:
        """With the change."""
        found = list(super().read(run_id, start))
        return [self._changed(one) for one in found] if self.is_changed else found

    def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """None, after the change."""
        return [] if self.is_changed else list(super().checkpoints(run_id))

    def _changed(self, one: Entry) -> Entry:
        return evolve(one, data={**one.data, "turn": 7}) if one.position == 1 else one


def ended(journal: Journal) -> Agent[Any, Any]:
    agent = clerk("Done.")
    bound = Agent(chat_generator=agent.assembly.chat_generator, tools=[pay], journal=journal)
    bound.run("Go", run_id="r")
    return bound


def test_a_chain_that_is_whole_has_a_head() -> None:
    """And a journal without one has none, which is no problem."""
    audited, plain = AuditedJournal(MemoryJournal()), MemoryJournal()
    proof = proof_of(audited, ended(audited).spec, "r")
    assert (proof.length, proof.problems) == (2, ())
    assert str(proof.head).startswith("2:")
    assert proof_of(plain, ended(plain).spec, "r") == RunProof(2)


def test_what_somebody_has_changed_shows() -> None:
    """In the chain, also where it makes the same run."""
    inner = MemoryJournal()
    audited = AuditedJournal(inner)
    spec = ended(audited).spec
    entries = [evolve(one, at=one.at + 1) for one in inner.read("r")]
    inner.delete("r")
    inner.append("r", entries)
    proof = proof_of(audited, spec, "r")
    assert proof.head is None
    assert "does not hang together: entry 0" in proof.problems[0]


def test_what_blocks_looks_back_as_well() -> None:
    """The same words."""
    with BlockingHost(LocalHost({"other": clerk("Hi.")}, MemoryJournal())) as host:
        host.start("other", "Go", run_id="r")
        host.result("r", timeout=10)
        assert host.run("r", 1).run.outcome is None
        assert host.verify("r") == RunProof(2)
        assert isinstance(host.send("r", Fork(1)), Accepted)


def test_a_run_of_an_agent_that_has_changed_is_left_as_it_is() -> None:
    """Whoever asks is told by an error of its own, and nothing is made of it."""
    journal = MemoryJournal()
    calls = ScriptedChatGenerator(ToolCall("look", {}), "Done.")
    asked = Agent(chat_generator=calls, tools=[look], journal=journal, name="asked")
    asked.run("Go", run_id="s")
    changed = {"asked": asked.evolve(max_agent_steps=1)}

    async def visit() -> None:
        async with LocalHost(changed, journal, look_s=0.05) as host:
            for read in (host.run, host.result):
                with pytest.raises(AgentChangedError, match="the agent's rules have changed since"):
                    await read("s")
            said = await host.send("s", ChatMessage.from_user("And now?"))
            assert isinstance(said, HostRefusal)
            assert said.why == "unreadable"
            (problem,) = (await host.verify("s")).problems
            assert "the agent's rules have changed since" in problem

    before = list(journal.read("s"))
    asyncio.run(visit())
    assert list(journal.read("s")) == before
