"""What must hold for each call, and what is said, in every simulated world: see `invariants`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from detent.adapters.testing.simulation.nested_runs import everywhere
from detent.adapters.testing.simulation.trace import (
    Folded,
    Opened,
    Performed,
    Said,
    Trace,
    Wrote,
    changes,
    slot_at,
)
from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.run.approval import Allow, Answered, Ask, Confirmed, Deny, Modified
from detent.core.run.events import (
    ClockTicked,
    Event,
    HumanDecided,
    Judged,
    MessageReceived,
    Resumed,
    ToolNeverRan,
    ToolRaised,
    ToolReturned,
    ToolStarted,
)
from detent.core.run.refs import AgentRef, CallRef, Path
from detent.core.run.run import (
    AnsweredByHuman,
    AwaitingDecision,
    AwaitingPolicy,
    BackingOff,
    Faulted,
    Pausing,
    Ready,
    Refused,
    Run,
    Running,
    Slot,
    Thinking,
    Unknown,
    is_settled,
)
from detent.core.run.spec import AgentSpec
from detent.core.values.frozen import FrozenDict
from detent.ports.journal import Entry


@everywhere
def a_settled_call_stays_settled(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """Each call is answered at most once."""
    for before, _, after in changes(trace):
        for slot in filter(is_settled, before.slots):
            now = slot_at(after, slot.ref)
            if now is not None and now != slot:
                yield f"call {slot.ref} was settled as {slot.status} and is now {now.status}"


@everywhere
def an_answer_belongs_to_its_call(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """What a call is answered with is what came of running that call with those arguments.

    It is not asked of tools whose results may have been looked up.
    """
    outcomes: list[tuple[CallRef, ToolCall, object]] = []
    for happening in trace:
        match happening:
            case Performed(_, effect, ToolReturned(_, _, result)):
                outcomes.append((effect.ref, effect.call, result))
            case Folded(_, before, ToolReturned(ref, _, result)) if happening.is_change:
                call = next(slot.call for slot in before.slots if slot.ref == ref)
                looked_up = callable(spec.tools[call.tool_name].on_unknown)
                if not looked_up and (ref, call, result) not in outcomes:
                    yield f"call {ref} got {result}, which did not come of running it"
            case _:
                pass


@everywhere
def settled_work_is_not_repeated(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """No tool runs for a call that has its answer."""
    settled: set[CallRef] = set()
    for happening in trace:
        match happening:
            case Folded(_, before, _, after) if happening.is_change:
                settled |= {slot.ref for slot in after.slots if is_settled(slot)}
                if after.turn != before.turn:
                    settled |= {slot.ref for slot in before.slots}
            case Performed(_, effect) if effect.ref in settled:
                yield f"call {effect.ref} ran again after it had its answer"
            case _:
                pass


@everywhere
def begun_work_is_not_repeated_unasked(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """No attempt at a call runs twice, unless its tool says that this does no harm."""
    begun: set[tuple[CallRef, int]] = set()
    for happening in trace:
        if isinstance(happening, Performed) and happening.effect.tool.on_unknown != "rerun":
            effect = happening.effect
            if (effect.ref, effect.attempt) in begun:
                yield f"attempt {effect.attempt} at call {effect.ref} ran twice"
            begun.add((effect.ref, effect.attempt))


@everywhere
def what_a_crash_cuts_off_waits_for_a_human(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """Another attempt begins by a human's yes alone, where the tool leaves it to them.

    No policy knows what came of the one before, nor does what was said before it began.
    """
    in_doubt = set[tuple[str, CallRef]]()
    for happening in trace:
        match happening:
            case Said() if isinstance(happening.decision, Confirmed | Modified):
                in_doubt.discard((happening.effect.run_id, happening.effect.ref))
            case Folded(before=before, event=Resumed(), after=after) if happening.is_change:
                in_doubt |= {
                    (after.id, slot.ref)
                    for slot in before.slots
                    if isinstance(slot.status, Running)
                    and spec.tools[slot.call.tool_name].on_unknown == "ask"
                }
            case Folded(event=ToolStarted(ref, attempt), after=after) if happening.is_change:
                if (after.id, ref) in in_doubt:
                    yield f"attempt {attempt} at call {ref} began, and no human has said so"
            case Folded(event=ToolReturned(ref) | ToolRaised(ref) | ToolNeverRan(ref), after=after):
                in_doubt.discard((after.id, ref))
            case _:
                pass


CRASHES_MAX = 3
"""After so many in the middle of one call a human is asked."""


@everywhere
def no_call_ends_one_process_after_the_other(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """One in the middle of which so many in a row have ended begins by a human's yes alone.

    A tool's own look-up may say that it never ran.
    """
    ended = Counter[tuple[str, CallRef]]()
    for happening in trace:
        match happening:
            case Opened(_, entries, run):  # what is stored may be what no process has heard of
                for ref in _ended_or_decided(entries):
                    del ended[run.id, ref]
            case Folded(event=HumanDecided(ref), after=after) if happening.is_change:
                del ended[after.id, ref]
            case Folded(event=ToolStarted(ref), after=after) if happening.is_change:
                if ended[after.id, ref] >= CRASHES_MAX:
                    yield f"call {ref} began once more, after {ended[after.id, ref]} crashes"
            case Folded(before=before, event=event, after=after) if happening.is_change:
                for slot in _no_longer_running(before, after):
                    tool = spec.tools[slot.call.tool_name]
                    if isinstance(event, Resumed) and not callable(tool.on_unknown):
                        ended[after.id, slot.ref] += 1
                    else:
                        del ended[after.id, slot.ref]
            case _:
                pass


def _ended_or_decided(entries: Sequence[Entry]) -> frozenset[CallRef]:
    """The calls that have failed by themselves, or were decided about, and not begun since."""
    found = set[CallRef]()
    for entry in entries:
        if entry.kind == ToolStarted.__name__:
            found.discard(CallRef(*entry.data["ref"]))
        elif entry.kind in {ToolRaised.__name__, HumanDecided.__name__}:
            found.add(CallRef(*entry.data["ref"]))
    return frozenset(found)


def _no_longer_running(before: Run[Any], after: Run[Any]) -> Iterator[Slot]:
    for slot in before.slots:
        if isinstance(slot.status, Running) and slot_at(after, slot.ref) != slot:
            yield slot


@everywhere
def what_can_be_looked_up_is_not_repeated(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """Where a tool can look up what was done, a crash repeats nothing; a retry alone may.

    Or a human, who was asked as looking it up had failed.
    """
    done: set[CallRef] = set()
    for happening in trace:
        match happening:
            case Said() if isinstance(happening.decision, Confirmed | Modified):
                done.discard(happening.effect.ref)
            case Performed(_, effect, event) if callable(effect.tool.on_unknown):
                if effect.ref in done:
                    yield f"call {effect.ref} ran again, and looking it up would have found it"
                if isinstance(event, ToolReturned):
                    done.add(effect.ref)
            case Folded(_, before, ToolRaised() | ClockTicked(), after):
                done -= {slot.ref for slot in before.slots if _is_retried(slot, after)}
            case Opened(_, _, run):  # a failure may be stored of which no process has heard
                done -= {
                    open_slot.ref
                    for open_slot in run.slots
                    if isinstance(open_slot.status, Ready | BackingOff)
                }
            case _:
                pass


def _is_retried(was: Slot, after: Run[Any]) -> bool:
    """Whether an attempt has failed and another one follows, or a human decides if one does."""
    now = slot_at(after, was.ref)
    return isinstance(was.status, Running | Unknown) and isinstance(
        now and now.status, Ready | BackingOff | AwaitingDecision
    )


def an_intent_is_stored_first(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """No tool runs before the store has said that the intent to run it is safe."""
    stored: set[tuple[Path, CallRef, int]] = set()
    for happening in trace:
        match happening:
            case Wrote(entries) | Opened(_, entries):
                stored.update(
                    start for entry in entries for start in starts(entry.data, entry.kind)
                )
            case Performed(_, effect) if (effect.path, effect.ref, effect.attempt) not in stored:
                yield f"attempt {effect.attempt} at call {effect.ref} ran, and nothing says so"
            case _:
                pass


@everywhere
def a_policy_is_heeded(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """A guarded call waits for its policy's verdict, and goes on as that says.

    Whether one that is to be asked about may begin unasked is for `nothing_guarded_runs_unapproved`
    to say.
    """
    answered = set[tuple[str, CallRef]]()
    for before, event, after in changes(trace):
        if isinstance(event, HumanDecided) and isinstance(event.decision, Answered):
            answered.add((after.id, event.ref))
        for slot in after.slots:
            was = slot_at(before, slot.ref)
            is_open = was is None or isinstance(was.status, AwaitingPolicy)
            if is_open and slot.call.tool_name in spec.guards:
                place = after.id, slot.ref
                if not _heeds(event, slot, is_answered=place in answered):
                    yield f"call {slot.ref} is {slot.status}, against its policy"


def _heeds(event: object, slot: Slot, *, is_answered: bool) -> bool:
    """Whether a call that its policy had not judged before `event` may stand as it does now.

    What a human has answered in the tool's place stays, where the rules of today let them. What may
    have been done is asked about, whatever a policy lets run.
    """
    match event:
        case Judged(ref, Allow() | Ask()) if is_answered and ref == slot.ref:
            return isinstance(slot.status, AnsweredByHuman | AwaitingDecision | Ready)
        case Judged(ref, Allow()) if ref == slot.ref:
            is_of_crash = isinstance(slot.status, AwaitingDecision) and slot.status.after != ""
            return isinstance(slot.status, Ready) or is_of_crash
        case Judged(ref, Ask()) if ref == slot.ref:
            return isinstance(slot.status, AwaitingDecision | Ready)
        case Judged(ref, Deny()) if ref == slot.ref:
            return isinstance(slot.status, Refused)
        case _:
            return isinstance(slot.status, AwaitingPolicy | Faulted)


def each_call_has_a_key_of_its_own(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """Whoever does the work can tell calls apart, and sees one call under one key only.

    Until a human gives it other arguments: then it is another one.
    """
    calls: dict[str, tuple[Path, CallRef]] = {}
    last: dict[tuple[Path, CallRef], tuple[FrozenDict[str, object], str]] = {}
    changed: set[tuple[Path, CallRef]] = set()  # perhaps into what it was
    for happening in trace:
        if isinstance(happening, Said) and isinstance(happening.decision, Modified):
            changed.add((happening.effect.path, happening.effect.ref))
        if isinstance(happening, Performed):
            effect = happening.effect
            key, place = effect.idempotency_key, (effect.path, effect.ref)
            now = effect.call.arguments, key
            arguments, was = last.get(place, now)
            is_same, is_of_one = arguments == now[0], calls.setdefault(key, place) == place
            if not is_of_one or (is_same != (was == key) and not (is_same and place in changed)):
                yield f"call {place} ran as {key!r}, which is {calls[key]}; it was {was!r}"
            last[place] = now


def starts(data: Mapping[str, Any], kind: str) -> Iterator[tuple[Path, CallRef, int]]:
    """The attempt that an event says was begun, if it says that."""
    path: Path = ()
    while kind == "HappenedInside":
        turn, place = data["ref"]
        path = (*path, AgentRef(turn, place, data["tool_name"]))
        data = data["event"]
        kind = data["$type"]
    if kind == "ToolStarted":
        yield path, CallRef(*data["ref"]), data.get("attempt", 1)


@everywhere
def a_conversation_is_valid(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """Each call in it has one answer, in order, under an id of its own, and what was said stays."""
    for before, event, after in changes(trace):
        messages = list(after.messages)
        if messages[: len(before.messages)] != list(before.messages):
            yield f"what was said before turn {before.turn} is not what was said"
        new = messages[len(before.messages) : len(messages) - _newly_read(before, event, after)]
        if not new:
            continue
        request, *answers = new
        ids = [call.id for call in request.tool_calls]
        if None in ids or len(set(ids)) < len(ids):
            yield f"the calls of turn {before.turn} have the ids {ids}"
        origins = [result.origin for message in answers for result in message.tool_call_results]
        if origins != list(request.tool_calls):
            yield f"the calls of turn {before.turn} are {ids}, and answered are {origins}"


@everywhere
def what_is_said_is_read_once(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """What users say further stands last in the conversation, in order, when the model is asked."""
    for before, event, after in changes(trace):
        unread = _messages_in(before, event)
        count = _newly_read(before, event, after)
        read = after.messages[max(0, len(after.messages) - count) :] if count else ()
        has_moved = (after.turn, after.phase) != (before.turn, before.phase)
        is_asked_anew = has_moved or isinstance(event, Resumed)
        if [*read, *after.unread] != unread:
            yield f"{len(unread)} messages were said, {count} are read, {len(after.unread)} are not"
        elif count and not (is_asked_anew or isinstance(after.phase, Pausing)):
            yield f"{count} messages are read in turn {after.turn}, which was asked without them"
        if after.unread and is_asked_anew and isinstance(after.phase, Thinking):
            yield f"the model is asked in turn {after.turn}, and {len(after.unread)} are not read"


def _messages_in(before: Run[Any], event: Event) -> list[ChatMessage]:
    """What was not read yet, and what is said now."""
    more = [event.message] if isinstance(event, MessageReceived) else []
    return [*before.unread, *more]


def _newly_read(before: Run[Any], event: Event, after: Run[Any]) -> int:
    """How many of them have entered the conversation."""
    return max(0, len(_messages_in(before, event)) - len(after.unread))
