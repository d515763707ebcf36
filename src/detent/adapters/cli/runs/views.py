"""Views of a run: as a tree, on a line of time, by what it cost, entry by entry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from attrs import frozen

from detent.adapters.cli.runs.printing import NARROW, Line, duration, moment, one_line, short, table
from detent.adapters.cli.show import fault_of
from detent.adapters.stories.entries import compact
from detent.adapters.stories.parts import CUT_SHORT, FAILED, TIMED_OUT, Call, Story, Stretch, Turn
from detent.adapters.stories.statuses import NOT_RUN, SETTLED, WAITS

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
FAULTS = frozenset({FAILED, CUT_SHORT, TIMED_OUT})
BAR, WAIT, CUT = "━", "┄", "✗"
PLAIN = {BAR: "=", WAIT: ".", CUT: "x"}
"""What stands for these on a terminal that cannot show them."""
LABEL = 28
BARS = 48
TIME = 14
"""The columns of a duration, and what parts it from its bar."""


def heading(story: Story, width: int = NARROW) -> list[Line]:
    """What is true of the whole run; on a narrow terminal each of it in a row of its own."""
    read, written = story.tokens
    parts = [f"run {story.run_id}", story.status]
    parts += [f"agent {story.agent}"] if story.agent else []
    parts += [f"thread {story.thread_id}"] if story.thread_id else []
    if story.fork_of is not None:
        run_id, entries = (story.fork_of.get(name) for name in ("run_id", "entries"))
        parts.append(f"fork of {short(str(run_id))} after {entries} entries")
    turns = f"{len(story.turns)} turns, {story.entries} entries"
    tokens = f"{read:,} tokens read, {written:,} written"
    cost = [] if story.cost is None else [f"cost {story.cost:.6g}"]
    if story.used_before:
        before = story.used_before
        whole = read + before.get("input_tokens", 0), written + before.get("output_tokens", 0)
        tokens += f" in it, and {whole[0]:,} and {whole[1]:,} with what went before"
        if cost and "cost" in before:
            cost = [f"{cost[0]} in it, and {(story.cost or 0) + before['cost']:.6g} so"]
    began, last = moment(story.began_at), moment(story.last_at)
    spent = duration(story.last_at - story.began_at)
    if width < NARROW:
        facts = (began, f"to {last}", spent, turns, tokens, *cost)
        return [*((part, "bold") for part in parts), *((fact, "dim") for fact in facts)]
    facts = (f"{began} to {last} ({spent})", turns, ", ".join((tokens, *cost)))
    return [("  ".join(parts), "bold"), ("; ".join(facts), "dim")]


def tree(story: Story, width: int = NARROW) -> list[Line]:
    """What was said and done, in order."""
    return [*heading(story, width), ("", ""), *_story(story, "")]


def _story(story: Story, indent: str) -> Iterator[Line]:
    for role, text in story.before:
        yield f"{indent}before, {role}: {short(text)}", "dim"
    for text in story.asked:
        yield f"{indent}user: {short(text)}", ""
    for turn in story.turns:
        if turn.replied_at is None and not turn.failures and turn is not story.turns[0]:
            yield f"{indent}turn {turn.number}: the model is to answer", "yellow"
            notes = (*turn.before, *turn.notes)
            yield from ((f"{indent}{short(note)}", "dim") for note in notes)
            continue
        yield from _turn(turn, indent)
    for note in story.notes:
        yield f"{indent}{short(note)}", "dim"


def _turn(turn: Turn, indent: str) -> Iterator[Line]:
    yield from _model(turn, indent)
    for place, call in enumerate(turn.calls):
        is_last = place == len(turn.calls) - 1
        corner, below = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        yield f"{indent}{corner}{short(call.tool)} {short(compact(call.arguments))}", "bold"
        yield from _call(call, indent + below)
    for note in turn.notes:
        yield f"{indent}{short(note)}", "dim"


def _model(turn: Turn, indent: str) -> Iterator[Line]:
    """What the model has said, behind what came before that."""
    title, text = f"{indent}turn {turn.number}", f": {short(turn.text)}" if turn.text else ""
    if not (turn.failures or turn.before):
        yield f"{title}{f' {turn.model}' if turn.model else ''}{text}", "cyan"
        return
    yield title, "cyan"
    yield from ((f"{indent}   no answer: {one_line(failure)}", "red") for failure in turn.failures)
    yield from ((f"{indent}   {short(note)}", "dim") for note in turn.before)
    if turn.replied_at is not None:
        yield f"{indent}   {turn.model or 'model'}{text}", "cyan"


def _call(call: Call, indent: str) -> Iterator[Line]:
    if call.inside is not None:
        yield from _story(call.inside, indent)
    for text in call.said:
        yield f"{indent}{short(text)}", "dim"
    known = [work for work in call.of("work") if work.came_to != CUT_SHORT]
    if len(known) < len(call.of("work")) and call.status in SETTLED:
        yield f"{indent}had begun, and was cut short: nobody saw what came of that", "dim"
    reason = f": {short(call.why)}" if call.status == WAITS and call.why else ""
    tries = f", attempt {call.attempts}" if call.attempts > 1 else ""
    took = ""
    # Of an attempt that was cut short nobody saw until when it was at work.
    if known and not call.trouble and call.ended_at is not None:
        took = f" in {duration(sum(_worked_s(call, work) for work in known))}"
    # Cut short, a fault would not say what is to be done.
    told = one_line(fault_of(call.result)) if call.status in FAULTY else short(call.result)
    # Who has refused it, or answered for it, is told above, with the same words.
    is_said = any(short(text).endswith(f": {told}") for text in call.said)
    result = f": {told}" if told and not is_said else ""
    yield f"{indent}{call.status}{took}{tries}{reason}{result}", STYLES.get(call.status, "")


def _worked_s(call: Call, work: Stretch) -> float:
    """How long it was at work, without the time in which a human was waited for inside it."""
    end = work.began_at if work.ended_at is None else work.ended_at
    waited, last = 0.0, work.began_at
    for since, until in sorted(_waits(call)):
        waited += max(0.0, min(until, end) - max(since, last))
        last = max(last, until)
    return end - work.began_at - waited


def _waits(call: Call) -> Iterator[tuple[float, float]]:
    """From when until when a human was waited for: about it, and about the calls inside it."""
    for wait in call.of("wait"):
        yield wait.began_at, math.inf if wait.ended_at is None else wait.ended_at
    for inner in call.inside.calls if call.inside else ():
        yield from _waits(inner)


def timeline(story: Story, width: int, can: Callable[[str], bool]) -> list[Line]:
    """Bars, to scale: when the model, each tool and each human had their time.

    On a narrow terminal a bar stands below its name: beside it, nothing of either could be read.
    """
    is_narrow = width < NARROW
    label_width = 0 if is_narrow else LABEL
    room = max(10, min(BARS, width - label_width - TIME))
    lines, rows = heading(story, width), list(_rows(story, 0, story.last_at))
    for row in rows:
        name = "  " * row.depth + short(row.name, LABEL)
        drawn = f"{_drawn(row, story, room, can):<{room}} {_took(row)}".rstrip()
        if is_narrow:
            lines += [(name, row.style), (drawn, row.style)]
        else:
            lines.append((f"{name[:LABEL]:<{LABEL}} {drawn}", row.style))
    if any(row.stretch.came_to == CUT_SHORT for row in rows):
        lines.append((f"{_sign(CUT, can)} {CUT_SHORT}: nobody saw when", "dim"))
    return lines


def _took(row: _Row) -> str:
    """How long it took; "" where only its beginning is known: it was no work of 0.00 s."""
    if row.stretch.came_to == NOT_RUN:
        return NOT_RUN
    seconds = row.end - row.stretch.began_at
    is_unknown = row.stretch.came_to == CUT_SHORT and not seconds
    return "" if is_unknown else duration(seconds)


def _drawn(row: _Row, story: Story, room: int, can: Callable[[str], bool]) -> str:
    """The bar of a stretch, where it stands in the time of its run."""
    span = max(story.last_at - story.began_at, 1e-9)
    start = min(round((row.stretch.began_at - story.began_at) / span * room), room - 1)
    length = max(1, round((row.end - row.stretch.began_at) / span * room))
    bar = _sign(WAIT if row.stretch.kind == "wait" else BAR, can) * min(length, room - start)
    if row.stretch.came_to in {CUT_SHORT, NOT_RUN}:
        bar = bar[:-1] + _sign(CUT, can)
    return " " * start + bar


def _sign(sign: str, can: Callable[[str], bool]) -> str:
    return sign if can(sign) else PLAIN[sign]


@frozen
class _Row:
    """A stretch with its name, and where it ends as far as the story goes."""

    name: str
    stretch: Stretch
    end: float
    depth: int
    style: str


def _rows(story: Story, depth: int, now: float) -> Iterator[_Row]:
    """All that took time, as it was called for: each attempt and each wait has its row."""
    for turn in story.turns:
        asked = [(f"model {turn.number}", one, "cyan") for one in turn.asked]
        yield from (_row(name, one, depth, now, style) for name, one, style in asked)
        for call in turn.calls:
            for stretch in (drawn := call.drawn):
                is_wait = stretch.kind == "wait"
                name = f"wait: {short(call.tool)}" if is_wait else short(call.tool)
                is_last = stretch is drawn[-1]
                style = "yellow" if is_wait else STYLES.get(call.status, "") if is_last else ""
                yield _row(name, stretch, depth, now, style)
            if call.inside is not None:
                yield from _rows(call.inside, depth + 1, now)


def _row(name: str, stretch: Stretch, depth: int, now: float, style: str) -> _Row:
    end = now if stretch.ended_at is None else stretch.ended_at
    return _Row(name, stretch, end, depth, "red" if stretch.came_to in FAULTS else style)


def costs(story: Story, width: int = NARROW) -> list[Line]:
    """What each turn took: tokens, and money where prices were known."""
    rows = [list(row) for row in _cost_rows(story, story.agent or "the agent")]
    read, written = story.tokens
    rows.append(["all", "", f"{read:,}", f"{written:,}", "", _money(story.cost)])
    names = ("AGENT", "TURN", "READ", "WRITTEN", "CACHED", "COST")
    note = [] if story.cost is not None else [("no prices are known: the agent had none", "dim")]
    return [*heading(story, width), ("", ""), *table(names, rows), *note]


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
