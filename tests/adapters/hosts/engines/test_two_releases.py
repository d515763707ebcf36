"""Two releases of an agent beside each other, where Temporal has runs driven by legs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from detent import Agent, AlwaysAskPolicy, ScriptedChatGenerator, SQLiteJournal, ToolCall, tool
from detent.adapters.hosts.engines.host import EngineHost
from detent.hosts import Accepted
from detent.testing import When
from tests.adapters.hosts.engines.sites import Site, site_of
from tests.adapters.hosts.engines.worker import host_on

pytestmark = pytest.mark.filterwarnings("ignore:Cannot find activity to cancel")
"""Temporal's library warns where the server cancels an activity that has just been completed."""
CALLS = 3
PAID = list[str]()


@tool
def pay(amount: int) -> str:
    """Pay."""
    PAID.append(f"old {amount}")
    return "paid"


@tool(name="pay")
def pay_in(amount: int, currency: str) -> str:
    """Pay."""
    PAID.append(f"new {amount} {currency}")
    return "paid"


def clerk(paying: Any) -> dict[str, Agent[Any, Any]]:
    """An agent that pays some times, each of them once people have said so."""

    def reply(messages: Any) -> ToolCall | str:
        done = sum(bool(message.tool_call_results) for message in messages)
        return "done" if done >= CALLS else ToolCall("pay", {"amount": 5})

    model = ScriptedChatGenerator(When(lambda _: True, reply))
    strategies = {"pay": AlwaysAskPolicy()}
    return {
        "clerk": Agent(chat_generator=model, tools=[paying], confirmation_strategies=strategies)
    }


def test_a_run_of_the_old_release_goes_on_by_it_beside_the_new_one(tmp_path: Path) -> None:
    """Though the engine may ask the new one first, which cannot follow it."""
    journal = SQLiteJournal(tmp_path / "runs.db")

    async def confirm(host: EngineHost) -> None:
        async for _ in host.watch("r"):
            for question in await host.pending():
                said = await host.send("r", question.call.confirm(by="Ada"))
                assert isinstance(said, Accepted)

    async def play(site: Site) -> None:
        options: dict[str, Any] = {"look_s": 0.2, "claim_s": 2.0}
        async with host_on(site.told(), clerk(pay), journal, **options) as old:
            await old.start("clerk", "pay", run_id="r")
            async with asyncio.timeout(60):
                async for _ in old.watch("r"):
                    if await old.pending():
                        break
            async with host_on(site.told(), clerk(pay_in), journal, **options):
                async with asyncio.timeout(25):
                    await confirm(old)

    with site_of("temporal", tmp_path) as site:
        asyncio.run(play(site))
    assert PAID == ["old 5"] * CALLS
