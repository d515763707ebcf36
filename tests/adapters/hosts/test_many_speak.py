"""Many who speak to one run at once: each is heard, or refused by a value."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from threading import Barrier, BrokenBarrierError

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
from detent.hosts import Accepted, HostRefusal, LocalHost
from detent.journals import Checkpoint, Entry, JournalConflictError

HEARD = "MessageReceived"


@tool
def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


class Contested(MemoryJournal):
    """Lets others be faster so often, and counts how often they were. Two may write at once."""

    def __init__(self, lost: int = 0) -> None:
        super().__init__()
        self.lost, self.conflicts, self.both = lost, 0, Barrier(2)

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        if entries[0].kind == HEARD:
            with suppress(BrokenBarrierError):
                self.both.wait(0.5)
            if self.conflicts < self.lost:
                self.conflicts += 1
                raise JournalConflictError(run_id, entries[0].position, entries[0].position + 1)
        try:
            super().append(run_id, entries, checkpoint)
        except JournalConflictError:
            self.conflicts += 1
            raise


def said(journal: Contested, count: int) -> list[Accepted | HostRefusal]:
    """What a host answers to so many messages at once to a run that waits."""

    async def visit() -> list[Accepted | HostRefusal]:
        agent = Agent(
            chat_generator=ScriptedChatGenerator(ToolCall("pay", {"to": "Ann"}), "Done."),
            tools=[pay],
            confirmation_strategies={"pay": AlwaysAskPolicy()},
        )
        async with LocalHost({"clerk": agent}, journal, look_s=0.05) as host:
            await host.start("clerk", "Pay.", run_id="r")
            async for _ in host.watch("r"):
                if await host.pending():
                    break
            messages = [ChatMessage.from_user(f"{number}") for number in range(count)]
            return await asyncio.gather(*(host.send("r", each) for each in messages))

    return asyncio.run(visit())


def test_many_who_speak_to_a_run_at_once_are_heard_one_after_the_other() -> None:
    """None of them reads again what the others have written at the same moment."""
    journal = Contested()
    assert said(journal, 60) == [Accepted("r")] * 60
    assert journal.conflicts == 0
    assert sum(entry.kind == HEARD for entry in journal.read("r")) == 60


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited at most between tries, and nobody does."""
    found = list[float]()

    def pause(seconds: float) -> Wait:
        found.append(seconds)
        return Wait(lambda: None)

    monkeypatch.setattr(decisions, "pause", pause)
    return found


def test_who_loses_to_other_processes_tries_again_later_and_later(pauses: list[float]) -> None:
    """By chance, so that those who have lost together do not meet again."""
    assert said(Contested(decisions.TRIES - 1), 1) == [Accepted("r")]
    assert len(pauses) == decisions.TRIES - 1
    assert len({*pauses}) == len(pauses)
    assert 0 < sum(pauses) < decisions.TRIES * decisions.PAUSE_MAX_S


def test_who_always_loses_is_refused_by_a_value(pauses: list[float]) -> None:
    """Which says whose doing it is, and what can be done."""
    journal = Contested(decisions.TRIES)
    (refusal,) = said(journal, 1)
    assert isinstance(refusal, HostRefusal)
    assert refusal.why == "full"
    assert "try again later" in refusal.text
    assert HEARD not in {entry.kind for entry in journal.read("r")}
