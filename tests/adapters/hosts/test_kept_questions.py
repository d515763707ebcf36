"""A question that is to be put anew is shown again, whichever process ends before it is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from detent import (
    Agent,
    AlwaysAskPolicy,
    HITLBreakpointException,
    MemoryJournal,
    ScriptedChatGenerator,
    ToolCall,
    tool,
)
from detent.hosts import LocalHost
from detent.machine import Resumed


def test_a_question_that_was_to_be_judged_anew_is_not_lost_with_its_process() -> None:
    """Whoever went on with the run has ended before it was asked: the next host asks it."""
    journal = MemoryJournal()

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    def ends(before: object, event: object, after: object) -> None:
        if isinstance(event, Resumed):
            raise KeyboardInterrupt

    def clerk(*observers: Any) -> Agent[Any]:
        return Agent(
            chat_generator=ScriptedChatGenerator(ToolCall("pay", {"amount": 5}), "Done."),
            tools=[pay],
            confirmation_strategies={"pay": AlwaysAskPolicy()},
            journal=journal,
            name="clerk",
            observers=observers,
        )

    with pytest.raises(HITLBreakpointException):
        clerk().run("Pay.", run_id="r")
    with pytest.raises(KeyboardInterrupt):
        clerk(ends).resume("r")
    assert [(run.status, run.pending) for run in journal.runs()] == [("running", ("pay",))]

    async def asked() -> Sequence[str]:
        async with LocalHost({"clerk": clerk()}, journal) as host:
            async for _ in host.watch("r"):
                if found := await host.pending():
                    return [question.call.tool_name for question in found]
        return ()

    assert asyncio.run(asked()) == ["pay"]
