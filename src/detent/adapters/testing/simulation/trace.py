"""What happened in a simulated world, in order: what invariants look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from attrs import asdict, frozen

from detent.core.run.approval import Decision, Verdict
from detent.core.run.effects import AskHuman, Effect, Judge, RunTool
from detent.core.run.events import Event, HappenedInside, ModelReplied, ToolReturned
from detent.core.run.refs import CallRef
from detent.core.run.run import Run, Slot
from detent.core.storage.journal import progress_mark
from detent.core.tools.masking import shown_call
from detent.ports.journal import Entry


@frozen
class Opened:
    """A process has begun, or goes on with, the run.

    `entries` is what it found stored, `run` what it made of that, `again` what all the events from
    the first make of it.
    """

    process: int
    entries: tuple[Entry, ...]
    run: Run[Any]
    again: Run[Any]


@frozen
class Wrote:
    """The store has said that entries are safe."""

    entries: tuple[Entry, ...]


@frozen
class Folded:
    """A process has folded an event into the run; an event may have changed nothing."""

    process: int
    before: Run[Any]
    event: Event
    after: Run[Any]

    @property
    def is_change(self) -> bool:
        """Whether the event has changed the run."""
        return self.after is not self.before


@frozen
class Performed:
    """A tool's work was done, or has failed, in the world. `came` is what the process will hear."""

    process: int
    effect: RunTool
    came: Event


@frozen
class Said:
    """A human was asked, and has decided `at` a time. Only this is a real decision."""

    effect: AskHuman
    decision: Decision
    at: float = 0.0


@frozen
class Ruled:
    """A policy was asked, and has said whether a call may run."""

    effect: Judge
    verdict: Verdict


@frozen
class Offered:
    """A process has offered to the run what it knows of a call. `run` is the run behind that."""

    process: int
    effect: RunTool
    came: Event
    run: Run[Any]


@frozen
class Forked:
    """The run is left as it is, and a copy of how it once stood, `run`, goes on under a new id."""

    run: Run[Any]


@frozen
class Happened:
    """Something else, for people to read: a process dies, an answer is lost."""

    what: str


@frozen
class Broke:
    """Something was raised that nobody may ever see. The world has stopped there."""

    error: Exception


@frozen
class FoundDamaged:
    """What is stored has been damaged, and the store or the core says so. The world ends there."""

    error: Exception


@frozen
class Rested:
    """Nothing more will happen. `owed` is what nobody will pay."""

    run: Run[Any]
    owed: tuple[Effect, ...]
    entries: tuple[Entry, ...]


LONGEST = 60

Happening: TypeAlias = (
    Opened
    | Wrote
    | Folded
    | Performed
    | Said
    | Ruled
    | Offered
    | Forked
    | Happened
    | Broke
    | FoundDamaged
    | Rested
)
Trace: TypeAlias = Sequence[Happening]


def slot_at(run: Run[Any], ref: CallRef) -> Slot | None:
    """The slot of a call, while its turn goes on."""
    return next((slot for slot in run.slots if slot.ref == ref), None)


def turn_of(event: Event) -> int | None:
    """The turn that an event is about, if it is about one."""
    ref: object = getattr(event, "ref", None)
    turn: object = ref.turn if isinstance(ref, CallRef) else getattr(event, "turn", None)
    return turn if isinstance(turn, int) else None


def lives(trace: Trace) -> Iterator[Trace]:
    """The trace of each run in it: a fork is another run than the one that it comes of."""
    begin = 0
    for place, happening in enumerate(trace):
        if isinstance(happening, Forked):
            yield trace[begin : place + 1]
            begin = place + 1
    yield trace[begin:]


def changes(trace: Trace) -> Iterator[tuple[Run[Any], Event, Run[Any]]]:
    """Each event that has changed the run, with the run before and after it."""
    for happening in trace:
        if isinstance(happening, Folded) and happening.is_change:
            yield happening.before, happening.event, happening.after


def lines(trace: Trace) -> Iterator[str]:
    """The trace for people, a line for each happening."""
    for happening in trace:
        if line := _line(happening):
            yield line


def event_text(event: Event) -> str:
    """An event in a few words."""
    name = type(event).__name__
    match event:
        case ModelReplied(turn, attempt, reply):
            calls = ", ".join(
                f"{call.tool_name}({dict(shown_call(call).arguments)})"
                for call in reply.message.tool_calls
            )
            return f"{name} turn {turn} attempt {attempt}: {calls or reply.message.text!r}"
        case ToolReturned(ref, attempt, result):
            return f"{name} {_place(ref)} attempt {attempt}: {result.visible!r:.60}"
        case HappenedInside(ref, tool_name, inner):
            return f"in {tool_name} at {_place(ref)}: {event_text(inner)}"
        case _:
            fields = (
                f"{key}={_short(value)}" for key, value in asdict(event, recurse=False).items()
            )
            return f"{name} {' '.join(fields)}"


def _line(happening: Happening) -> str:
    match happening:
        case Opened(process, entries, run):
            return f"process {process} opens the run at entry {len(entries)}: {progress_mark(run)}"
        case Folded(process, _, event, after):
            mark = progress_mark(after) if happening.is_change else "changes nothing"
            return f"process {process} hears {event_text(event)} -> {mark}"
        case Performed() | Said() | Ruled():
            return f"  {_outside(happening)}"
        case Forked(run):
            return f"* the run is forked, and goes on as {run.id}: {progress_mark(run)}"
        case Happened(what):
            return f"* {what}"
        case Broke(error):
            return f"! {type(error).__name__}: {error}"
        case FoundDamaged(error):
            return f"the damage is found: {type(error).__name__}"  # it says where: nowhere lasting
        case Rested(run):
            return f"at rest: {progress_mark(run)} {run.outcome or ''}".rstrip()
        case Wrote() | Offered():
            return ""


def _outside(happening: Performed | Said | Ruled) -> str:
    call = _call(happening.effect)
    match happening:
        case Performed(_, effect, event):
            return f"in the world: {call} attempt {effect.attempt}: {event_text(event)}"
        case Said(decision=decision):
            return f"a human decides about {call}: {decision}"
        case Ruled(verdict=verdict):
            return f"the policy says of {call}: {type(verdict).__name__}"


def _call(effect: RunTool | AskHuman | Judge) -> str:
    where = "".join(f"in {at.tool_name} at {_place(at.ref)}: " for at in effect.path)
    return f"{where}{_place(effect.ref)} {effect.tool.name}({dict(effect.call.arguments)})"


def _place(ref: CallRef) -> str:
    return f"call {ref.turn}.{ref.place}"


def _short(value: object) -> str:
    if isinstance(value, CallRef):
        return f"{value.turn}.{value.place}"
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
