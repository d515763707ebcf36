"""A timeline: what a run did when, drawn to scale: its model, its tools, its waits, its agents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from attrs import frozen

from detent.adapters.stories.parts import CUT_SHORT, FAILED, TIMED_OUT, Story, Stretch
from detent.adapters.stories.statuses import NOT_RUN
from detent.adapters.stories.story import story_of
from detent.ports.journal import Entry

Sort: TypeAlias = Literal["model", "tool", "wait"]
ROW, BEHIND = 36, 20
"""How high a lane is with its name above it, and how much is below the last one, in pixels."""
LANES_MAX, BARS_MAX = 40, 2000
"""What more there is is not drawn, and said so."""


@frozen
class Bar:
    """Something that took its time.

    Attributes:
        lane: whose row it stands in.
        sort: what was at work.
        begin: when it began, in seconds since 1970.
        end: when it ended; None goes on.
        failed: whether it ended with an error.
        label: what it was.
        is_cut: whether it was cut short: until when it was at work nobody saw.
        is_run: whether anything was at work; else it is the moment in which that was settled.
    """

    lane: str
    sort: Sort
    begin: float
    end: float | None = None
    failed: bool = False
    label: str = ""
    is_cut: bool = False
    is_run: bool = True


def bars_of(entries: Sequence[Entry]) -> list[Bar]:
    """What took time in a run, by its story, in the order in which it began."""
    story = story_of("", entries)
    return sorted(_bars(story), key=lambda bar: bar.begin) if story else []


def _bars(story: Story, lane: str = "") -> Iterator[Bar]:
    """All that took time: those of the agents inside stand in lanes of their own."""
    for turn in story.turns:
        yield from (_bar(f"{lane}model", f"turn {turn.number}", one) for one in turn.asked)
        for call in turn.calls:
            for stretch in call.drawn:
                name = "waits" if stretch.kind == "wait" else call.tool
                yield _bar(f"{lane}{name}", call.tool, stretch)
            if call.inside is not None:
                yield from _bars(call.inside, f"{lane}{call.tool} / ")


def _bar(lane: str, label: str, of: Stretch) -> Bar:
    sort: Sort = "tool" if of.kind == "work" else of.kind
    is_cut, has_failed = of.came_to == CUT_SHORT, of.came_to in {FAILED, TIMED_OUT}
    is_run = of.came_to != NOT_RUN
    return Bar(lane, sort, of.began_at, of.ended_at, has_failed, label, is_cut, is_run)


@frozen
class Drawn:
    """A bar where it stands in the picture, and what is read out of it.

    What it has across is in hundredths of the picture, which is as wide as the screen has room; its
    lane's height is in pixels.
    """

    bar: Bar
    x: float
    y: int
    width: float
    text: str


@frozen
class Picture:
    """A timeline as it is drawn.

    Attributes:
        lanes: the name of each row, with how far below the top its bars are, in pixels.
        bars: what stands in them.
        height: of the whole, in pixels.
        seconds: how long the whole took.
        left_out: how many bars are not drawn.
    """

    lanes: tuple[tuple[str, int], ...]
    bars: tuple[Drawn, ...]
    height: int
    seconds: float
    left_out: int = 0

    @property
    def has_failed(self) -> bool:
        """Whether a bar is of work that ended with an error."""
        return any(drawn.bar.failed for drawn in self.bars)

    @property
    def has_cut(self) -> bool:
        """Whether a bar is of work that was cut short."""
        return any(drawn.bar.is_cut for drawn in self.bars)

    @property
    def has_calls_not_run(self) -> bool:
        """Whether a bar is of a call that was not run."""
        return any(not drawn.bar.is_run for drawn in self.bars)


def picture_of(entries: Sequence[Entry], now: float) -> Picture | None:
    """The timeline of a run, `now` in seconds since 1970; None where nothing took time yet."""
    bars = bars_of(entries)
    if not bars:
        return None
    lanes = list(dict.fromkeys(bar.lane for bar in bars))[:LANES_MAX]
    drawn = [bar for bar in bars if bar.lane in lanes][:BARS_MAX]
    begin = min(bar.begin for bar in bars)
    end = max(max(now if bar.end is None else bar.end, bar.begin) for bar in bars)
    unit = 100 / max(end - begin, 1e-3)
    rows = {lane: place * ROW + ROW - 8 for place, lane in enumerate(lanes)}

    def place(bar: Bar) -> Drawn:
        until = max(now if bar.end is None else bar.end, bar.begin)
        took = until - bar.begin
        state = " failed" if bar.failed else "" if bar.end is not None else " goes on"
        text = f"{bar.lane}: {bar.label},{state} {took:.1f} s"
        if not bar.is_run:
            text = f"{bar.lane}: {bar.label}, not run"
        if bar.is_cut:
            text = f"{bar.lane}: {bar.label}, cut short after {took:.1f} s or later"
        x = (bar.begin - begin) * unit
        return Drawn(bar, round(x, 2), rows[bar.lane], round(took * unit, 2), text)

    return Picture(
        tuple(rows.items()),
        tuple(map(place, drawn)),
        ROW * len(lanes) + BEHIND,
        end - begin,
        len(bars) - len(drawn),
    )
