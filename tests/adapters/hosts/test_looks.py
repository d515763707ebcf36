"""When a store that is looked at is away: once that has gone on long enough to matter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from detent import MemoryJournal
from detent.adapters.drivers.company.writes import Writes
from detent.adapters.hosts import looks as looks_module
from detent.adapters.hosts.effects.driving import EveryRun
from detent.adapters.hosts.finder import Finder
from detent.adapters.hosts.looks import SILENT_S, STALE_LOOKS, Looks
from detent.journals import JournalUnavailableError
from detent.machine import ManualClock
from detent.ports.listing import ALL_RUNS, RunQuery, StoredRun


class HeldJournal(MemoryJournal):
    """Each list does `first`, as a file does that somebody holds, or that is gone."""

    first: Callable[[], object] = str

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As the port says, then."""
        self.first()
        return super().runs(query)


class Stage:
    """A store, and who looks at it each second; `day` is the time of day, which may be set."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock, self.day, self.journal = clock, ManualClock(1_000.0), HeldJournal()
        finder = Finder(self.journal, EveryRun(), {"it"}, self.day)
        self.looks = Looks(finder, self.day, 1.0)

    def look(self, times: int) -> None:
        """Look so often, one after the other."""

        async def main() -> None:
            left, have_looked = [None] * times, asyncio.Event()

            async def look() -> None:
                if not left:
                    have_looked.set()
                    await asyncio.Event().wait()
                left.pop()
                self.looks.hurry()
                await self.looks.found(set)

            writes = Writes(self.journal.claims, self.clock)
            looking = asyncio.create_task(self.looks.for_ever(look, str, writes))
            await have_looked.wait()
            looking.cancel()

        asyncio.run(main())


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    """One whose clock that nobody sets goes on by hand."""
    clock = ManualClock(50.0)
    monkeypatch.setattr(looks_module, "monotonic", clock.now)
    return Stage(clock)


def test_a_look_that_waits_for_a_file_makes_nothing_unready(stage: Stage) -> None:
    """However often: it has not failed, and the next moment it succeeds."""
    said = list[str]()
    assert "has not been looked at yet" in stage.looks.trouble
    stage.look(1)

    def wait() -> None:
        stage.clock.advance(4.5)
        said.append(stage.looks.trouble)

    stage.journal.first = wait
    stage.look(3)
    assert len(said) >= 3
    assert {*said} == {""}


def test_a_store_is_away_when_enough_looks_have_failed(stage: Stage) -> None:
    """Neither a few nor many at once; and it is back with the first that does not."""
    stage.look(1)

    def fail() -> None:
        raise JournalUnavailableError("locked")

    stage.journal.first = fail
    stage.clock.advance(10.0)
    stage.look(STALE_LOOKS - 1)
    assert not stage.looks.trouble
    stage.look(1)
    assert "is away: it could not be looked at (JournalUnavailableError)" in stage.looks.trouble
    del stage.journal.first
    stage.look(1)
    assert not stage.looks.trouble
    stage.journal.first = fail
    stage.look(STALE_LOOKS)
    assert not stage.looks.trouble


def test_a_store_that_answers_no_more_is_away(stage: Stage) -> None:
    """No look fails there, and none comes to an end."""
    said = list[str]()
    stage.look(1)

    def wait() -> None:
        stage.clock.advance(SILENT_S)
        said.append(stage.looks.trouble)

    stage.journal.first = wait
    stage.look(1)
    assert said[0] == "the store of the runs has not answered a look for 30 s"


@pytest.mark.parametrize("step_s", [-600.0, 600.0])
def test_a_time_of_day_that_is_set_says_nothing_of_the_store(step_s: float, stage: Stage) -> None:
    """Neither that it is there, while each look fails, nor that it is away where none does."""
    stage.look(1)
    stage.day.advance(step_s)
    assert not stage.looks.trouble

    def fail() -> None:
        stage.clock.advance(1.0)
        raise JournalUnavailableError("gone")

    stage.journal.first = fail
    stage.look(STALE_LOOKS)
    assert "is away" in stage.looks.trouble
