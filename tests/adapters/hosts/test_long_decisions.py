"""What people decide may be long: no event loop waits while it is read."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from detent import Agent, ChatMessage, MemoryJournal, ScriptedChatGenerator, ToolCall, tool
from detent.adapters.drivers import loading
from detent.approvals import AlwaysAskPolicy
from detent.hosts import LocalHost

may_end: asyncio.Event


@tool
def put(x: Any) -> str:
    """Store JSON."""
    return f"stored {len(x)}"


@tool
async def wait() -> str:
    """Wait until it may end."""
    await may_end.wait()
    return "waited"


async def decided(many: int, *, is_at_work: bool) -> str:
    """What a tool has said that a human has given so many lists."""
    global may_end  # noqa: PLW0603 - a tool has no other way to hear of it
    may_end = asyncio.Event()
    calls = [ToolCall("put", {"x": []}), *([ToolCall("wait", {})] if is_at_work else [])]
    model = ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=calls), "done")
    ask = {"put": AlwaysAskPolicy()}
    agent = Agent(chat_generator=model, tools=[put, wait], confirmation_strategies=ask)
    async with LocalHost({"a": agent}, MemoryJournal()) as host, asyncio.timeout(60):
        await host.start("a", "Go.", run_id="r")
        async for _ in host.watch("r"):
            if await host.pending():
                break
        (waiting,) = await host.pending()
        await host.send("r", waiting.call.modify({"x": [[] for _ in range(many)]}))
        async for told in host.watch("r"):
            if getattr(told, "kind", "") == "ToolReturned":
                break
        may_end.set()
        result = await host.result("r")
    return str([one.text for message in result.messages for one in message.tool_call_results])


@pytest.mark.parametrize("is_at_work", [False, True])
def test_a_long_decision_is_read_in_a_thread(
    is_at_work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the run is taken up for it, or at work; a short one holds nobody up."""
    threads = list[int]()
    read = loading.event_and_run

    def noted(*args: Any) -> Any:
        found = read(*args)
        if type(found[0]).__name__ == "HumanDecided":
            threads.append(threading.get_ident())
        return found

    monkeypatch.setattr(loading, "event_and_run", noted)
    for many, is_long in ((3, False), (20_000, True)):
        threads.clear()
        assert f"stored {many}" in asyncio.run(decided(many, is_at_work=is_at_work))
        assert threads
        assert (threading.get_ident() not in threads) is is_long
