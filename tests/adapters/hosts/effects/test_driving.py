"""What the engine is told of runs that stand still."""

from __future__ import annotations

import asyncio
from typing import Any

from detent import Agent, MemoryJournal, ScriptedChatGenerator
from detent.adapters.hosts.channels import Channels
from detent.adapters.hosts.effects.driving import EffectsDriving
from detent.adapters.hosts.effects.history import Json
from detent.adapters.hosts.effects.outside import Outside
from detent.adapters.hosts.effects.parts import EffectParts
from detent.adapters.hosts.legs import Legs
from detent.adapters.hosts.reading import Reading
from detent.adapters.system.chance import SystemChance
from detent.adapters.system.clocks import SystemClock
from detent.ports.listing import StoredRun


class Told:
    """An engine that knows of every run already, and keeps what it is told."""

    changed: dict[str, str] = {}  # noqa: RUF012 - of none

    def __init__(self) -> None:
        self.said: list[str] = []

    async def begin(self, given: Json, *, is_again: bool) -> bool:
        """It is there."""
        self.said.append(f"begin {given['run_id']}")
        return False

    async def look(self, run: StoredRun) -> None:
        """Hand it on, if nobody follows it."""
        self.said.append(f"look {run.run_id}")


def test_a_run_whose_worker_died_before_it_wrote_anything_is_handed_on() -> None:
    """To begin it once more does nothing where the engine has begun it."""

    async def main() -> list[str]:
        journal, told = MemoryJournal(), Told()
        agent = Agent(chat_generator=ScriptedChatGenerator("x"), name="it", journal=journal)
        await agent.begin("hi", run_id="r").leave_async()
        assembly = agent.assembly
        parts = {"it": EffectParts(assembly, assembly.current_spec)}
        legs = {"it": Legs.of("it", agent, journal, 15.0)}
        engine: Any = told
        unused: Any = None
        driving = EffectsDriving(
            *(parts, Reading(journal, legs), unused, Outside(parts, Channels()), engine),
            *(SystemClock(), SystemChance()),
        )
        (run,) = journal.runs()
        await driving.go_on(run)
        return told.said

    assert asyncio.run(main()) == ["begin r", "look r"]
