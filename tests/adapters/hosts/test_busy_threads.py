"""A conversation has one run at a time: what whoever asks for another one is told."""

from __future__ import annotations

import asyncio

from detent import ChatMessage, MemoryJournal
from detent.hosts import Accepted, HostRefusal, LocalHost
from detent.testing import host_agents


def texts() -> list[str]:
    """What is said of a run that waits, of one that goes on, and of one with another behind it."""

    async def visit() -> list[str]:
        said: list[Accepted | HostRefusal] = []
        async with LocalHost(host_agents(), MemoryJournal(), look_s=0.05) as host:
            await host.start("clerk", "pay", run_id="asks", thread_id="shop")
            async for _ in host.watch("asks"):
                if await host.pending():
                    break
            said.append(await host.start("clerk", "pay", run_id="next", thread_id="shop"))
            await host.start("echo", "one", run_id="over")
            await host.result("over")
            behind = await host.send("over", ChatMessage.from_user("two"))
            assert isinstance(behind, Accepted)
            said.append(await host.send("over", ChatMessage.from_user("three")))
            refused = [each for each in said if isinstance(each, HostRefusal)]
            assert [each.why for each in refused] == ["thread_busy"] * 2
            assert behind.run_id in refused[1].text
            return [each.text for each in refused]

    return asyncio.run(visit())


def test_who_asks_for_a_second_run_is_told_what_the_first_one_waits_for_and_what_to_do() -> None:
    """In words for people of any face, which name no method of an agent."""
    waits, behind = texts()
    for words in ("'shop'", "'asks'", "waiting", "nothing was begun", "decide about its calls of"):
        assert words in waits
    for words in ("somebody else", "'over'", "was not said", "say it there"):
        assert words in behind
    assert "agent." not in waits + behind
