"""The overview: what is counted is what there is, however little time there is for it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any

import pytest

from detent import Agent, MemoryJournal, ScriptedChatGenerator
from detent.adapters.stories.parts import Call, Story, Stretch, Turn
from detent.adapters.web import overview, tally
from detent.adapters.web.overview import Figures, Overview, counted, figures_of
from detent.adapters.web.plots import AGENTS_MAX, HEIGHT, plot_of
from detent.adapters.web.tally import DAY_S, Key, Tally, day_of
from detent.hosts import Host, LocalHost
from detent.journals import Entry, Journal
from detent.ports.listing import Listing, StoredRun
from detent.web import web_app
from tests.adapters.web.pages import HOSTILE, visitor

NOW = 1_800_000_000.0
TODAY = day_of(NOW)


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few runs are many."""
    monkeypatch.setattr(tally, "PAGE", 10)


def begin(journal: Journal, run_id: str, at: float, agent: str = "clerk") -> None:
    data = {"run": {}, "name": agent}
    journal.append(run_id, [Entry(0, at, "Started", "running", data, Listing(agent))])


def end(journal: Journal, run_id: str, at: float, status: str = "done") -> None:
    length = len(list(journal.read(run_id)))
    data = {"turn": 1, "reply": {"message": {"role": "assistant", "content": []}}, "cost": 0.5}
    journal.append(run_id, [Entry(length, at, "ModelReplied", status, data)])


def hosted(journal: Journal, visit: Callable[[Host], Coroutine[Any, Any, None]]) -> None:
    async def go() -> None:
        agent: Any = Agent(chat_generator=ScriptedChatGenerator("Hi."))
        async with LocalHost({"nobody": agent}, journal) as host:
            await visit(host)

    asyncio.run(go())


def there_is(journal: Journal) -> Counter[Key]:
    runs = (run for run in journal.runs() if day_of(run.at) > TODAY - 14)
    return Counter((day_of(run.at), run.agent, run.status) for run in runs)


def some(journal: Journal, number: int) -> None:
    for place in range(number):
        begin(journal, f"run-{place}", NOW - place * DAY_S / 4, f"agent-{place % 3}")


def test_all_is_counted_once_and_what_changes_anew() -> None:
    """Back to the first day and no further; a run that moves is counted where it is now."""
    journal = MemoryJournal()
    some(journal, 80)

    async def visit(host: Host) -> None:
        known = Tally(lambda: 0)
        await known.look(host, TODAY - 13)
        assert known.is_whole
        assert +known.counts == there_is(journal)
        assert len(known) == there_is(journal).total() < 80
        for place in (3, 30, 79):
            end(journal, f"run-{place}", NOW + place, "failed")
        begin(journal, "new", NOW + 100)
        await known.look(host, TODAY - 13)
        assert +known.counts == there_is(journal)
        failed = [key[1] for key in known.counts if key[2] == "failed"]
        assert sorted(failed) == ["agent-0", "agent-1"]
        await known.look(host, TODAY)
        assert {day for day, _, _ in +known.counts} == {TODAY}

    hosted(journal, visit)


def test_little_time_is_enough_in_the_end() -> None:
    """Each look goes on where the one before has left off, and says what is not counted yet."""
    journal = MemoryJournal()
    some(journal, 500)

    async def visit(host: Host) -> None:
        ticks = count()
        known = Tally(lambda: next(ticks))  # no time for more than the first pages
        seen = list[int]()
        while not known.is_whole:
            await known.look(host, TODAY - 13)
            seen.append(len(known))
        assert seen == sorted(seen)
        assert 1 < len(seen) < 10  # what is older than the first day is not looked at
        assert +known.counts == there_is(journal)

    hosted(journal, visit)


def test_where_too_much_is_new_it_begins_again() -> None:
    """No run is left out between what was known and what is new."""
    journal = MemoryJournal()
    some(journal, 5)

    async def visit(host: Host) -> None:
        ticks = count()
        known = Tally(lambda: next(ticks))
        await known.look(host, TODAY - 13)
        for place in range(60):
            begin(journal, f"new-{place}", NOW + 1 + place)
        await known.look(host, TODAY - 13)
        while not known.is_whole:
            await known.look(host, TODAY - 13)
        assert +known.counts == there_is(journal)

    hosted(journal, visit)


def test_figures_leave_the_wait_for_humans_out_of_the_answer() -> None:
    """A wait that goes on counts as far as it has come; what has not ended has no answer."""
    waits = [Stretch("wait", 105, 115), Stretch("wait", 120, 140)]
    calls = [Call(1, 0, "pay", {}, stretches=waits), Call(1, 1, "look", {})]
    turn = Turn(1, 100, cost=0.25, calls=calls)
    story = Story("r", began_at=100, last_at=150, turns=[turn])
    run = StoredRun("r", 3, "done", NOW, "clerk")
    assert figures_of(run, story) == Figures(TODAY, "clerk", 0.25, 20, 30)
    waits[1].ended_at = None
    waiting = StoredRun("r", 3, "waiting", NOW, "clerk")
    assert figures_of(waiting, story) == Figures(TODAY, "clerk", 0.25, None, 40)


def test_a_plot_is_to_scale_and_has_its_table() -> None:
    """The greatest agents have bars, and all have rows."""
    names = [f"agent-{place}" for place in range(AGENTS_MAX + 2)]
    values = {(1, name): place + 1 for place, name in enumerate(names)} | {(0, names[-1]): 4}
    plot = plot_of("Runs", "{:.0f}", [0, 1], values)
    heights = {(bar.agent, bar.x < 500): bar.height for bar in plot.bars}
    assert heights[0, False] == HEIGHT
    assert heights[0, True] == HEIGHT / 2
    assert plot.agents == tuple(reversed(names[2:]))
    assert dict(plot.rows)[names[0]] == ("", "1")
    assert (plot.top, plot.days) == ("8", ("1970-01-01", "1970-01-02"))
    assert plot_of("Runs", "{:.0f}", [0], {}).bars == ()


def test_the_page_shows_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of all, cost and times of the last ones, and no markup of anybody's."""
    monkeypatch.setattr(overview, "READ", 2)
    journal = MemoryJournal()
    for place in range(3):
        begin(journal, f"run-{place}", NOW - 60, HOSTILE)
        end(journal, f"run-{place}", NOW - 30 + place, "failed" if place == 0 else "done")

    async def visit(host: Host) -> None:
        app = web_app(host)
        app.state.overview = Overview(lambda: NOW)
        async with visitor(app) as client:
            text = (await client.get("/overview")).text
        assert "3 runs of these days are counted." in text
        assert "the last 2 runs of each day at most; 2 are read." in text
        assert "<td>0.5000</td>" in text
        assert "<td>30.5 s</td>" in text or "<td>31.5 s</td>" in text
        assert "<script>alert" not in text
        assert sum(counted(app.state.overview.tally, {"failed"}).values()) == 1

    hosted(journal, visit)
