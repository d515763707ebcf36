"""Chance: the system's is different each time, the seeded one the same each time."""

from __future__ import annotations

from typing import Any

import pytest

from detent import Agent, Retries, tool
from detent.adapters.system.chance import SeededChance
from detent.core.chat.messages import ToolCall
from detent.machine import SystemChance
from detent.testing import JumpingClock, MemoryJournal, ScriptedChatGenerator


def test_the_system_never_repeats_itself() -> None:
    """Each has its own ids and numbers."""
    one, other = SystemChance(), SystemChance()
    assert one.new_id() != other.new_id()
    assert one.number() != other.number()


def test_a_seed_says_what_will_be() -> None:
    """The same seed the same, another one another."""
    first, second, third = SeededChance(7), SeededChance(7), SeededChance(8)
    told: list[Any] = [(one.new_id(), one.number(), one.new_id()) for one in (first, second, third)]
    assert told[0] == told[1]
    assert not set(told[0]) & set(told[2])


@pytest.mark.parametrize("seed", [0, 1])
def test_an_agent_leaves_nothing_else_to_chance(seed: int) -> None:
    """Ids and pauses between attempts: two runs with one seed write the same journal."""

    @tool(retries=Retries(3))
    def shaky() -> str:
        """Fail."""
        raise ConnectionError("again")

    def journalled() -> tuple[str, list[Any]]:
        journal = MemoryJournal()
        chat = ScriptedChatGenerator(ToolCall("shaky"), "done")
        clock, chance = JumpingClock(), SeededChance(seed)
        agent = Agent(
            chat_generator=chat, tools=[shaky], clock=clock, journal=journal, chance=chance
        )
        run_id = agent.run("go").run_id
        return run_id, list(journal.read(run_id))

    first = journalled()
    assert len([entry for entry in first[1] if entry.kind == "ClockTicked"]) == 3
    assert first == journalled()
