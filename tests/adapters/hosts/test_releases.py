"""Runs that wait while another release of their agent is deployed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from detent import Agent, ChatMessage, ScriptedChatGenerator, Tool, ToolCall, tool
from detent.adapters.hosts.faults import AGAIN_S
from detent.adapters.hosts.stored import StoredHost
from detent.approvals import AlwaysAskPolicy, PendingCall
from detent.hosts import HostRefusal, LocalHost
from detent.journals import Checkpoint, Entry, SQLiteJournal
from detent.machine import ManualClock
from detent.testing import When
from tests.adapters.hosts.engines.sites import ENGINES, site_of
from tests.adapters.hosts.engines.worker import host_on


@tool
def refund(amount: int) -> str:
    """Pay back."""
    return f"{amount} paid"


@tool(name="refund")
def refund_with_receipt(amount: int) -> str:
    """Pay back."""
    return f"{amount} paid, with a receipt"


def replied(messages: Sequence[ChatMessage]) -> ToolCall | str:
    """The model calls the tool, and tells what it gave."""
    results = messages[-1].tool_call_results
    return results[0].text if results else ToolCall("refund", {"amount": 9})


def clerk(refunding: Tool) -> dict[str, Agent[Any, Any]]:
    """Asks before it pays back."""
    script = ScriptedChatGenerator(When(lambda messages: True, replied))
    rules = {"refund": AlwaysAskPolicy()}
    return {"clerk": Agent(chat_generator=script, tools=[refunding], confirmation_strategies=rules)}


async def question(host: StoredHost, but: str = "") -> PendingCall:
    """What a human is asked, once it is another question than this one."""
    while True:
        for one in await host.pending():
            if one.call.digest != but:
                return one.call
        await asyncio.sleep(0.02)


async def released(before: StoredHost, after: StoredHost) -> None:
    """A run waits by one release; a human looks at the questions of the next one."""
    async with before:
        await before.start("clerk", "pay it back", run_id="r")
        first = await question(before)
    async with after:
        old = await after.send("r", first.confirm(by="Ada"))
        assert isinstance(old, HostRefusal)
        second = await question(after, first.digest)
        assert "the tool itself has changed" in second.changed
        await after.send("r", second.confirm(by="Ada"))
        assert (await after.result("r")).text == "9 paid, with a receipt"


def test_a_question_is_put_anew_by_the_next_release(tmp_path: Path) -> None:
    """It is not lost to whoever looks at what waits."""
    journal = SQLiteJournal(tmp_path / "runs.db")

    async def play() -> None:
        async with asyncio.timeout(30):
            hosts = [LocalHost(clerk(one), journal) for one in (refund, refund_with_receipt)]
            await released(*hosts)

    asyncio.run(play())


@pytest.mark.parametrize("engine", ENGINES)
def test_so_it_is_where_an_engine_keeps_runs_going(engine: str, tmp_path: Path) -> None:
    """A worker of the new release is woken to put it."""
    journal = SQLiteJournal(tmp_path / "runs.db")

    async def play() -> None:
        async with asyncio.timeout(90):
            with site_of(engine, tmp_path) as site:
                told = (site.told(), site.told())
                agents = (clerk(refund), clerk(refund_with_receipt))
                hosts = [
                    host_on(where, agent, journal, drain_s=1)
                    for where, agent in zip(told, agents, strict=True)
                ]
                await released(*hosts)

    asyncio.run(play())


@tool(name="refund")
def refund_by_name(name: str) -> str:
    """Pay back."""
    return f"{name} paid"


class ReadJournal(SQLiteJournal):
    """Knows which runs were read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.read_ids: list[str] = []

    def read(self, run_id: str, start: int = 0) -> Iterator[Entry]:
        """As the port says."""
        self.read_ids.append(run_id)
        return super().read(run_id, start)

    def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """As the port says."""
        self.read_ids.append(run_id)
        return super().checkpoints(run_id)


def test_a_run_that_waits_and_cannot_be_followed_is_in_the_health(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Before anybody looks at it; and no longer once the release before has gone on with it.

    The log has it, once.
    """
    journal, clock = ReadJournal(tmp_path / "runs.db"), ManualClock(1_000_000.0)

    async def play() -> None:
        before = LocalHost(clerk(refund), journal)
        async with before:
            await before.start("clerk", "pay it back", run_id="r")
            asked = await question(before)
        after = LocalHost(clerk(refund_by_name), journal, look_s=0.02, clock=clock)
        async with after, asyncio.timeout(30):
            await until(lambda: after.health().faults == {"r": "AgentChangedError"})
            journal.read_ids.clear()
            assert await after.pending() == []
            assert journal.read_ids == []  # it is known, and thousands may be so
            async with LocalHost(clerk(refund), journal) as before_again:
                await before_again.send("r", asked.confirm(by="Ada"))
                await before_again.result("r")
            while after.health().faults:  # a look that is under way knows the run as it was
                clock.advance(AGAIN_S)
                await asyncio.sleep(0.01)

    asyncio.run(play())
    assert caplog.text.count("run r waits and cannot be followed") == 1


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for what a look is to find."""
    while not is_so():  # noqa: ASYNC110 - a health says nothing by itself
        await asyncio.sleep(0.01)
