"""Plots: bars by day and by agent, to scale, and the table that says the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from attrs import frozen

from detent.adapters.web.tally import DAY_S

WIDTH, HEIGHT, LEFT, TOP = 960, 160, 60, 10
"""Of a plot, in units of its own."""
AGENTS_MAX = 6
"""So many agents have bars of their own; the others are in the table."""
GAP = 0.2
"""How much of the room of a day stays free."""


@frozen
class PlotBar:
    """A bar where it stands, whose it is, and what is read out of it."""

    x: float
    y: float
    width: float
    height: float
    agent: int
    text: str


@frozen
class Plot:
    """Values by day and agent.

    Attributes:
        title: what they are.
        days: the days, as texts.
        rows: for each agent its name and a text for each day; "" where there is no value.
        bars: the same to scale.
        marks: the x of each day's name, and the name.
        top: the text of the highest value.
        agents: the names of those that have bars.
    """

    title: str
    days: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    bars: tuple[PlotBar, ...]
    marks: tuple[tuple[float, str], ...]
    top: str
    agents: tuple[str, ...]


def plot_of(
    title: str, form: str, days: Sequence[int], values: Mapping[tuple[int, str], float]
) -> Plot:
    """The plot of values by day and agent, each written by `form`; the greatest agents first."""
    totals: dict[str, float] = {}
    for (_, agent), value in values.items():
        totals[agent] = totals.get(agent, 0) + value
    names = sorted(totals, key=lambda name: (-totals[name], name))
    drawn, highest = names[:AGENTS_MAX], max(values.values(), default=0)
    step = (WIDTH - LEFT) / max(len(days), 1)
    width = step * (1 - GAP) / max(len(drawn), 1)

    def bar(place: int, number: int, value: float) -> PlotBar:
        height = max(value / highest * HEIGHT, 1.0)
        x, y = LEFT + place * step + number * width, TOP + HEIGHT - height
        text = f"{day_text(days[place])}, {drawn[number] or 'no name'}: {form.format(value)}"
        return PlotBar(round(x, 1), round(y, 1), round(width, 1), round(height, 1), number, text)

    bars = (
        bar(place, number, values[day, agent])
        for place, day in enumerate(days)
        for number, agent in enumerate(drawn)
        if values.get((day, agent), 0) > 0
    )
    texts = tuple(map(day_text, days))
    rows = tuple(
        (name, tuple(_text(form, values.get((day, name))) for day in days)) for name in names
    )
    marks = tuple((round(LEFT + place * step, 1), text[5:]) for place, text in enumerate(texts))
    return Plot(title, texts, rows, tuple(bars), marks, form.format(highest), tuple(drawn))


def _text(form: str, value: float | None) -> str:
    return "" if value is None else form.format(value)


def day_text(day: int) -> str:
    """A day as a date."""
    return datetime.fromtimestamp(day * DAY_S, UTC).date().isoformat()
