"""A timeline: what a run did when, drawn to scale: its model, its tools, its waits, its agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from attrs import evolve, frozen

from detent.adapters.stories.story import Call, Story, Turn, story_of
from detent.ports.journal import Entry

Sort: TypeAlias = Literal["model", "tool", "wait"]
WIDTH, ROW, LEFT = 960, 22, 200
"""Of the picture, in units of its own: its width, the height of a lane, the width of names."""
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
    """

    lane: str
    sort: Sort
    begin: float
    end: float | None = None
    failed: bool = False
    label: str = ""


def bars_of(entries: Sequence[Entry]) -> list[Bar]:
    """What took time in a run, by its entries, in the order in which it began."""
    story = story_of("", entries)
    turns = dict(_turns_in(story)) if story else {}
    drawn = _Drawing(turns)
    for entry in entries:
        drawn.see(entry)
    for (lane, number), turn in turns.items():
        for call in turn.calls:
            drawn.end_of_agent(lane, number, call)
    return drawn.bars


def _turns_in(story: Story, lane: str = "") -> Iterator[tuple[tuple[str, object], Turn]]:
    """The turns, and those of the agents inside, by the beginning of the names of their lanes."""
    for turn in story.turns:
        yield (lane, turn.number), turn
        for call in turn.calls:
            if call.inside is not None:
                yield from _turns_in(call.inside, f"{lane}{call.tool} / ")


class _Drawing:
    """The bars so far, and which of them are open.

    The model is at work from the beginning of its turn on, or from what came before its answer:
    when it was asked is not recorded.
    """

    def __init__(self, turns: Mapping[tuple[str, object], Turn]) -> None:
        self.bars: list[Bar] = []
        self._turns = turns
        self._open: dict[tuple[object, ...], int] = {}
        self._tools: dict[tuple[object, ...], str] = {}
        self._since: dict[str, float] = {}

    def see(self, entry: Entry) -> None:
        lane, kind, data = "", entry.kind, entry.data
        while kind == "HappenedInside":
            lane = f"{lane}{data.get('tool_name', '')} / "
            inner: Mapping[str, Any] = data.get("event", {})
            kind, data = str(inner.get("$type", "")), inner
        self._happened(lane, kind, data, entry.at)
        self._since[lane] = entry.at

    def _happened(self, lane: str, kind: str, data: Mapping[str, Any], at: float) -> None:
        ref = tuple(data.get("ref", ()))
        match kind:
            case "ModelReplied" | "ModelFailed":
                turn = self._turns.get((lane, data.get("turn")))
                known = (self._since.get(lane), turn.began_at if turn else None)
                since = max((time for time in known if time is not None), default=at)
                name = f"turn {data.get('turn', '')}"
                failed = kind == "ModelFailed"
                self.bars.append(Bar(f"{lane}model", "model", since, at, failed, name))
                self._note_calls(lane, data)
            case "Judged" if data.get("verdict", {}).get("$type") == "Ask":
                if (lane, "wait", ref) not in self._open:  # or it is only looked at once more
                    name = self._tool(lane, ref)
                    self._begin((lane, "wait", ref), Bar(f"{lane}waits", "wait", at, label=name))
            case "HumanDecided" | "Judged":
                self._end((lane, "wait", ref), at)
            case "ToolStarted":
                # a policy may have been asked again, and have left it at what was decided
                self._end((lane, "wait", ref), at)
                name = self._tool(lane, ref)
                self._begin((lane, "tool", ref), Bar(f"{lane}{name}", "tool", at, label=name))
            case "ToolReturned" | "ToolRaised" | "ToolNeverRan" | "ToolLost":
                failed = kind in {"ToolRaised", "ToolLost"}
                self._end((lane, "tool", ref), at, failed=failed)
            case _:
                pass

    def end_of_agent(self, lane: str, turn: object, call: Call) -> None:
        """Close the bar of a call that an agent has worked on: no event of its own says so."""
        if call.inside is not None and call.ended_at is not None:
            self._end((lane, "tool", (turn, call.place)), call.ended_at)

    def _note_calls(self, lane: str, data: Mapping[str, Any]) -> None:
        content = data.get("reply", {}).get("message", {}).get("content", ())
        turn = data.get("turn", 1)
        calls = [part for part in content if isinstance(part, Mapping) and "tool_name" in part]
        for place, call in enumerate(calls):
            self._tools[lane, (turn, place)] = str(call["tool_name"])

    def _tool(self, lane: str, ref: tuple[object, ...]) -> str:
        return self._tools.get((lane, ref), "a tool")

    def _begin(self, key: tuple[object, ...], bar: Bar) -> None:
        self._end(key, bar.begin, failed=True)  # an attempt before, of which nothing was heard
        self._open[key] = len(self.bars)
        self.bars.append(bar)

    def _end(self, key: tuple[object, ...], at: float, *, failed: bool = False) -> None:
        place = self._open.pop(key, None)
        if place is not None:
            self.bars[place] = evolve(self.bars[place], end=at, failed=failed)


@frozen
class Drawn:
    """A bar where it stands in the picture, in units of its own, and what is read out of it."""

    bar: Bar
    x: float
    y: int
    width: float
    text: str


@frozen
class Picture:
    """A timeline as it is drawn.

    Attributes:
        lanes: the name of each row, with the height at which it stands.
        bars: what stands in them.
        height: of the whole.
        seconds: how long the whole took.
        left_out: how many bars are not drawn.
    """

    lanes: tuple[tuple[str, int], ...]
    bars: tuple[Drawn, ...]
    height: int
    seconds: float
    left_out: int = 0


def picture_of(entries: Sequence[Entry], now: float) -> Picture | None:
    """The timeline of a run, `now` in seconds since 1970; None where nothing took time yet."""
    bars = bars_of(entries)
    if not bars:
        return None
    lanes = list(dict.fromkeys(bar.lane for bar in bars))[:LANES_MAX]
    drawn = [bar for bar in bars if bar.lane in lanes][:BARS_MAX]
    begin = min(bar.begin for bar in bars)
    end = max(max(now if bar.end is None else bar.end, bar.begin) for bar in bars)
    unit = (WIDTH - LEFT) / max(end - begin, 1e-3)
    rows = {lane: place * ROW + ROW for place, lane in enumerate(lanes)}

    def place(bar: Bar) -> Drawn:
        until = max(now if bar.end is None else bar.end, bar.begin)
        took = until - bar.begin
        state = " failed" if bar.failed else "" if bar.end is not None else " goes on"
        text = f"{bar.lane}: {bar.label},{state} {took:.1f} s"
        x, width = LEFT + (bar.begin - begin) * unit, max(took * unit, 2.0)
        return Drawn(bar, round(x, 1), rows[bar.lane], round(width, 1), text)

    return Picture(
        tuple(rows.items()),
        tuple(map(place, drawn)),
        ROW * (len(lanes) + 1),
        end - begin,
        len(bars) - len(drawn),
    )
