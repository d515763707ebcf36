"""Those who speak to one run, and have to wait there, keep nobody from speaking to another one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from threading import Event as Flag

import pytest

from detent import (
    Agent,
    AlwaysAskPolicy,
    ChatMessage,
    MemoryJournal,
    ScriptedChatGenerator,
    ToolCall,
    tool,
)
from detent.adapters.agent import decisions
from detent.adapters.drivers.steps import Wait
from detent.adapters.system.threads_and_loops import PLACES
from detent.hosts import Accepted, LocalHost
from detent.journals import Checkpoint, Entry, JournalConflictError

HEARD = "MessageReceived"
MANY = PLACES + 4
"""More than there are threads for the stores of all hosts."""


@tool
def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


class BusyJournal(MemoryJournal):
    """Does something else before it takes what is said to run "a"."""

    def __init__(self, first: Callable[[], object]) -> None:
        super().__init__()
        self._first = first

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        if run_id == "a" and entries[0].kind == HEARD:
            self._first()
        super().append(run_id, entries, checkpoint)


async def waiting(host: LocalHost) -> None:
    """Two runs wait for a human."""
    for count, run_id in enumerate(("a", "b"), start=1):
        await host.start("clerk", "Pay.", run_id=run_id)
        async for _ in host.watch(run_id):
            if len(await host.pending()) == count:
                break


def host_of(journal: MemoryJournal) -> LocalHost:
    """Whose agent asks before it pays."""
    agent = Agent(
        chat_generator=ScriptedChatGenerator(*[ToolCall("pay", {"to": "Ann"})] * 2),
        tools=[pay],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
    )
    return LocalHost({"clerk": agent}, journal, look_s=0.05)


def test_who_waits_for_a_turn_holds_no_thread() -> None:
    """One of many writes to a run, for as long as the store takes: another run has its own turn."""
    is_begun, may_end = Flag(), Flag()

    def hold() -> None:
        is_begun.set()
        may_end.wait(20)

    async def visit() -> None:
        journal = BusyJournal(hold)
        async with host_of(journal) as host:
            await waiting(host)
            more = ChatMessage.from_user("more")
            many = [asyncio.create_task(host.send("a", more)) for _ in range(MANY)]
            try:
                while not is_begun.is_set():  # noqa: ASYNC110 - a thread says so
                    await asyncio.sleep(0)
                assert await asyncio.wait_for(host.send("b", more), 5) == Accepted("b")
                assert not any(task.done() for task in many)
                many[0].cancel()  # it is so at once, and what it says is just being written
                with pytest.raises(asyncio.CancelledError):
                    await asyncio.wait_for(many.pop(0), 5)
            finally:
                may_end.set()
            assert await asyncio.gather(*many) == [Accepted("a")] * (MANY - 1)
            assert sum(one.kind == HEARD for one in journal.read("a")) == MANY

    asyncio.run(visit())


def test_who_has_lost_to_others_waits_in_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them wait until they try again, and another run hears at once."""
    are_paused, are_faster = list[float](), Flag()
    are_faster.set()

    def lose() -> None:
        if are_faster.is_set():
            raise JournalConflictError("a", 1, 2)

    async def visit() -> None:
        go_on = asyncio.Event()

        def paused(seconds: float) -> Wait:
            are_paused.append(seconds)
            return Wait(in_a_thread, go_on.wait)

        monkeypatch.setattr(decisions, "pause", paused)
        async with host_of(BusyJournal(lose)) as host:
            await waiting(host)
            more = ChatMessage.from_user("more")
            many = [asyncio.create_task(host.send("a", more)) for _ in range(MANY)]
            while len(are_paused) < MANY:  # noqa: ASYNC110 - it comes in this loop
                await asyncio.sleep(0)
            assert await asyncio.wait_for(host.send("b", more), 5) == Accepted("b")
            are_faster.clear()
            go_on.set()
            assert await asyncio.gather(*many) == [Accepted("a")] * MANY

    asyncio.run(visit())


def in_a_thread() -> None:
    """Nobody waits in a thread."""
    raise AssertionError("a thread was to wait")
