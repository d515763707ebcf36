"""Invariants: what must hold in every simulated world, whatever befalls it.

Each is a function that gives a sentence for every place of a trace where it does not hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from attrs import evolve

from detent.adapters.testing.trace import (
    Broke,
    Folded,
    Judged,
    Opened,
    Performed,
    Rested,
    Said,
    Trace,
    Wrote,
    slot_at,
)
from detent.core.decisions import Confirmed, Decision, Modified
from detent.core.effects import AskHuman
from detent.core.errors import StateError
from detent.core.events import ClockTicked, ModelReplied, ToolRaised, ToolReturned
from detent.core.messages import ToolCall, ToolCallResult
from detent.core.results import ToolResult
from detent.core.run import Acting, Pausing, Run, Thinking
from detent.core.slots import (
    AwaitingDecision,
    CallRef,
    Ready,
    Resting,
    Running,
    Slot,
    Succeeded,
    answer,
    is_settled,
)
from detent.core.spec import AgentSpec
from detent.core.state import BaseState
from detent.ports.journal import Entry

Invariant: TypeAlias = Callable[[AgentSpec[Any], Trace], Iterator[str]]


def nothing_breaks(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """No exception comes out of the core, a session or a store but those that are promised."""
    for happening in trace:
        if isinstance(happening, Broke):
            yield f"{type(happening.error).__name__}: {happening.error}"


def a_settled_call_stays_settled(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """Each call is answered at most once."""
    for before, _, after in _changes(trace):
        for slot in filter(is_settled, before.slots):
            now = slot_at(after, slot.ref)
            if now is not None and now != slot:
                yield f"call {slot.ref} was settled as {slot.status} and is now {now.status}"


def an_answer_belongs_to_its_call(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """What a call is answered with is what came of running that call with those arguments.

    It is not asked of tools whose results may have been looked up.
    """
    came: list[tuple[CallRef, ToolCall, object]] = []
    for happening in trace:
        match happening:
            case Performed(_, effect, ToolReturned(_, _, result)):
                came.append((effect.ref, effect.call, result))
            case Folded(_, before, ToolReturned(ref, _, result)) if happening.is_change:
                call = next(slot.call for slot in before.slots if slot.ref == ref)
                looked_up = callable(spec.tools[call.tool_name].on_unknown)
                if not looked_up and (ref, call, result) not in came:
                    yield f"call {ref} got {result}, which did not come of running it"
            case _:
                pass


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


def begun_work_is_not_repeated_unasked(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """No attempt at a call runs twice, unless its tool says that this does no harm, or a human.

    For a tool that can look up what was done, what has failed counts as not begun.
    """
    begun: set[tuple[CallRef, int]] = set()
    for happening in trace:
        match happening:
            case Said(effect, Confirmed() | Modified()):
                begun = {one for one in begun if one[0] != effect.ref}
            case Performed(_, effect, came):
                attempt = (effect.ref, effect.attempt)
                if attempt in begun and effect.tool.on_unknown != "rerun":
                    yield f"attempt {effect.attempt} at call {effect.ref} ran twice"
                if isinstance(came, ToolReturned) or not callable(effect.tool.on_unknown):
                    begun.add(attempt)
            case _:
                pass


def an_intent_is_stored_first(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """No tool runs before the store has said that the intent to run it is safe."""
    stored: set[tuple[Any, ...]] = set()
    for happening in trace:
        match happening:
            case Wrote(entries) | Opened(_, entries):
                stored |= {(*one.data["ref"], one.data["attempt"]) for one in _starts(entries)}
            case Performed(_, effect) if (*effect.ref, effect.attempt) not in stored:
                yield f"attempt {effect.attempt} at call {effect.ref} ran, and nothing says so"
            case _:
                pass


def nothing_guarded_runs_unapproved(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """A call about which a human must be asked runs only as that human has said, and once."""
    questions: dict[CallRef, str] = {}
    said: dict[CallRef, list[tuple[AskHuman, Decision]]] = {}
    for happening in trace:
        match happening:
            case Folded(_, _, _, after):
                for slot in after.slots:
                    match slot.status:
                        case AwaitingDecision(digest) if questions.get(slot.ref) != digest:
                            questions[slot.ref] = digest
                            said[slot.ref] = []
                        case _:
                            pass
            case Said(effect, decision) if questions.get(effect.ref) == effect.digest:
                said[effect.ref].append((effect, decision))
            case Performed(_, effect) if effect.ref in questions:
                if not any(_approves(one, effect.call) for one in said[effect.ref]):
                    yield f"call {effect.ref} ran as {effect.call}; a human said {said[effect.ref]}"
            case _:
                pass


def a_policy_is_heeded(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """A call waits for a human if, and only if, the policy has said so when the call came."""
    asks: dict[tuple[int, str | None], bool] = {}
    for happening in trace:
        match happening:
            case Judged(turn, call_id, yes):
                asks[turn, call_id] = yes
            case Folded(_, _, ModelReplied(), after) if happening.is_change:
                for slot in after.slots:
                    waits = isinstance(slot.status, AwaitingDecision)
                    if waits != asks.get((slot.ref.turn, slot.call.id), False):
                        yield f"call {slot.ref} is {slot.status}, against its policy"
            case _:
                pass


def limits_hold(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """No more turns, tools at once or attempts than the agent allows."""
    failed: Counter[CallRef] = Counter()
    for before, event, after in _changes(trace):
        if after.turn > spec.limits.max_agent_steps:
            yield f"turn {after.turn} of {spec.limits.max_agent_steps}"
        if isinstance(after.phase, Thinking | Pausing):
            most = spec.model_retries.times + 1
            if after.phase.attempt > most:
                yield f"the model is asked {after.phase.attempt} times in a turn, of {most}"
        running = sum(isinstance(slot.status, Running) for slot in after.slots)
        if running > spec.limits.parallel_tool_calls:
            yield f"{running} tools at once, of {spec.limits.parallel_tool_calls}"
        for was in before.slots:
            now = slot_at(after, was.ref)
            if isinstance(was.status, AwaitingDecision):
                failed[was.ref] = 0
            elif now is not None and _is_tried_again(was, event, now):
                failed[was.ref] += 1
                if failed[was.ref] > spec.tools[was.call.tool_name].retries.times:
                    yield f"call {was.ref} is tried again after {failed[was.ref]} failures"


def a_conversation_is_valid(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """Each call in it has one answer, in order, under an id of its own, and what was said stays."""
    for before, _, after in _changes(trace):
        if len(after.messages) == len(before.messages):
            continue
        told = list(after.messages)
        if told[: len(before.messages)] != list(before.messages):
            yield f"what was said before turn {before.turn} is not what was said"
        asked, *answers = told[len(before.messages) :]
        ids = [call.id for call in asked.tool_calls]
        if None in ids or len(set(ids)) < len(ids):
            yield f"the calls of turn {before.turn} have the ids {ids}"
        origins = [result.origin for one in answers for result in one.tool_call_results]
        if origins != list(asked.tool_calls):
            yield f"the calls of turn {before.turn} are {ids}, and answered are {origins}"


def a_settled_answer_is_told(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """When a turn ends, in whichever way, what was settled in it stands in the conversation."""
    for before, _, after in _changes(trace):
        if not before.slots or after.slots:
            continue
        told = [one for message in after.messages for one in message.tool_call_results]
        for slot in filter(is_settled, before.slots):
            if answer(slot) not in told and not _unmerged(slot, told):
                yield f"call {slot.ref} was settled as {slot.status}, and the model is not told"


def writes_are_folded_in_call_order(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """The state after a turn is the state before it with all writes, in the order of the calls."""
    for before, event, after in _changes(trace):
        if not isinstance(before.phase, Acting) or after.slots:
            continue
        state = before.state
        for slot in before.slots:
            result = _result(slot, event)
            if result is not None:
                try:
                    state = state.update(result.writes)
                except StateError:
                    continue
        if _values(state) != _values(after.state):
            yield f"turn {before.turn} left {_values(after.state)}, not {_values(state)}"


def a_replay_is_the_run(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """What a process makes of the stored entries is the run as it was when they were written."""
    known: Run[Any] | None = None
    stored = 0
    for happening in trace:
        match happening:
            case Wrote(entries):
                stored = entries[-1].position + 1
            case Folded(_, _, _, after) if happening.is_change:
                known = after
            case Opened(number, entries, run, again):
                if run != again:
                    yield f"process {number} makes another run of a checkpoint than of the events"
                if len(entries) == stored and known is not None and run != known:
                    yield f"process {number} makes another run of the entries than there was"
                stored, known = len(entries), run
            case _:
                pass


def what_is_safe_is_never_lost(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """What the store has said to be safe is there, as it was, for everybody who reads later."""
    safe: list[Entry] = []
    for happening in trace:
        match happening:
            case Wrote(entries):
                safe[entries[0].position :] = entries
            case Opened(_, entries) | Rested(_, _, entries):
                if list(entries[: len(safe)]) != safe:
                    yield f"{len(safe)} entries were safe, and {len(entries)} others are there"
                safe = list(entries)
            case _:
                pass


def a_run_ends_or_waits(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """In a world that disturbs it no more, a run ends, or waits for a human and nothing else."""
    match trace[-1]:
        case Broke():
            pass
        case Rested(run, owed) if run.outcome is not None and not owed:
            pass
        case Rested(_, owed) if owed and all(isinstance(effect, AskHuman) for effect in owed):
            pass
        case last:
            yield f"it does neither: {last}"


INVARIANTS: tuple[Invariant, ...] = (
    nothing_breaks,
    a_settled_call_stays_settled,
    an_answer_belongs_to_its_call,
    settled_work_is_not_repeated,
    begun_work_is_not_repeated_unasked,
    an_intent_is_stored_first,
    nothing_guarded_runs_unapproved,
    a_policy_is_heeded,
    limits_hold,
    a_conversation_is_valid,
    a_settled_answer_is_told,
    writes_are_folded_in_call_order,
    a_replay_is_the_run,
    what_is_safe_is_never_lost,
    a_run_ends_or_waits,
)


def _changes(trace: Trace) -> Iterator[tuple[Run[Any], Any, Run[Any]]]:
    for happening in trace:
        if isinstance(happening, Folded) and happening.is_change:
            yield happening.before, happening.event, happening.after


def _starts(entries: Sequence[Entry]) -> Iterator[Entry]:
    return (entry for entry in entries if entry.kind == "ToolStarted")


def _approves(said: tuple[AskHuman, Decision], call: ToolCall) -> bool:
    effect, decision = said
    match decision:
        case Confirmed():
            return effect.call == call
        case Modified(arguments):
            return evolve(effect.call, arguments=arguments) == call
        case _:
            return False


def _is_tried_again(was: Slot, event: object, now: Slot) -> bool:
    began = not isinstance(was.status, Resting)
    failed = isinstance(event, ToolRaised | ClockTicked) and now is not was
    return began and failed and isinstance(now.status, Ready | Resting)


def _unmerged(slot: Slot, told: Sequence[ToolCallResult]) -> bool:
    """Whether the state did not take the call's result, and the model was told of that instead."""
    faults = [one for one in told if one.origin == slot.call and one.error]
    return isinstance(slot.status, Succeeded) and bool(faults)


def _result(slot: Slot, event: object) -> ToolResult | None:
    """What a call gave, when `event` is what ended its turn."""
    if isinstance(slot.status, Succeeded):
        return slot.status.result
    if isinstance(event, ToolReturned) and event.ref == slot.ref and not is_settled(slot):
        return event.result
    return None


def _values(state: BaseState) -> dict[str, object]:
    return {name: value for name, value in state.data.items() if name != "messages"}
