"""Invariants: what must hold in every simulated world, whatever befalls it.

Each is a function that gives a sentence for every place of a trace where it does not hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isclose
from typing import Any

from detent.adapters.testing.simulation.approval_invariants import (
    nothing_guarded_runs_unapproved,
    who_waits_asks_somebody,
)
from detent.adapters.testing.simulation.call_invariants import (
    a_conversation_is_valid,
    a_policy_is_heeded,
    a_settled_call_stays_settled,
    an_answer_belongs_to_its_call,
    an_intent_is_stored_first,
    begun_work_is_not_repeated_unasked,
    each_call_has_a_key_of_its_own,
    no_call_ends_one_process_after_the_other,
    settled_work_is_not_repeated,
    what_a_crash_cuts_off_waits_for_a_human,
    what_can_be_looked_up_is_not_repeated,
    what_is_said_is_read_once,
)
from detent.adapters.testing.simulation.nested_runs import Invariant, everywhere
from detent.adapters.testing.simulation.trace import (
    Broke,
    Folded,
    Forked,
    FoundDamaged,
    Opened,
    Rested,
    Trace,
    Wrote,
    changes,
    slot_at,
)
from detent.core.chat.messages import ChatMessage, ToolCallResult
from detent.core.chat.replies import Usage
from detent.core.errors import StateError
from detent.core.machine.delegation import call_status
from detent.core.machine.step import step
from detent.core.machine.turns import answer
from detent.core.run.approval import Deny
from detent.core.run.effects import AskHuman, Effect, WaitUntil
from detent.core.run.events import (
    CancelRequested,
    ClockTicked,
    Event,
    HappenedInside,
    HumanDecided,
    Judged,
    ModelFailed,
    ModelReplied,
    Resumed,
    ToolRaised,
    ToolReturned,
)
from detent.core.run.refs import CallRef
from detent.core.run.run import (
    Acting,
    AwaitingDecision,
    BackingOff,
    Delegated,
    Pausing,
    Ready,
    Refused,
    Run,
    Running,
    Slot,
    Succeeded,
    Thinking,
    is_settled,
)
from detent.core.run.spec import AgentSpec
from detent.core.state.state import BaseState
from detent.core.tools.result import ToolResult
from detent.ports.journal import Entry


def nothing_breaks(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """No exception comes out of the core, a session or a store but those that are promised."""
    for happening in trace:
        if isinstance(happening, Broke):
            yield f"{type(happening.error).__name__}: {happening.error}"


@everywhere
def limits_hold(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """No more tools at once and no more attempts than the agent allows."""
    failed: Counter[CallRef] = Counter()
    for before, event, after in changes(trace):
        if isinstance(after.phase, Thinking | Pausing):
            most = spec.model_retries.times + 1
            tries = after.phase.attempt - after.given_up
            if tries > most:
                yield f"the model is asked {tries} times in a turn, of {most}"
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


def each_reply_is_counted_once(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """A run has used what the replies in it used that counted, also those to agents inside."""
    for before, event, after in changes(trace):
        usage, cost = _paid(event)
        used, cost = before.usage + usage, before.cost + cost
        if after.usage != used or not isclose(after.cost, cost, abs_tol=1e-9):
            yield f"{after.usage} and {after.cost} are counted; it used {used} and {cost}"


def _paid(event: Event) -> tuple[Usage, float]:
    while isinstance(event, HappenedInside):
        event = event.event
    if isinstance(event, ModelReplied):
        return event.reply.usage, event.cost
    return (event.usage, event.cost) if isinstance(event, ModelFailed) else (Usage(), 0.0)


@everywhere
def what_is_spent_is_spent(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """Once steps, tokens, money or time are spent, the model is asked no more, or one last time."""
    last_words = False
    for before, event, after in changes(trace):
        if after.outcome is not None:
            continue
        reached = spent(spec, before.turn, after)
        if after.turn > before.turn and reached:
            if last_words or not spec.limits.final_answer:
                yield f"turn {after.turn} begins, and there is {sorted(reached)}"
            last_words = True
        if isinstance(event, ClockTicked) and (before.deadline or event.at) < event.at:
            yield f"it is {event.at}, and the run goes on after {before.deadline}"


@everywhere
def a_settled_answer_is_told(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """When a turn ends, in whichever way, what was settled in it stands in the conversation."""
    for before, _, after in changes(trace):
        if not before.slots or after.slots:
            continue
        results = [result for message in after.messages for result in message.tool_call_results]
        for slot in filter(is_settled, before.slots):
            if answer(slot) not in results and not _unmerged(slot, results):
                yield f"call {slot.ref} was settled as {slot.status}, and the model is not told"


@everywhere
def writes_are_folded_in_call_order(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """The state after a turn is the state before it with all writes, in the order of the calls."""
    for before, event, after in changes(trace):
        if not isinstance(before.phase, Acting) or after.slots:
            continue
        state = before.state
        for slot in before.slots:
            result = _result(spec, before, slot, event)
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
        case Broke() | FoundDamaged() | Forked():
            pass
        case Rested(run, owed) if run.outcome is not None and not owed:
            pass
        case Rested(_, owed) if waits_for_a_human(owed):
            pass
        case last:
            yield f"it does neither: {last}"


@everywhere
def an_end_has_its_reason(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """A run ends when, and only when, something has happened that ends it."""
    for before, event, after in changes(trace):
        if before.turn == after.turn and after.outcome is None:
            continue
        must, may = _reasons(spec, before, event, after)
        if after.outcome is None and must:
            yield f"turn {before.turn} goes on, though there is {sorted(must)}"
        if after.outcome is not None and after.outcome.exit_reason not in must | may:
            yield f"{after.outcome}, and there is {sorted(must | may)}"


INVARIANTS: tuple[Invariant, ...] = (
    nothing_breaks,
    a_settled_call_stays_settled,
    an_answer_belongs_to_its_call,
    settled_work_is_not_repeated,
    begun_work_is_not_repeated_unasked,
    what_a_crash_cuts_off_waits_for_a_human,
    no_call_ends_one_process_after_the_other,
    what_can_be_looked_up_is_not_repeated,
    an_intent_is_stored_first,
    each_call_has_a_key_of_its_own,
    each_reply_is_counted_once,
    nothing_guarded_runs_unapproved,
    a_policy_is_heeded,
    who_waits_asks_somebody,
    limits_hold,
    what_is_spent_is_spent,
    a_conversation_is_valid,
    what_is_said_is_read_once,
    a_settled_answer_is_told,
    writes_are_folded_in_call_order,
    a_replay_is_the_run,
    what_is_safe_is_never_lost,
    a_run_ends_or_waits,
    an_end_has_its_reason,
)


def waits_for_a_human(owed: Sequence[Effect]) -> bool:
    """Whether all that is owed is decisions, apart from the end of the run's time."""
    rest = [
        owed_effect
        for owed_effect in owed
        if not (isinstance(owed_effect, WaitUntil) and owed_effect.reason == "limit")
    ]
    return bool(rest) and all(isinstance(effect, AskHuman) for effect in rest)


def spent(spec: AgentSpec[Any], turn: int, run: Run[Any]) -> set[str]:
    """What a run has spent by the end of a turn."""
    limits = spec.limits
    reached = {
        "max_agent_steps": (turn, limits.max_agent_steps),
        "max_tokens": (run.usage.total_tokens, limits.max_tokens),
        "max_cost": (run.cost, limits.max_cost),
    }
    return {name for name, (used, most) in reached.items() if most is not None and used >= most}


def _reasons(
    spec: AgentSpec[Any], before: Run[Any], event: Event, after: Run[Any]
) -> tuple[set[str], set[str]]:
    """What ends a run to which this happens, and what may end it."""
    limits = {before.exhausted} if before.exhausted else spent(spec, before.turn, after)
    answers = {"output", "output_tries"} if spec.output is not None else set[str]()
    match event:
        case CancelRequested():
            return {"cancelled"}, set()
        case ModelFailed():
            return {"model_failure"}, set()
        case ClockTicked(at) if before.deadline is not None and before.deadline <= at:
            return {"max_seconds"}, set()
        case ModelReplied(_, _, reply) if not reply.message.tool_calls and before.unread:
            ends = answers | {before.exhausted or "text", reply.finish_reason}
            return set(), limits | (ends if limits else ends & {"output_tries"})
        case ModelReplied(_, _, reply) if not reply.message.tool_calls and answers:
            return set(), answers | limits | {reply.finish_reason}
        case ModelReplied(_, _, reply) if not reply.message.tool_calls:
            return {before.exhausted or "text"}, {reply.finish_reason}
        case _:
            pass
    must = _ends_of_calls(spec, before, event, list(after.messages[len(before.messages) :]))
    if before.unread:  # an answer that knows nothing of it ends the run where a limit does
        ends = must | answers
        return must & {"tool_failure"}, limits | (ends if limits else ends & {"output_tries"})
    is_last = before.exhausted is not None or not spec.limits.final_answer
    return (must | limits, answers) if is_last else (must, answers | limits)


def _ends_of_calls(
    spec: AgentSpec[Any], before: Run[Any], event: Event, messages: Sequence[ChatMessage]
) -> set[str]:
    """What among the answers to a turn's calls ends the run: an exit tool's, or a fault."""
    results = [result for message in messages for result in message.tool_call_results]
    ran = [
        slot.ref.place for slot in before.slots if _result(spec, before, slot, event) is not None
    ]
    reasons = {
        name
        for place, result in enumerate(results)
        if (name := result.origin.tool_name) in spec.exit_conditions
        and not result.error
        and place in ran
    }
    refused = [slot.ref.place for slot in before.slots if _is_refused(slot, event)]
    failed = [
        result
        for place, result in enumerate(results)
        if result.error and place not in refused and not _is_an_answer(spec, result)
    ]
    if spec.fail_on_tool_fault and failed:
        reasons.add("tool_failure")
    return reasons


def _is_refused(slot: Slot, event: Event) -> bool:
    """Whether a call is answered by a no: of a human, a policy, or of nobody in time."""
    match slot.status, event:
        case AwaitingDecision(expires_at=until), ClockTicked(at) | Resumed(at=at):
            return until is not None and at is not None and until <= at
        case status, HumanDecided(ref) | Judged(ref, Deny()):
            return isinstance(status, Refused) or ref == slot.ref
        case status, _:
            return isinstance(status, Refused)


def _is_an_answer(spec: AgentSpec[Any], result: ToolCallResult) -> bool:
    """Whether it is about the run's answer, and not about a tool."""
    return spec.output is not None and result.origin.tool_name == spec.output.name


def _is_tried_again(was: Slot, event: object, now: Slot) -> bool:
    began = not isinstance(was.status, BackingOff)
    failed = isinstance(event, ToolRaised | ClockTicked) and now is not was
    return began and failed and isinstance(now.status, Ready | BackingOff)


def _unmerged(slot: Slot, results: Sequence[ToolCallResult]) -> bool:
    """Whether the state did not take the call's result, and the model was told of that instead."""
    faults = [result for result in results if result.origin == slot.call and result.error]
    return isinstance(slot.status, Succeeded) and bool(faults)


def _result(spec: AgentSpec[Any], before: Run[Any], slot: Slot, event: Event) -> ToolResult | None:
    """What a call gave, when `event` is what ended its turn."""
    if isinstance(slot.status, Delegated):
        return _answer_of_agent(spec, before, slot, slot.status.run, event)
    if isinstance(slot.status, Succeeded):
        return slot.status.result
    if isinstance(event, ToolReturned) and event.ref == slot.ref and not is_settled(slot):
        return event.result
    return None


def _answer_of_agent(
    spec: AgentSpec[Any], before: Run[Any], slot: Slot, inner: Run[Any], event: Event
) -> ToolResult | None:
    """What an agent gave, when `event` is what ended its run."""
    inner_event = (
        event.event if isinstance(event, HappenedInside) and event.ref == slot.ref else event
    )
    if inner_event is event and not isinstance(event, Resumed):
        return None
    now = step(spec.agents[slot.call.tool_name], inner, inner_event)
    status = call_status(spec, before, slot, now)
    return status.result if isinstance(status, Succeeded) else None


def _values(state: BaseState) -> dict[str, object]:
    return {name: value for name, value in state.data.items() if name != "messages"}
