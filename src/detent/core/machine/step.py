"""One event, folded into a run. RULE: a run changes nowhere else.

Here is which event is heard, and when. `calls`, `questions` and `recovery` say what becomes of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Never

import attrs

from detent.core.chat.messages import ChatMessage, labels_of
from detent.core.errors import DetentError, UnknownEffectError
from detent.core.machine.calls import after_fault, after_tick, give_up
from detent.core.machine.delegation import (
    TASK,
    as_far_as,
    begins_none,
    call_status,
    inner_name,
    invocation_of,
    stopped_at_turn,
    with_calls_inside,
)
from detent.core.machine.opening import open_slots, with_call_ids
from detent.core.machine.questions import (
    decide_call,
    judge_call,
    revoke_grant,
    rewrite_call,
)
from detent.core.machine.recovery import after_lookup, after_loss, let_go, resume_run
from detent.core.machine.rejections import Around, expire_questions
from detent.core.machine.turns import (
    BEGUN,
    after_failure,
    answer_call,
    ask_again,
    attempt_slot,
    cut_short,
    end,
    end_with_answer,
    settle,
    slot_at,
    spoken_to,
)
from detent.core.run.attempts import held_by, with_spending
from detent.core.run.events import (
    AnswerRejected,
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
from detent.core.run.limits import end_of, is_past
from detent.core.run.outcomes import Cancelled, Exhausted, Finished
from detent.core.run.refs import AgentRef
from detent.core.run.run import (
    NO_OPTIONS,
    Acting,
    AwaitingPolicy,
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
    agent_at,
    charge,
    evolve,
    has_no_answer,
    move,
    with_labels,
    with_slot,
    with_slots,
)
from detent.core.run.spec import AgentSpec, Delegate, no_spec
from detent.core.run.totals import NOTHING
from detent.core.state.keys import Write
from detent.core.state.state import initial_writes
from detent.core.state.typevars import S
from detent.core.tools.masking import with_secrets_marked


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
        TypeError: `spec` is no `AgentSpec`, or `messages` is one alone.
    """
    if not isinstance(spec, AgentSpec):
        raise no_spec(spec, "start")
    if isinstance(messages, str | ChatMessage):
        raise TypeError("start takes a list of messages, such as [ChatMessage.from_user('hi')]")
    prompt = [ChatMessage.from_system(spec.system_prompt)] if spec.system_prompt else []
    if spec.secrets:  # whose calls then know what is secret in them
        messages = [with_secrets_marked(message, spec.secrets) for message in messages]
    said = [*prompt, *messages]
    first_state = spec.state.update([*state, Write("messages", said)])
    run = Run(run_id, first_state, options=options, nonce=nonce, labels=labels)
    run = with_labels(run, spec.description_labels)
    run = evolve(run, deadline=spec.limits.deadline(at), started_by=started_by)
    if limit := spec.limits.spent(0, run.usage, run.cost):
        return end(evolve(run, turn=0), Exhausted(limit))
    return run


def replay(spec: AgentSpec[S], run: Run[S], journal: Iterable[Event]) -> Run[S]:
    """The run after all events of `journal`, in order."""
    return reduce(lambda current, event: step(spec, current, event), journal, run)


def step(spec: AgentSpec[S], run: Run[S], event: Event) -> Run[S]:
    """The run after `event`.

    An event that answers nothing owed (late, doubled, after the end) changes nothing. After its end
    a run hears `AnswerRejected`, if it has ended with an answer, and `Resumed` and `GrantRevoked`,
    if the model gave none.

    Raises:
        UnknownEffectError: the event answers something that this run never asked for.
        TypeError: `spec` is no `AgentSpec`, or `event` no event.
    """
    if not isinstance(spec, AgentSpec):
        raise no_spec(spec, "step")
    # Behind whatever an event does: so none can be forgotten that gives a turn its last answer.
    return settle(spec, _after(spec, run, event, None))


def _after(spec: AgentSpec[S], run: Run[S], event: Event, around: Around | None) -> Run[S]:  # noqa: C901, PLR0912 - a case an event
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
            return after_failure(spec, run, event) if _is_asked(run, event) else run
        case ToolRaised():
            return _on_tool_raised(spec, run, event)
        case ClockTicked():
            return let_go(spec, run, _on_clock_ticked(spec, run, event))
        case Judged():
            return judge_call(spec, run, event, around)
        case CallRewritten():
            return rewrite_call(spec, run, event)
        case HumanDecided():
            return decide_call(spec, run, event)
        case GrantRevoked():
            return revoke_grant(run, event)
        case ToolNeverRan() | ToolLost():
            return after_loss(spec, run, event)
        case Resumed():
            return resume_run(spec, run, event)
        case HappenedInside():
            return _on_happened_inside(spec, run, event, around)
        case CancelRequested(reason):
            return let_go(spec, run, cut_short(spec, run, Cancelled(reason)))
        case MessageReceived():
            return spoken_to(run, event)
        case AnswerRejected():
            return run
        case _:
            raise _no_event(event)


def _no_event(value: Never) -> TypeError:
    got = type(value).__name__
    return TypeError(f"step takes an event last, as EffectPerformer.perform gives one; got {got}")


def _after_end(spec: AgentSpec[S], run: Run[S], event: Event) -> Run[S]:
    match event:
        case AnswerRejected(turn, text) if turn == run.turn and isinstance(run.outcome, Finished):
            return ask_again(spec, run, text)
        case Resumed():
            return resume_run(spec, run, event)
        # RULE: it can go on, and then by nothing that somebody has taken back meanwhile
        case GrantRevoked() if has_no_answer(run):
            return revoke_grant(run, event)
        case _:
            return run


def _on_model_replied(
    spec: AgentSpec[S], run: Run[S], event: ModelReplied, around: Around | None
) -> Run[S]:
    if not _is_asked(run, event):
        return run
    reply, calls = with_call_ids(event.reply, run.turn)
    # RULE: what a reply brings along, by a search at the provider, counts for its calls as well.
    # And tools of a server may have come while the run was at work.
    labels = labels_of([reply.message])
    if labels or spec.description_labels:
        run = with_labels(run, (*spec.description_labels, *labels))
    usage, cost = run.usage + reply.usage, run.cost + event.cost
    if not calls:
        return end_with_answer(spec, evolve(run, usage=usage, cost=cost), reply)
    slots, counts = open_slots(spec, run, calls, around)
    acting = Acting(reply, slots)
    return evolve(run, phase=acting, usage=usage, cost=cost, tool_call_counts=counts)


def _is_asked(run: Run[S], event: ModelReplied | ModelFailed) -> bool:
    """Whether the model is to answer just this.

    Raises:
        UnknownEffectError: it was never asked this.
    """
    if event.turn > run.turn:
        raise UnknownEffectError(
            f"run {run.id} is in turn {run.turn}, and the model was never asked in turn "
            f"{event.turn}, attempt {event.attempt}"
        )
    phase = run.phase
    is_thinking = isinstance(phase, Thinking) and phase.attempt == event.attempt
    return is_thinking and event.turn == run.turn


def _on_tool_started(spec: AgentSpec[S], run: Run[S], event: ToolStarted) -> Run[S]:
    slot = attempt_slot(run, event, Ready)
    if slot is None:
        return run
    clear, tool = slot.clearance, spec.tools[slot.call.tool_name]
    if clear and clear.attempt == event.attempt and is_past(clear.expires_at, event.at):
        return with_slot(run, move(slot, AwaitingPolicy()))  # confirmed in time, and too late now
    if isinstance(tool, Delegate):
        if limit := spec.limits.spent_inside(run.usage, run.cost, run.calls):
            return with_spending(run, give_up(slot, Exhausted(limit)))
        status = _delegate(spec, run, slot, event.at)
        return with_slot(run, attrs.evolve(slot, status=status, suspended=None))
    return with_slot(run, move(slot, Running(event.attempt, end_of(event.at, tool.timeout_s))))


def _on_tool_returned(spec: AgentSpec[S], run: Run[S], event: ToolReturned) -> Run[S]:
    slot = attempt_slot(run, event, BEGUN)
    return run if slot is None else _with_answer(spec, run, move(slot, Succeeded(event.result)))


def _on_tool_raised(spec: AgentSpec[S], run: Run[S], event: ToolRaised) -> Run[S]:
    slot = attempt_slot(run, event, BEGUN)
    if slot is None:
        return run
    if isinstance(slot.status, Unknown) and event.fault.kind == "unknown_outcome":
        return with_slot(run, after_lookup(spec, run, slot, event))
    return _with_answer(spec, run, after_fault(spec, slot, event))


def _with_answer(spec: AgentSpec[S], run: Run[S], slot: Slot) -> Run[S]:
    """The run after a tool has said something, whose labels it bears if the model reads of it.

    Where a human was asked about one more attempt, there will be none: what it held is given back.
    """
    if run.spent:
        for amounts in held_by([run.slots[slot.ref.place]]):
            run = charge(run, amounts, NOTHING)
    if isinstance(slot.status, (Succeeded, Faulted)):  # a union would be made anew each time
        labels = spec.tools[slot.call.tool_name].labels
        run = with_labels(run, labels) if labels else run
    return answer_call(spec, run, slot)


def _on_clock_ticked(spec: AgentSpec[S], run: Run[S], event: ClockTicked) -> Run[S]:
    if run.deadline is not None and run.deadline <= event.at:
        return cut_short(spec, run, Exhausted("max_seconds"))
    match run.phase:
        case Pausing(attempt, until) if until <= event.at:
            return evolve(run, phase=Thinking(attempt))
        case _:
            slots = [after_tick(spec, slot, event) for slot in run.slots]
            return expire_questions(with_slots(run, slots), event.at)


def _delegate(spec: AgentSpec[S], run: Run[S], slot: Slot, at: float | None) -> Status:
    """The run of an agent that begins to work on a call, or goes on with it."""
    if slot.suspended is not None:
        return call_status(spec, run, slot, slot.suspended.run)
    invocation = invocation_of(spec, run, slot)
    try:
        arguments = invocation.arguments()
        inner = start(
            spec.agents[slot.call.tool_name],
            [ChatMessage.from_user(str(arguments.pop(TASK)))],
            run_id=inner_name(run.id, slot.ref),
            state=initial_writes(arguments),
            at=at,
            nonce=inner_name(run.nonce, slot.ref),
            started_by=run.started_by,
            labels=run.labels,
        )
    except DetentError as error:
        return Faulted(invocation.fault(error))
    return call_status(spec, run, slot, inner)


def _on_happened_inside(
    spec: AgentSpec[S], run: Run[S], event: HappenedInside, around: Around | None
) -> Run[S]:
    slot = slot_at(run, event.ref)
    if slot is None or (at := agent_at(slot)) is None:
        return run
    if at.tool_name != event.tool_name:
        raise UnknownEffectError(f"run {run.id} has no agent {event.tool_name!r} on {event.ref}")
    agent, before = spec.agents[event.tool_name], at.run
    outermost, names = around or (run, ())
    inside = _after(agent, before, event.event, (outermost, (*names, event.tool_name)))
    after = settle(agent, inside)
    if after is before:
        return run
    usage, cost = after.usage - before.usage, after.cost - before.cost
    run = evolve(run, usage=run.usage + usage, cost=run.cost + cost)
    run = with_calls_inside(run, before, after)
    run = with_labels(charge(run, before.spent, after.spent), after.labels)
    if new := after.decisions[len(before.decisions) :]:
        ref = AgentRef(*slot.ref, event.tool_name)
        records = [attrs.evolve(record, path=(ref, *record.path)) for record in new]
        run = evolve(run, decisions=(*run.decisions, *records))
    limit = spec.limits.spent_inside(run.usage, run.cost, run.calls)
    if limit is None:
        return with_slot(run, as_far_as(spec, run, slot, after))
    if limit == "max_tool_calls" and after.outcome is None:
        cut = cut_short(agent, after, Exhausted(limit))  # before those that are too many run
        run, after = charge(run, after.spent, cut.spent), cut
    after = stopped_at_turn(agent, before, begins_none(agent, after, limit), limit)
    run = with_slot(run, as_far_as(spec, run, slot, after))
    return begins_none(spec, run, limit)
