"""One event, folded into a run. RULE: a run changes nowhere else.

Here is which event is heard, and when. `calls`, `questions` and `recovery` say what becomes of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TypeAlias

import attrs

from detent.core.chat.messages import ChatMessage
from detent.core.errors import DetentError, UnknownEffectError
from detent.core.machine.binding import is_stale, is_unfit
from detent.core.machine.calls import after_fault, after_tick, given_up, refusal
from detent.core.machine.delegation import (
    TASK,
    begins_none,
    came_of,
    inner_name,
    invocation_of,
    stopped_at_turn,
)
from detent.core.machine.opening import Around, open_slots, with_call_ids
from detent.core.machine.questions import (
    decided,
    expired,
    judged,
    released,
    remembered,
    revoked,
    rewritten,
    voted,
)
from detent.core.machine.recovery import (
    after_lookup,
    after_loss,
    answers_question,
    pause_after,
    recovered,
)
from detent.core.machine.turns import (
    after_failure,
    answered,
    asked_again,
    completed,
    cut_short,
    end,
    has_no_answer,
    hear_tool,
    is_asked,
    move_slot,
    settled_turn,
    spoken_to,
    with_slots,
    with_unread,
)
from detent.core.run.approval import is_past
from detent.core.run.events import (
    AnswerRejected,
    Attempted,
    CallRewritten,
    CancelRequested,
    ClockTicked,
    Event,
    GrantRevoked,
    HappenedInside,
    HumanDecided,
    Judged,
    MessageReceived,
    ModelFailed,
    ModelReplied,
    Resumed,
    ToolLost,
    ToolNeverRan,
    ToolRaised,
    ToolReturned,
    ToolStarted,
)
from detent.core.run.outcomes import Cancelled, Exhausted, Finished
from detent.core.run.refs import AgentRef, CallRef
from detent.core.run.run import (
    NO_OPTIONS,
    Acting,
    AwaitingPolicy,
    Delegated,
    Done,
    Faulted,
    Pausing,
    Ready,
    Run,
    Running,
    RunOptions,
    Slot,
    Status,
    Succeeded,
    Thinking,
    Unknown,
    are_settled,
    charged,
    evolve,
    labelled,
    moved,
    replaced,
    with_slot,
)
from detent.core.run.spec import AgentSpec, Delegate
from detent.core.state.keys import Write
from detent.core.state.state import initial_writes
from detent.core.state.typevars import S

Attempt: TypeAlias = Running | Ready | Unknown
BEGUN = (Running, Ready, Unknown)
"""The statuses of a call that may be answered; a call that runs is the usual case."""


def start(
    spec: AgentSpec[S],
    messages: Sequence[ChatMessage],
    *,
    run_id: str,
    state: Iterable[Write] = (),
    options: RunOptions = NO_OPTIONS,
    at: float | None = None,
    nonce: str = "",
    started_by: str | None = None,
    labels: tuple[str, ...] = (),
) -> Run[S]:
    """A run in which nothing has happened yet: the conversation so far and the initial state.

    `at` is the time, in seconds since 1970: the limit in seconds counts from it. `nonce` is what
    nobody can guess: decisions are bound to it. `started_by` begins it; its input has `labels`.

    Raises:
        StateError: a write names an unknown key or has a value of the wrong type.
    """
    prompt = [ChatMessage.from_system(spec.system_prompt)] if spec.system_prompt else []
    filled = spec.state.update([*state, Write("messages", [*prompt, *messages])])
    begun = Run(run_id, filled, options=options, nonce=nonce, labels=labels)
    begun = evolve(begun, deadline=spec.limits.deadline(at), started_by=started_by)
    if limit := spec.limits.spent(0, begun.usage, begun.cost):
        return end(evolve(begun, turn=0), Exhausted(limit))
    return begun


def replay(spec: AgentSpec[S], run: Run[S], journal: Iterable[Event]) -> Run[S]:
    """The run after all events of `journal`, in order."""
    return reduce(lambda current, event: step(spec, current, event), journal, run)


def step(  # noqa: C901, PLR0912 - a case an event
    spec: AgentSpec[S], run: Run[S], event: Event, around: Around | None = None
) -> Run[S]:
    """The run after `event`, with what is `around` a run inside another one.

    An event that answers nothing owed (late, doubled, after the end) changes nothing. After its end
    a run hears `AnswerRejected`, if it has ended with an answer, and `Resumed`, if the model gave
    none.

    Raises:
        UnknownEffectError: the event answers something that this run never asked for.
    """
    if type(run.phase) is Done:
        return _after_end(spec, run, event)
    match event:  # the events of a plain turn first
        case ModelReplied():
            return _on_model_replied(spec, run, event, around)
        case ToolStarted():
            return _on_tool_started(spec, run, event)
        case ToolReturned():
            return _on_tool_returned(spec, run, event)
        case ModelFailed():
            return after_failure(spec, run, event) if is_asked(run, event) else run
        case ToolRaised():
            return _on_tool_raised(spec, run, event)
        case ClockTicked():
            return _on_clock_ticked(spec, run, event)
        case Judged():
            return _on_judged(spec, run, event)
        case CallRewritten():
            return _on_call_rewritten(spec, run, event)
        case HumanDecided():
            return _on_human_decided(spec, run, event)
        case GrantRevoked():
            return revoked(run, event)
        case ToolNeverRan() | ToolLost():
            return _on_tool_missing(spec, run, event)
        case Resumed():
            return _on_resumed(spec, run, event)
        case HappenedInside():
            return _on_happened_inside(spec, run, event, around)
        case CancelRequested(reason):
            return cut_short(spec, run, Cancelled(reason))
        case MessageReceived():
            return spoken_to(run, event)
        case AnswerRejected():
            return run


def _after_end(spec: AgentSpec[S], run: Run[S], event: Event) -> Run[S]:
    match event:
        case AnswerRejected(turn, text) if turn == run.turn and isinstance(run.outcome, Finished):
            return asked_again(spec, run, text)
        case Resumed() if has_no_answer(run):
            return _on_resumed(spec, run, event)
        case _:
            return run


def _on_model_replied(
    spec: AgentSpec[S], run: Run[S], event: ModelReplied, around: Around | None
) -> Run[S]:
    if not is_asked(run, event):
        return run
    reply, calls = with_call_ids(event.reply, run.turn)
    if not calls:
        usage, cost = run.usage + reply.usage, run.cost + event.cost
        return answered(spec, evolve(run, usage=usage, cost=cost), reply)
    slots, counts = open_slots(spec, run, calls, around)
    usage, cost = run.usage + reply.usage, run.cost + event.cost
    acting = Acting(reply, slots)
    run = evolve(run, phase=acting, usage=usage, cost=cost, tool_call_counts=counts)
    return completed(spec, run, reply, slots) if are_settled(slots) else run


def _on_tool_started(spec: AgentSpec[S], run: Run[S], event: ToolStarted) -> Run[S]:
    slot = _attempted(run, event, Ready)
    if slot is None:
        return run
    clear = slot.clearance
    if clear and clear.attempt == event.attempt and is_past(clear.expires_at, event.at):
        return move_slot(spec, run, slot, AwaitingPolicy())  # confirmed in time, and too late now
    tool = spec.tools[slot.call.tool_name]
    if isinstance(tool, Delegate):
        if over := spec.limits.spent_inside(run.usage, run.cost, run.calls):
            return move_slot(spec, run, slot, given_up(slot, Exhausted(over)).status)
        return move_slot(spec, run, slot, _delegated(spec, run, slot, event.at))
    limit = tool.timeout_s
    deadline = None if limit is None or event.at is None else event.at + limit
    return with_slot(run, moved(slot, Running(event.attempt, deadline)))


def _on_tool_returned(spec: AgentSpec[S], run: Run[S], event: ToolReturned) -> Run[S]:
    slot = _attempted(run, event, BEGUN)
    return run if slot is None else hear_tool(spec, run, slot, Succeeded(event.result))


def _on_tool_raised(spec: AgentSpec[S], run: Run[S], event: ToolRaised) -> Run[S]:
    slot = _attempted(run, event, BEGUN)
    if slot is None:
        return run
    if isinstance(slot.status, Unknown) and event.fault.kind == "unknown_outcome":
        return with_slots(spec, run, replaced(run.slots, after_lookup(spec, run, slot, event)))
    slot = after_fault(spec, slot, event)
    return hear_tool(spec, run, slot, slot.status)


def _on_clock_ticked(spec: AgentSpec[S], run: Run[S], event: ClockTicked) -> Run[S]:
    if run.deadline is not None and run.deadline <= event.at:
        return cut_short(spec, run, Exhausted("max_seconds"))
    match run.phase:
        case Pausing(attempt, until) if until <= event.at:
            return evolve(run, phase=Thinking(attempt))
        case _:
            slots = tuple(after_tick(spec, slot, event) for slot in run.slots)
            return settled_turn(spec, expired(with_slots(spec, run, slots), event.at))


def _on_tool_missing(spec: AgentSpec[S], run: Run[S], event: ToolNeverRan | ToolLost) -> Run[S]:
    slot = _attempted(run, event, Running if isinstance(event, ToolLost) else BEGUN)
    if slot is None or isinstance(slot.status, Ready):
        return run
    return with_slots(spec, run, replaced(run.slots, after_loss(spec, run, slot, event)))


def _on_resumed(spec: AgentSpec[S], run: Run[S], event: Resumed) -> Run[S]:
    deadline = spec.limits.deadline(event.at)
    if has_no_answer(run):
        run = evolve(run, phase=Thinking(run.given_up + 1))
    if deadline != run.deadline:
        run = evolve(run, deadline=deadline)
    if isinstance(run.phase, Pausing):
        pause = pause_after(spec, run, run.phase, event)
        return run if pause == run.phase else evolve(run, phase=pause)
    if isinstance(run.phase, Thinking):
        return with_unread(run)  # whoever asked the model is gone, and it is asked once more
    run, slots = settled_turn(spec, expired(run, event.at)), list[Slot]()
    for slot in run.slots:
        if isinstance(slot.status, Delegated):
            was = slot.status.run
            now = step(spec.agents[slot.status.tool_name], was, event)
            run = charged(run, was.spent, now.spent)
            slots.append(slot if now is was else moved(slot, came_of(spec, run, slot, now)))
        else:
            slots.append(recovered(spec, run, slot, event))
    return with_slots(spec, run, tuple(slots))


def _delegated(spec: AgentSpec[S], run: Run[S], slot: Slot, at: float | None) -> Status:
    """The run of an agent that begins to work on a call."""
    invocation = invocation_of(spec, run, slot)
    try:
        given = invocation.arguments()
        inner = start(
            spec.agents[slot.call.tool_name],
            [ChatMessage.from_user(str(given.pop(TASK)))],
            run_id=inner_name(run.id, slot.ref),
            state=initial_writes(given),
            at=at,
            nonce=inner_name(run.nonce, slot.ref),
            started_by=run.started_by,
            labels=run.labels,
        )
    except DetentError as error:
        return Faulted(invocation.fault(error))
    return came_of(spec, run, slot, inner)


def _on_happened_inside(
    spec: AgentSpec[S], run: Run[S], event: HappenedInside, around: Around | None
) -> Run[S]:
    slot = _slot(run, event.ref)
    if slot is None or not isinstance(slot.status, Delegated):
        return run
    if slot.status.tool_name != event.tool_name:
        raise UnknownEffectError(f"run {run.id} has no agent {event.tool_name!r} on {event.ref}")
    agent, before = spec.agents[event.tool_name], slot.status.run
    outermost, names = around or (run, ())
    after = step(agent, before, event.event, (outermost, (*names, event.tool_name)))
    if after is before:
        return run
    usage, cost = after.usage - before.usage, after.cost - before.cost
    calls = run.calls_inside + after.calls - before.calls
    run = evolve(run, usage=run.usage + usage, cost=run.cost + cost, calls_inside=calls)
    run = labelled(charged(run, before.spent, after.spent), after.labels)
    at = AgentRef(*slot.ref, event.tool_name)
    for done in after.decisions[len(before.decisions) :]:
        run = evolve(run, decisions=(*run.decisions, attrs.evolve(done, path=(at, *done.path))))
    limit = spec.limits.spent_inside(run.usage, run.cost, run.calls)
    if limit is None:
        return move_slot(spec, run, slot, came_of(spec, run, slot, after))
    if limit == "max_tool_calls" and after.outcome is None:
        after = cut_short(agent, after, Exhausted(limit))  # before those that are too many run
    after = stopped_at_turn(agent, before, begins_none(agent, after, limit), limit)
    return begins_none(spec, move_slot(spec, run, slot, came_of(spec, run, slot, after)), limit)


def _on_judged(spec: AgentSpec[S], run: Run[S], event: Judged) -> Run[S]:
    slot = _slot(run, event.ref)
    if slot is None:
        return run
    is_owed = isinstance(slot.status, AwaitingPolicy)
    if not is_owed and event.binding is not None:  # else it comes too late
        is_owed = is_stale(slot) or is_unfit(spec, run, slot, event.binding)
    return settled_turn(spec, judged(spec, run, slot, event)) if is_owed else run


def _on_call_rewritten(spec: AgentSpec[S], run: Run[S], event: CallRewritten) -> Run[S]:
    slot = _slot(run, event.ref)
    if slot is None or slot.clearance is None or not isinstance(slot.status, Ready):
        return run
    return settled_turn(spec, with_slot(run, rewritten(spec, slot, event)))


def _on_human_decided(spec: AgentSpec[S], run: Run[S], event: HumanDecided) -> Run[S]:
    slot = _slot(run, event.ref)
    if slot is None or refusal(spec, run, event) is not None:
        return run
    if (vote := voted(spec, run, slot, event)) is not None:
        return with_slot(run, vote)
    knowing = with_slot(remembered(spec, run, slot, event), decided(spec, slot, event.decision))
    slots = tuple(released(spec, knowing, one, event.at) for one in knowing.slots)
    return settled_turn(spec, with_slots(spec, knowing, slots))


def _slot(run: Run[S], ref: CallRef) -> Slot | None:
    """The open turn's slot at `ref`; None when it belongs to a turn that has passed."""
    if ref.turn < run.turn:
        return None
    phase = run.phase
    slots = phase.slots if isinstance(phase, Acting) else ()
    if ref.turn > run.turn or not 0 <= ref.place < len(slots):
        raise UnknownEffectError(f"run {run.id} has no tool call {ref}")
    return slots[ref.place]


def _attempted(
    run: Run[S], event: Attempted, kinds: type[Attempt] | tuple[type[Attempt], ...]
) -> Slot | None:
    """The slot whose attempt the event is about; None unless its status is of these kinds."""
    slot = _slot(run, event.ref)
    if slot is not None and isinstance(slot.status, kinds):
        return slot if slot.status.attempt == event.attempt else None
    return slot if slot and kinds is BEGUN and answers_question(event, slot.status) else None
