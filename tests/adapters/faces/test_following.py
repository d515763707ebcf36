"""Following a run: each piece comes as it is said, and nothing twice."""

from __future__ import annotations

import asyncio

from detent import Agent, MemoryJournal
from detent.adapters.faces.following import Followed, Left, Spoken, follow
from tests.adapters.faces.peers import hosting
from tests.adapters.hosts.test_local import Slow


def test_pieces_come_as_they_are_said_and_once() -> None:
    """The first one before the answer is there; whoever comes in its middle hears it as well."""
    slow = Slow()

    async def heard() -> list[list[Followed]]:
        async with (
            hosting(MemoryJournal(), slow=Agent(chat_generator=slow)) as host,
            asyncio.timeout(10),
        ):
            await host.start("slow", "go", run_id="r")
            told: list[list[Followed]] = []
            followers = [follow(host, "r", 1), follow(host, "r", 1)]
            for one in followers:
                told.append([])
                while not told[-1] or not isinstance(told[-1][-1], Spoken):
                    told[-1].append(await anext(one))
            slow.may.set()
            for so_far, one in zip(told, followers, strict=True):
                so_far += [more async for more in one]
            return told

    for told in asyncio.run(heard()):
        assert [one for one in told if isinstance(one, Spoken)] == [
            Spoken("1", "one "),
            Spoken("1", "two"),
        ]
        assert isinstance(told[-1], Left)
