"""What comes in one round of an engine, and what waits for what is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from detent import MemoryJournal
from detent.adapters.hosts.effects.history import Json
from detent.adapters.hosts.effects.inside import MAIL, RECORD, Inside
from detent.adapters.hosts.effects.versions import versions_of
from detent.machine import MessageReceived
from detent.ports.pending import PendingCall
from tests.adapters.hosts.effects.played import Flight, Played, Stage
from tests.adapters.hosts.effects.test_inside import DONE, asker, said, said_by
from tests.adapters.hosts.effects.test_releases import clerk, pay_mallory, question, say_yes, until

JUDGE, TOOL = "judge/1/0/1", "tool/1/0/1"
LOOK: Json = {"look": True}


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    DONE.clear()


class HeldOutside:
    """A worker that holds the next job of a name, until it is said what comes of it."""

    def __init__(self, outside: Any) -> None:
        self._outside = outside
        self._held = dict[str, asyncio.Future[Json]]()

    async def perform(self, job: Json, begins: Any = None) -> Json:
        """As the outside does, but for those that are held."""
        if (held := self._held.pop(job["effect"] or RECORD, None)) is not None:
            return await held
        came: Json = await self._outside.perform(job, begins)
        return came

    def hold(self, name: str) -> asyncio.Future[Json]:
        """What is to come of the next job of this name."""
        self._held[name] = asyncio.get_running_loop().create_future()
        return self._held[name]


class RoundEngine(Played):
    """An engine that tells of some futures together."""

    together: tuple[str, ...] = ()

    async def first(self, futures: Mapping[str, Flight]) -> Sequence[str]:
        """As the port says; those come in one round, though one of them comes first."""
        names = await super().first(futures)
        if self.together:
            names, self.together = self.together, ()
            await asyncio.wait([futures[name].task for name in names])
        return names


def held_stage(agent: Any) -> tuple[Stage, RoundEngine, HeldOutside]:
    """A run of an agent, in such an engine, with such a worker."""
    stage = Stage(agent, MemoryJournal())
    outside: Any = HeldOutside(stage.engine.outside)
    engine = RoundEngine(outside)
    stage.engine = engine
    return stage, engine, outside


async def written_question(engine: Played, inside: Inside) -> PendingCall:
    """What a human is asked, once that is known to be in the journal."""
    await until(lambda: engine.history and RECORD in engine.history[-1][0])
    return await question(inside)


def test_what_was_begun_anew_in_a_round_is_not_what_landed_in_it() -> None:
    """By one release a question is to be put anew, by another one it is not: all at once."""

    async def main() -> None:
        async with asyncio.timeout(20):
            stage, engine, outside = held_stage(asker())
            inside = stage.inside(await stage.given())
            following = asyncio.create_task(inside.follow())
            call = await written_question(engine, inside)
            judged, recorded = outside.hold(JUDGE), outside.hold(RECORD)
            old, new = versions_of(inside.spec), versions_of(clerk(pay_mallory).spec)
            await engine.mail.put((LOOK | {"versions": new}, None))
            await until(lambda: [job["effect"] for job in engine.jobs[-4:]] == [JUDGE, None] * 2)
            engine.together = (MAIL, RECORD, JUDGE)
            judged.set_result({"later": "it was not begun"})
            recorded.set_result({"versions": new})
            await engine.mail.put((LOOK | {"versions": old}, None))
            await until(lambda: versions_of(inside.spec) == new)
            await until(lambda: versions_of(inside.spec) == old)
            await say_yes(stage, inside, call)
            await following
            assert DONE == ["pay 9"]
            assert inside.run.messages[-1].text == "done"

    asyncio.run(main())


def test_a_job_that_carries_something_waits_for_the_one_that_only_writes() -> None:
    """Where an engine keeps what each carries: it is written first, and then carried by none."""

    async def main() -> None:
        async with asyncio.timeout(20):
            stage, engine, outside = held_stage(asker())
            engine.room = 100_000
            inside = stage.inside(await stage.given())
            following = asyncio.create_task(inside.follow())
            call = await written_question(engine, inside)
            recorded = outside.hold(RECORD)
            await engine.mail.put((LOOK, None))
            await until(lambda: engine.jobs[-1]["look"])
            await say_yes(stage, inside, call)
            assert await said(stage, MessageReceived(said_by("Ada")))  # a round later
            assert TOOL not in [job["effect"] for job in engine.jobs]
            recorded.set_result({"report": None})
            await following
            assert DONE == ["pay 9"]

    asyncio.run(main())
