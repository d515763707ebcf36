"""The overview: how many runs there were, what they cost, how long they took, by agent and day."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

from attrs import frozen
from starlette.requests import Request
from starlette.responses import Response

from detent.adapters.stories.parts import Story
from detent.adapters.stories.story import story_of
from detent.adapters.system.threads_and_loops import in_a_thread
from detent.adapters.web.finding import entries_of, host_of
from detent.adapters.web.plots import plot_of
from detent.adapters.web.rendering import page
from detent.adapters.web.tally import DAY_S, Tally, day_of
from detent.ports.hosting import Host
from detent.ports.journal import JournalDamagedError, RunNotFoundError
from detent.ports.listing import StoredRun

DAYS = 14
"""So many days are shown."""
READ = 20
"""Of so many runs a day, the last ones, all is read: what they cost and how long they took."""
READ_S = 0.3
"""So long it is read for one page; the next one goes on."""
FAILED = frozenset({"failed", "damaged"})
LONGEST = 2_000
"""Runs with more entries are not read."""


@frozen
class Figures:
    """What a run says of itself.

    Attributes:
        cost: of all its replies; None where no price is known.
        answer_s: from its beginning to its end, without what it waited for humans; None before.
        waited_s: how long its calls waited for humans.
    """

    day: int
    agent: str
    cost: float | None
    answer_s: float | None
    waited_s: float


def figures_of(run: StoredRun, story: Story) -> Figures:
    """What the story of a run says in numbers."""
    calls = [call for turn in story.every_turn for call in turn.calls]
    waited = sum(
        max(0.0, (wait.ended_at or story.last_at) - wait.began_at)
        for call in calls
        for wait in call.of("wait")
    )
    took = max(0.0, story.last_at - story.began_at - waited) if run.status == "done" else None
    return Figures(day_of(run.at), run.agent, story.cost, took, waited)


class Overview:
    """What is known of the runs of a host, so that no page has to look at all of them."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self.tally = Tally()
        self.now = now
        self._read: dict[tuple[str, int], Figures] = {}

    async def look(self, host: Host) -> Sequence[Figures]:
        """Take in what is new; gives what the last runs of each day say of themselves."""
        today = day_of(self.now())
        await self.tally.look(host, today - DAYS + 1)
        end, kept = time.monotonic() + READ_S, dict[tuple[str, int], Figures]()
        for day in range(today, today - DAYS, -1):
            for run in await host.runs(before=((day + 1) * DAY_S, ""), limit=READ):
                key = run.run_id, run.length
                if day_of(run.at) != day or run.length > LONGEST:
                    continue
                if key not in self._read and time.monotonic() < end:
                    await self._take(host, run)
                if key in self._read:
                    kept[key] = self._read[key]
        self._read = kept
        return list(kept.values())

    async def _take(self, host: Host, run: StoredRun) -> None:
        try:
            entries = await entries_of(host, run)
        except (RunNotFoundError, JournalDamagedError, ValueError):
            return
        story = await in_a_thread(partial(story_of, run.run_id, entries))
        if story is not None:
            self._read[run.run_id, run.length] = figures_of(run, story)


async def overview(request: Request) -> Response:
    """Plots of the last days."""
    known: Overview = request.app.state.overview
    figures = await known.look(host_of(request))
    today = day_of(known.now())
    days = list(range(today - DAYS + 1, today + 1))
    plots = (
        plot_of("Runs", "{:.0f}", days, counted(known.tally)),
        plot_of("Runs that failed", "{:.0f}", days, counted(known.tally, FAILED)),
        plot_of(
            "Mean cost of a run",
            "{:.4f}",
            days,
            _by(figures, lambda run_figures: run_figures.cost, _mean),
        ),
        plot_of(
            "Time to answer",
            "{:.1f} s",
            days,
            _by(figures, lambda run_figures: run_figures.answer_s, median),
        ),
        plot_of("Wait for humans", "{:.1f} s", days, _by(figures, _waited, median)),
    )
    values: dict[str, Any] = {"plots": plots, "read": len(figures), "read_a_day": READ}
    tally = known.tally
    return page(request, "overview.html", counted=len(tally), whole=tally.is_whole, **values)


def counted(tally: Tally, statuses: Container[str] | None = None) -> Mapping[tuple[int, str], int]:
    """How many runs there are by day and agent, of these statuses; None is any."""
    found: dict[tuple[int, str], int] = {}
    for (day, agent, status), count in tally.counts.items():
        if count and (statuses is None or status in statuses):
            found[day, agent] = found.get((day, agent), 0) + count
    return found


def _waited(run_figures: Figures) -> float | None:
    return run_figures.waited_s or None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _by(
    figures: Iterable[Figures],
    value_of: Callable[[Figures], float | None],
    together: Callable[[Sequence[float]], float],
) -> Mapping[tuple[int, str], float]:
    """Values by day and agent, of several one."""
    found: dict[tuple[int, str], list[float]] = {}
    for run_figures in figures:
        value = value_of(run_figures)
        if value is not None:
            found.setdefault((run_figures.day, run_figures.agent), []).append(value)
    return {key: together(values) for key, values in found.items()}
