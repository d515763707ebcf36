"""The finder: what it reads of a store in which very many runs wait, and what it finds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from attrs import evolve

from detent.adapters.drivers.leases import Keeper
from detent.adapters.drivers.steps import Steps
from detent.adapters.hosts.finder import BUSY_S, PAGES, PART, WHOLE_S, Finder, runs_of
from detent.adapters.hosts.looks import Looks
from detent.journals import Entry, JournalError, Listing, MemoryJournal, RunQuery, StoredRun
from detent.ports.claims import Claim, RunBusyError
from detent.testing import ManualClock

NOW = 1000.0
RUNS = 2 * PART + 100
SOON = 60.0


class Counted(MemoryJournal):
    """Counts the runs that were read, and is away when it is told."""

    count = 0
    away_at: int | None = None

    def runs(self, query: RunQuery = RunQuery()) -> Sequence[StoredRun]:  # noqa: B008 - a value
        """A page."""
        if self.away_at is not None and self.count >= self.away_at:
            self.away_at = None
            raise JournalError("away")
        page = super().runs(query)
        self.count += len(page)
        return page


def waits(
    journal: MemoryJournal, run_id: str, at: float, wake_at: float | None, agent: str = "clerk"
) -> None:
    """A run that waits."""
    journal.append(run_id, [Entry(0, at, "Asked", "waiting", {}, Listing(agent, "", wake_at))])


def filled() -> tuple[Counted, Finder, ManualClock]:
    """Many runs that wait for a human; the oldest one, which is read last, for a time."""
    journal, clock = Counted(), ManualClock(NOW)
    waits(journal, "oldest", 1.0, NOW + SOON)
    for number in range(RUNS):
        waits(journal, f"{number:06}", 2.0 + number / RUNS, None)
    return journal, Finder(journal, Keeper(journal.claims, clock=clock), {"clerk"}, clock), clock


def whole(journal: Counted, finder: Finder, clock: ManualClock) -> list[int]:
    """How many runs are read by each look, until all have been seen."""
    read: list[int] = []
    while not read or finder.next_at <= clock.now():
        journal.count = 0
        assert not finder.look(())
        read.append(journal.count)
    return read


def test_all_that_wait_are_read_in_parts() -> None:
    """At the beginning, and again after some time."""
    journal, finder, clock = filled()
    for _ in range(2):
        read = whole(journal, finder, clock)
        assert len(read) == 3
        assert max(read) <= PART + sum(PAGES)
        assert sum(read) >= RUNS
        clock.advance(SOON / 2)
        assert finder.next_at == NOW + SOON
        finder._whole_at -= WHOLE_S


AGENTS = {"", "clerk", "absent"}


def test_runs_of_other_agents_cost_nothing() -> None:
    """However many of them wait before the only ones that are looked for."""
    journal, clock = Counted(), ManualClock(NOW)
    waits(journal, "nameless", 1.0, None, "")
    waits(journal, "mine", 2.0, NOW + SOON)
    for number in range(1000):
        waits(journal, f"{number:06}", 3.0, None, "other")
    finder = Finder(journal, Keeper(journal.claims, clock=clock), AGENTS, clock)
    assert not finder.look(())
    assert journal.count <= 2 * PAGES[0] + 2
    assert finder.next_at == NOW + SOON


def test_runs_of_agents_come_in_the_order_of_lists_wherever_a_page_ends() -> None:
    """Of pages that are full of them, of some that are not, and of others' behind."""
    journal = MemoryJournal()
    names = [*["clerk", ""] * 40, *["other"] * 60, *["", "other", "clerk"] * 20, *["other"] * 9]
    for number, agent in enumerate(names):
        waits(journal, f"{number:03}", float(number // 2), None, agent)
    query = RunQuery("waiting")
    wanted = [run for run in journal.runs(query) if run.agent in AGENTS]
    for pages in ((1, 1), (1, 3), (20, 7), (500, 500)):
        assert list(runs_of(journal, AGENTS, query, pages)) == wanted
        late = [run for run in wanted if run.at >= 30.0]
        assert list(runs_of(journal, AGENTS, query, pages, 30.0)) == late
    assert list(runs_of(journal, {"clerk"}, query, (2, 2))) == [
        run for run in wanted if run.agent == "clerk"
    ]


def test_a_wait_that_ends_while_all_are_read_is_not_late() -> None:
    """It is found by the next look, and not behind a million others."""
    journal, finder, clock = filled()
    waits(journal, "news", NOW, NOW + 1)
    assert not finder.look(())
    assert finder.next_at == NOW  # there is more to read
    clock.advance(1)
    assert [run.run_id for run in finder.look(())] == ["news"]


def test_a_look_without_news_reads_little() -> None:
    """Not a page of runs that it knows."""
    journal, finder, clock = filled()
    whole(journal, finder, clock)
    clock.advance(20)
    journal.count = 0
    assert not finder.look(())
    assert journal.count <= 20


def test_a_store_that_was_away_is_read_from_the_front() -> None:
    """Else a run that waits for a time could be forgotten."""
    journal, finder, clock = filled()
    journal.count, journal.away_at = 0, PART + 200
    assert not finder.look(())
    with pytest.raises(JournalError):
        finder.look(())
    assert len(whole(journal, finder, clock)) == 3
    assert finder.next_at == NOW + SOON


def test_a_run_that_comes_while_the_store_is_looked_at_is_no_find() -> None:
    """It is here by then, or is to be left alone."""
    journal, clock = MemoryJournal(), ManualClock(NOW)
    journal.append("r", [Entry(0, NOW, "Started", "running", {}, Listing("clerk"))])
    finder = Finder(journal, Keeper(journal.claims, clock=clock), {"clerk"}, clock)
    looks = Looks(finder, clock, 1.0)

    def found(*here: set[str]) -> list[str]:
        known = iter(here)
        return [run.run_id for run in asyncio.run(looks.found(lambda: next(known)))]

    assert found(set(), set()) == ["r"]
    assert found(set(), {"r"}) == []


@pytest.mark.parametrize("status", ["running", "waiting"])
def test_a_clock_that_is_set_back_delays_no_run(status: str) -> None:
    """A run whose driver dies behind it, or which was about to be looked at again."""
    journal, clock = MemoryJournal(), ManualClock(NOW + 3600.0)
    listing = Listing("clerk", "", NOW - 1.0)
    journal.append("r", [Entry(0, NOW - 1.0, "Started", status, {}, listing)])
    drivers = ["another"]

    class Driven(Keeper):
        """As the store says, which another process writes as well."""

        def require_free(self, run_id: str) -> Steps[None]:
            """Refuse while there is a driver."""
            if drivers:
                raise RunBusyError(run_id, Claim("another", 1, NOW), None)
            return super().require_free(run_id)

    finder = Finder(journal, Driven(journal.claims, clock=clock), {"clerk"}, clock)
    assert not finder.look(())
    clock.advance(-3600.0)
    drivers.clear()
    found = list[str]()
    for _ in range(3):
        found += [run.run_id for run in finder.look(())]
        clock.advance(BUSY_S / 2)
    assert "r" in found


class Late(MemoryJournal):
    """Its list of the runs that go on is one of a moment ago."""

    def runs(self, query: RunQuery = RunQuery()) -> Sequence[StoredRun]:  # noqa: B008 - a value
        """A page."""
        if query.status != "running":
            return super().runs(query)
        return [evolve(run, status="running") for run in super().runs(RunQuery())]


def test_a_run_that_was_left_while_it_was_looked_is_not_gone_on_with() -> None:
    """It waits for a human by then, and nobody drives it any more."""
    journal, clock = Late(), ManualClock(NOW)
    finder = Finder(journal, Keeper(journal.claims, clock=clock), {"clerk"}, clock)
    waits(journal, "asks", NOW, None)
    journal.append("goes on", [Entry(0, NOW, "Begun", "running", {}, Listing("clerk"))])
    assert [run.run_id for run in finder.look(())] == ["goes on"]
