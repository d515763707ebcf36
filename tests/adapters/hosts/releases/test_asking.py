"""Two releases of an agent that are up at once: one of them asks, and the other takes over."""

from __future__ import annotations

import asyncio
from pathlib import Path

from detent.adapters.hosts.releases.asking import LOOK_S, WHOLE_S
from detent.hosts import HostRefusal, LocalHost
from detent.journals import SQLiteJournal
from detent.machine import ManualClock
from detent.ports.listing import RunQuery
from tests.adapters.hosts.test_releases import (
    clerk,
    question,
    refund,
    refund_with_receipt,
    until,
)

OVERLAP_S = 400
"""Two releases are up for so long, and somebody looks at either each second."""


def test_a_question_stands_with_the_new_release_and_stays_there(tmp_path: Path) -> None:
    """While both are up it is put anew once, however long that lasts: the old one leaves it alone.

    It says so where people look, and once the new one has gone the question is there in no time.
    """
    journal, clock = SQLiteJournal(tmp_path / "runs.db"), ManualClock(1_000_000.0)

    async def play() -> None:
        old = LocalHost(clerk(refund), journal, look_s=0.02, clock=clock)
        new = LocalHost(clerk(refund_with_receipt), journal, look_s=0.02, clock=clock)
        async with old, asyncio.timeout(60):
            await old.start("clerk", "pay it back", run_id="r")
            first = await question(old)
            async with new:
                second = await question(new, first.digest)
                length = (await new.run("r")).listed.length
                for _ in range(OVERLAP_S // 5):
                    clock.advance(5)
                    assert [one.call.digest for one in await new.pending()] == [second.digest]
                    assert await old.pending() == []
                assert (await new.run("r")).listed.length == length
                assert old.health().faults == {"r": "OutdatedQuestionError"}
                assert "process" in (await old.run("r")).held_by
                assert new.health().faults == {}
            clock.advance(LOOK_S)
            third = await question(old, second.digest)
            assert third.digest == first.digest
            assert old.health().faults == {}

    asyncio.run(play())


def test_what_the_old_release_keeps_comes_back_once_it_has_gone(tmp_path: Path) -> None:
    """Nobody looks: the new one finds out by itself, within seconds, however long both were up."""
    journal, clock = SQLiteJournal(tmp_path / "runs.db"), ManualClock(1_000_000.0)

    async def play() -> None:
        old = LocalHost(clerk(refund), journal, look_s=0.02, clock=clock)
        new = LocalHost(clerk(refund_with_receipt), journal, look_s=0.02, clock=clock)
        async with new, asyncio.timeout(60):
            await new.start("clerk", "pay it back", run_id="r")
            first = await question(new)
            async with old:
                second = await question(old, first.digest)
                for _ in range(OVERLAP_S // 5):
                    clock.advance(5)
                    assert await new.pending() == []
                    assert len(await old.pending()) == 1
                assert new.health().faults == {"r": "OutdatedQuestionError"}
                length = (await old.run("r")).listed.length
            clock.advance(LOOK_S)
            await until(lambda: journal.runs(RunQuery(run_id="r"))[0].length > length)
            assert (await question(new, second.digest)).digest == first.digest

    asyncio.run(play())


def test_a_run_that_is_answered_elsewhere_is_held_back_no_longer(tmp_path: Path) -> None:
    """The health says what waits, and not what has waited."""
    journal, clock = SQLiteJournal(tmp_path / "runs.db"), ManualClock(1_000_000.0)

    async def play() -> None:
        old = LocalHost(clerk(refund), journal, look_s=0.02, clock=clock)
        new = LocalHost(clerk(refund_with_receipt), journal, look_s=0.02, clock=clock)
        async with old, new, asyncio.timeout(60):
            await old.start("clerk", "pay it back", run_id="r")
            asked = await question(new, (await question(old)).digest)
            refused = await old.send("r", asked.confirm(by="Ada"))
            assert isinstance(refused, HostRefusal)
            assert refused.why == "outdated"
            assert old.health().faults == {"r": "OutdatedQuestionError"}
            while (await new.run("r")).listed.status != "done":  # the old one may take up a yes
                for one in await new.pending():
                    await new.send("r", one.call.confirm(by="Ada"))
                clock.advance(LOOK_S)
            while old.health().faults:
                clock.advance(WHOLE_S)
                await asyncio.sleep(0.02)

    asyncio.run(play())


def test_another_process_of_the_release_takes_over_what_it_keeps(tmp_path: Path) -> None:
    """Where the one that has put a question anew ends, the other release still leaves it alone."""
    journal, clock = SQLiteJournal(tmp_path / "runs.db"), ManualClock(1_000_000.0)

    async def play() -> None:
        old = LocalHost(clerk(refund), journal, look_s=0.02, clock=clock)
        one, two = (
            LocalHost(clerk(refund_with_receipt), journal, look_s=0.02, clock=clock)
            for _ in range(2)
        )
        async with old, two, asyncio.timeout(60):
            async with one:
                await old.start("clerk", "pay it back", run_id="r")
                first = await question(old)
                asked = await question(one, first.digest)
                await old.start("clerk", "pay it back", run_id="s")
                while len(await two.pending()) < 2:  # noqa: ASYNC110 - each look has it asked
                    await asyncio.sleep(0.02)
            for _ in range(20):
                clock.advance(LOOK_S)
                await asyncio.sleep(0.02)
            assert await old.pending() == []
            assert asked.digest in {each.call.digest for each in await two.pending()}

    asyncio.run(play())
