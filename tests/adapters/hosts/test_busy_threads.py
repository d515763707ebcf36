"""A conversation has one run at a time: what whoever asks for another one is told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from detent import ChatMessage, MemoryJournal
from detent.hosts import Accepted, HostRefusal, LocalHost
from detent.ports.listing import ALL_RUNS, RunQuery, StoredRun
from detent.testing import host_agents


class LateJournal(MemoryJournal):
    """A run that another process has just begun is not there yet when it is first looked for."""

    is_late = False

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As the port says."""
        is_late, self.is_late = self.is_late and query.run_id is not None, False
        return [] if is_late else super().runs(query)


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


def test_a_run_that_another_process_is_just_beginning_does_not_hold_itself_up() -> None:
    """Whoever asks for it in its thread as well is told that it is there."""

    async def visit() -> list[Accepted | HostRefusal]:
        journal = LateJournal()
        async with LocalHost(host_agents(), journal, look_s=60.0) as host:
            first = await host.start("clerk", "pay", run_id="r", thread_id="shop")
            async for _ in host.watch("r"):
                if await host.pending():
                    break
            journal.is_late = True
            return [first, await host.start("clerk", "pay", run_id="r", thread_id="shop")]

    assert asyncio.run(visit()) == [Accepted("r", is_new=True), Accepted("r")]
