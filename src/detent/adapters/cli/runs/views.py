"""Views of a run: as a tree, on a line of time, by what it cost, entry by entry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from attrs import frozen

from detent.adapters.cli.runs.printing import NARROW, Line, duration, moment, one_line, short, table
from detent.adapters.cli.show import fault_of
from detent.adapters.stories.statuses import NOT_RUN, WAITS
from detent.adapters.stories.steps import compact
from detent.adapters.stories.story import Call, Story, Turn

STYLES = {
    WAITS: "yellow",
    "failed": "red",
    "of unknown outcome": "red",
    "refused": "magenta",
    NOT_RUN: "magenta",
    "done": "green",
    "answered": "green",
}
FAULTY = frozenset({"failed", "of unknown outcome", "refused"})
BAR, WAIT = "━", "┄"
LABEL = 28
BARS = 48
TIME = 14
"""The columns of a duration, and what parts it from its bar."""


def heading(story: Story) -> list[Line]:
    """What is true of the whole run."""
    read, written = story.tokens
    parts = [f"run {story.run_id}", story.status]
    parts += [f"agent {story.agent}"] if story.agent else []
    parts += [f"thread {story.thread_id}"] if story.thread_id else []
    turns = f"{len(story.turns)} turns, {story.entries} entries"
    tokens = f"{read:,} tokens read, {written:,} written"
    cost = "" if story.cost is None else f", cost {story.cost:.6g}"
    times = f"{moment(story.began_at)} to {moment(story.last_at)}"
    spent = duration(story.last_at - story.began_at)
    return [("  ".join(parts), "bold"), (f"{times} ({spent}); {turns}; {tokens}{cost}", "dim")]


def tree(story: Story) -> list[Line]:
    """What was said and done, in order."""
    return [*heading(story), ("", ""), *_story(story, "")]


def _story(story: Story, indent: str) -> Iterator[Line]:
    for role, text in story.before:
        yield f"{indent}before, {role}: {short(text)}", "dim"
    for text in story.asked:
        yield f"{indent}user: {short(text)}", ""
    for turn in story.turns:
        if turn.replied_at is None and not turn.failures and turn is not story.turns[0]:
            yield f"{indent}turn {turn.number}: the model is to answer", "yellow"
            yield from ((f"{indent}{short(note)}", "dim") for note in turn.notes)
            continue
        yield from _turn(turn, indent)
    for note in story.notes:
        yield f"{indent}{short(note)}", "dim"


def _turn(turn: Turn, indent: str) -> Iterator[Line]:
    text = f": {short(turn.text)}" if turn.text else ""
    model = f" {turn.model}" if turn.model else ""
    yield f"{indent}turn {turn.number}{model}{text}", "cyan"
    for failure in turn.failures:
        yield f"{indent}   no answer: {one_line(failure)}", "red"
    for place, call in enumerate(turn.calls):
        is_last = place == len(turn.calls) - 1
        corner, below = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        yield f"{indent}{corner}{short(call.tool)} {short(compact(call.arguments))}", "bold"
        yield from _call(call, indent + below)
    for note in turn.notes:
        yield f"{indent}{short(note)}", "dim"


def _call(call: Call, indent: str) -> Iterator[Line]:
    if call.inside is not None:
        yield from _story(call.inside, indent)
    for text in call.said:
        yield f"{indent}{short(text)}", "dim"
    reason = f": {short(call.why)}" if call.status == WAITS and call.why else ""
    tries = f", attempt {call.attempts}" if call.attempts > 1 else ""
    took = ""
    is_known = not call.trouble  # else its process ended, and nobody saw when
    if is_known and call.began_at is not None and call.ended_at is not None:
        took = f" in {duration(_worked_s(call, call.began_at, call.ended_at))}"
    # Cut short, a fault would not say what is to be done.
    told = one_line(fault_of(call.result)) if call.status in FAULTY else short(call.result)
    result = f": {told}" if told else ""
    yield f"{indent}{call.status}{took}{tries}{reason}{result}", STYLES.get(call.status, "")


def _worked_s(call: Call, begin: float, end: float) -> float:
    """How long a call was at work, without the time in which a human was waited for."""
    waited, last = 0.0, begin
    for since, until in sorted(_waits(call)):
        waited += max(0.0, min(until, end) - max(since, last))
        last = max(last, until)
    return end - begin - waited


def _waits(call: Call) -> Iterator[tuple[float, float]]:
    """From when until when a human was waited for: about it, and about the calls inside it."""
    if call.asked_at is not None:
        ends = (call.decided_at, call.began_at, call.ended_at)
        later = (end for end in ends if end is not None and end >= call.asked_at)
        yield call.asked_at, next(later, math.inf)
    for inner in call.inside.calls if call.inside else ():
        yield from _waits(inner)


def timeline(story: Story, width: int, can: Callable[[str], bool]) -> list[Line]:
    """Bars, to scale: when the model, each tool and each human had their time.

    On a narrow terminal a bar stands below its name: beside it, nothing of either could be read.
    """
    is_narrow = width < NARROW
    label_width = 0 if is_narrow else LABEL
    room = max(10, min(BARS, width - label_width - TIME))
    lines = heading(story)
    for stretch in _stretches(story, 0, story.last_at):
        name = "  " * stretch.depth + short(stretch.name, LABEL)
        drawn = _drawn(stretch, story, room, can)
        took = duration(stretch.end - stretch.begin)
        if is_narrow:
            lines += [(name, stretch.style), (f"{drawn:<{room}} {took}", stretch.style)]
        else:
            lines.append((f"{name[:LABEL]:<{LABEL}} {drawn:<{room}} {took}", stretch.style))
    return lines


def _drawn(stretch: _Stretch, story: Story, room: int, can: Callable[[str], bool]) -> str:
    """The bar of a stretch, where it stands in the time of its run."""
    bar, wait = (BAR, WAIT) if can(BAR + WAIT) else ("=", ".")
    span = max(story.last_at - story.began_at, 1e-9)
    start = min(round((stretch.begin - story.began_at) / span * room), room - 1)
    length = max(1, round((stretch.end - stretch.begin) / span * room))
    return " " * start + (wait if stretch.is_wait else bar) * min(length, room - start)


@frozen
class _Stretch:
    """Something that took its time."""

    name: str
    begin: float
    end: float
    depth: int
    style: str
    is_wait: bool = False


def _stretches(story: Story, depth: int, now: float) -> Iterator[_Stretch]:
    for turn in story.turns:
        if turn.replied_at is not None:
            yield _Stretch(f"model {turn.number}", turn.began_at, turn.replied_at, depth, "cyan")
        for call in turn.calls:
            if call.asked_at is not None:
                until = call.decided_at or call.began_at or call.ended_at or now
                label = f"wait: {short(call.tool)}"
                yield _Stretch(label, call.asked_at, until, depth, "yellow", is_wait=True)
            if call.began_at is not None:
                style, end = STYLES.get(call.status, ""), call.ended_at or now
                if call.asked_at is not None and call.asked_at >= call.began_at:
                    end = call.asked_at  # its process has ended: a human says how it went
                yield _Stretch(short(call.tool), call.began_at, end, depth, style)
            if call.inside is not None:
                yield from _stretches(call.inside, depth + 1, now)


def costs(story: Story) -> list[Line]:
    """What each turn took: tokens, and money where prices were known."""
    rows = [list(row) for row in _cost_rows(story, story.agent or "the agent")]
    read, written = story.tokens
    rows.append(["all", "", f"{read:,}", f"{written:,}", "", _money(story.cost)])
    names = ("AGENT", "TURN", "READ", "WRITTEN", "CACHED", "COST")
    note = [] if story.cost is not None else [("no prices are known: the agent had none", "dim")]
    return [*heading(story), ("", ""), *table(names, rows), *note]


def _cost_rows(story: Story, name: str) -> Iterator[list[str]]:
    for turn in story.turns:
        counts = (turn.input_tokens, turn.output_tokens, turn.cached_tokens)
        yield [name, str(turn.number), *(f"{count:,}" for count in counts), _money(turn.cost)]
        for call in turn.calls:
            if call.inside is not None:
                yield from _cost_rows(call.inside, f"{name} > {call.tool}")


def _money(cost: float | None) -> str:
    return "-" if cost is None else f"{cost:.6g}"


def totals(story: Story) -> Mapping[str, object]:
    """What a document says of the whole run beside its parts."""
    read, written = story.tokens
    return {"input_tokens": read, "output_tokens": written, "cost": story.cost}
