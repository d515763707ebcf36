"""A question that is to be put anew is shown again, whichever process ends before it is."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from detent import (
    Agent,
    AlwaysAskPolicy,
    ChatMessage,
    HITLBreakpointException,
    MemoryJournal,
    ScriptedChatGenerator,
    Tool,
    ToolCall,
    tool,
)
from detent.hosts import LocalHost
from detent.machine import Judged, Resumed, ToolReturned


@tool
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@tool(name="pay")
def pay_later(amount: int, days: int = 3) -> str:
    """Pay some days later."""
    return f"to be paid {amount} in {days} days"


@tool(labels=("web",))
def browse() -> str:
    """Read something that a stranger has written, once the other call has been judged."""
    assert JUDGED.wait(10)
    return "a page"


PAY = ToolCall("pay", {"amount": 5})
JUDGED = threading.Event()


def clerk(journal: MemoryJournal, *tools: Tool, ends_at: type | None = None) -> Agent[Any]:
    """One who asks before it pays, whose process may end once something has happened."""
    JUDGED.clear()

    def end(before: object, event: object, after: object) -> None:
        if isinstance(event, Judged):
            JUDGED.set()
        if ends_at is not None and isinstance(event, ends_at):
            raise KeyboardInterrupt

    calls = (PAY, ToolCall("browse")) if browse in tools else (PAY,)
    return Agent(
        chat_generator=ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=calls), "Done."),
        tools=tools,
        confirmation_strategies={"pay": AlwaysAskPolicy()},
        journal=journal,
        name="clerk",
        observers=[end],
    )


async def asked_by(agent: Agent[Any], journal: MemoryJournal) -> list[str]:
    """What the next host asks, though nobody has looked before it has gone on."""
    async with LocalHost({"clerk": agent}, journal) as host:
        async for _ in host.watch("r"):
            if found := await host.pending():
                return [question.call.tool_name for question in found]
    return []


@pytest.mark.parametrize("next_pay", [pay, pay_later], ids=["same", "other release"])
def test_a_question_that_was_to_be_judged_anew_is_not_lost_with_its_process(
    next_pay: Tool,
) -> None:
    """Whoever went on with the run has ended before it was asked: the next host asks it."""
    journal = MemoryJournal()
    with pytest.raises(HITLBreakpointException):
        clerk(journal, pay).run("Pay.", run_id="r")
    with pytest.raises(KeyboardInterrupt):
        clerk(journal, next_pay, ends_at=Resumed).resume("r")
    assert [(run.status, run.pending) for run in journal.runs()] == [("running", ("pay",))]
    assert asyncio.run(asked_by(clerk(journal, next_pay), journal)) == ["pay"]


def test_nor_is_one_before_which_something_was_read() -> None:
    """Its process has ended before its policy could be asked what that changes."""
    journal = MemoryJournal()
    with pytest.raises(KeyboardInterrupt):
        clerk(journal, pay, browse, ends_at=ToolReturned).run("Pay.", run_id="r")
    assert [(run.status, run.pending) for run in journal.runs()] == [("running", ("pay",))]
    assert asyncio.run(asked_by(clerk(journal, pay, browse), journal)) == ["pay"]
