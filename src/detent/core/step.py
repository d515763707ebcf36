"""One event, folded into a run. RULE: everything that changes a run is in this module."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import is_

from attrs import evolve

from detent.core.arguments import argument_faults
from detent.core.decisions import Answered, Confirmed, Decision, Modified, Rejected
from detent.core.errors import StateError, UnknownEffectError
from detent.core.events import (
    CancelRequested,
    ClockTicked,
    Event,
    HumanDecided,
    ModelFailed,
    ModelReplied,
    Resumed,
    ToolNeverRan,
    ToolRaised,
    ToolReturned,
    ToolStarted,
)
from detent.core.frozen import FrozenDict
from detent.core.invocation import Invocation
from detent.core.keys import Write
from detent.core.messages import ChatMessage, ChatRole
from detent.core.opening import open_slots, with_call_ids, with_calls
from detent.core.outcomes import Cancelled, Exhausted, Failed, Finished, Outcome
from detent.core.recovery import recovered
from detent.core.replies import ChatReply
from detent.core.results import ToolFault, text_of
from detent.core.run import NO_OPTIONS, Acting, Done, Run, RunOptions, Thinking
from detent.core.slots import (
    AnsweredByHuman,
    AwaitingDecision,
    CallRef,
    Faulted,
    Ready,
    Refused,
    Resting,
    Running,
    Slot,
    Status,
    Succeeded,
    Unknown,
    answer,
    is_settled,
)
from detent.core.spec import AgentSpec, S


def start(
    spec: AgentSpec[S],
    messages: Sequence[ChatMessage],
    *,
    run_id: str,
    state: Iterable[Write] = (),
    options: RunOptions = NO_OPTIONS,
) -> Run[S]:
    """A run in which nothing has happened yet: the conversation so far and the initial state.

    Raises:
        StateError: a write names an unknown key or has a value of the wrong type.
    """
    prompt = [ChatMessage.from_system(spec.system_prompt)] if spec.system_prompt else []
    opening = Write("messages", [*prompt, *messages])
    begun = Run(run_id, spec.state.update([*state, opening]), options=options)
    if spec.limits.max_agent_steps < 1:
        return _end(evolve(begun, turn=0), Exhausted("max_agent_steps"))
    return begun


def replay(spec: AgentSpec[S], run: Run[S], journal: Iterable[Event]) -> Run[S]:
    """The run after all events of `journal`, in order."""
    return reduce(lambda current, event: step(spec, current, event), journal, run)


def step(spec: AgentSpec[S], run: Run[S], event: Event) -> Run[S]:  # noqa: C901 - a case an event
    """The run after `event`.

    An event that answers nothing owed (late, doubled, after the end) changes nothing.

    Raises:
        UnknownEffectError: the event answers something that this run never asked for.
    """
    if isinstance(run.phase, Done):
        return run
    match event:
        case ModelReplied():
            return _on_model_replied(spec, run, event)
        case ModelFailed():
            return _on_model_failed(run, event)
        case ToolStarted():
            return _on_tool_started(spec, run, event)
        case ToolReturned():
            return _on_tool_returned(spec, run, event)
        case ToolRaised():
            return _on_tool_raised(spec, run, event)
        case ClockTicked():
            return _on_clock_ticked(spec, run, event)
        case HumanDecided():
            return _on_human_decided(spec, run, event)
        case ToolNeverRan():
            return _on_tool_never_ran(spec, run, event)
        case Resumed():
            return _on_resumed(spec, run, event)
        case CancelRequested():
            return _on_cancel_requested(spec, run, event)


def _on_model_replied(spec: AgentSpec[S], run: Run[S], event: ModelReplied) -> Run[S]:
    if not _is_asked(run, event):
        return run
    reply = with_call_ids(event.reply, run.turn)
    run = evolve(run, usage=run.usage + reply.usage)
    calls = reply.message.tool_calls
    if not calls:
        said = _say(run, [reply.message])
        return _end(said, Finished(_text_exit(reply)))
    slots = event.slots or open_slots(spec, run, reply)
    counts = dict(run.tool_call_counts)
    for call in calls:
        counts[call.tool_name] = counts.get(call.tool_name, 0) + 1
    run = evolve(run, tool_call_counts=FrozenDict(counts))
    return _advance(spec, run, reply, slots)


def _on_model_failed(run: Run[S], event: ModelFailed) -> Run[S]:
    return _end(run, Failed(event.failure)) if _is_asked(run, event) else run


def _on_tool_started(spec: AgentSpec[S], run: Run[S], event: ToolStarted) -> Run[S]:
    slot = _slot(run, event.ref)
    if slot is None or slot.status != Ready(event.attempt):
        return run
    limit = spec.tools[slot.call.tool_name].timeout_s
    deadline = None if limit is None or event.at is None else event.at + limit
    return _change(spec, run, evolve(slot, status=Running(event.attempt, deadline)))


def _on_tool_returned(spec: AgentSpec[S], run: Run[S], event: ToolReturned) -> Run[S]:
    slot = _attempted(run, event)
    if slot is None:
        return run
    return _change(spec, run, evolve(slot, status=Succeeded(event.result)))


def _on_tool_raised(spec: AgentSpec[S], run: Run[S], event: ToolRaised) -> Run[S]:
    slot = _attempted(run, event)
    if slot is None:
        return run
    return _change(spec, run, evolve(slot, status=_after_fault(spec, slot, event)))


def _on_clock_ticked(spec: AgentSpec[S], run: Run[S], event: ClockTicked) -> Run[S]:
    return _with_slots(spec, run, [_after_tick(spec, slot, event) for slot in run.slots])


def _after_tick(spec: AgentSpec[S], slot: Slot, event: ClockTicked) -> Slot:
    match slot.status:
        case Resting(attempt, until) if until <= event.at:
            return evolve(slot, status=Ready(attempt))
        case Running(attempt, deadline) if deadline is not None and deadline <= event.at:
            tool = spec.tools[slot.call.tool_name]
            text = f"Tool '{tool.name}' gave no answer within {tool.timeout_s} s"
            fault = ToolFault("timeout", text, retryable=True)
            raised = ToolRaised(slot.ref, attempt, fault, event.at, event.chance)
            return evolve(slot, status=_after_fault(spec, slot, raised))
        case _:
            return slot


def _after_fault(spec: AgentSpec[S], slot: Slot, event: ToolRaised) -> Status:
    """What becomes of a call after a failed attempt: it rests until the next, or is settled."""
    retries = spec.tools[slot.call.tool_name].retries
    if not event.fault.retryable or event.attempt > retries.times:
        return Faulted(event.fault)
    pause_s = retries.pause_s(event.attempt, event.chance)
    if event.at is None or not pause_s:
        return Ready(event.attempt + 1)
    return Resting(event.attempt + 1, event.at + pause_s)


def _on_tool_never_ran(spec: AgentSpec[S], run: Run[S], event: ToolNeverRan) -> Run[S]:
    slot = _slot(run, event.ref)
    if slot is None or slot.status != Unknown(event.attempt):
        return run
    return _change(spec, run, evolve(slot, status=Ready(event.attempt)))


def _on_resumed(spec: AgentSpec[S], run: Run[S], event: Resumed) -> Run[S]:
    return _with_slots(spec, run, [recovered(spec, run, slot, event) for slot in run.slots])


def _on_human_decided(spec: AgentSpec[S], run: Run[S], event: HumanDecided) -> Run[S]:
    slot = _slot(run, event.ref)
    awaited = slot.status if slot is not None else None
    if slot is None or not isinstance(awaited, AwaitingDecision) or awaited.digest != event.digest:
        return run
    decided = _decided(spec, slot, event.decision)
    return run if decided is slot else _change(spec, run, decided)


def _decided(spec: AgentSpec[S], slot: Slot, decision: Decision) -> Slot:
    name = slot.call.tool_name
    match decision:
        case Confirmed():
            return evolve(slot, status=Ready())
        case Modified(arguments, feedback):
            call = evolve(slot.call, arguments=arguments)
            if argument_faults(call, spec.tools[name]):
                return slot
            lead = f"The parameters for tool '{name}' were updated by the user to:"
            note = _with_feedback(f"{lead}\n{text_of(arguments)}", feedback)
            return evolve(slot, call=call, status=Ready(), note=note)
        case Rejected(feedback):
            text = f"Tool execution for '{name}' was rejected by the user."
            return evolve(slot, status=Refused(_with_feedback(text, feedback)))
        case Answered(text):
            return evolve(slot, status=AnsweredByHuman(text))


def _on_cancel_requested(spec: AgentSpec[S], run: Run[S], event: CancelRequested) -> Run[S]:
    """What has been done is kept, what has not is answered: a cancelled run can be carried on."""
    if isinstance(run.phase, Acting):
        slots = [slot if is_settled(slot) else _cancelled(slot) for slot in run.slots]
        run, _ = _folded(spec, run, run.phase.reply, slots)
    return _end(run, Cancelled(event.reason))


def _cancelled(slot: Slot) -> Slot:
    name = slot.call.tool_name
    if isinstance(slot.status, Running):
        text = f"Tool '{name}' was running when the run was cancelled. Its outcome is unknown."
    else:
        text = f"Tool '{name}' was not run: the run was cancelled."
    return evolve(slot, status=Faulted(ToolFault("cancelled", text)))


def _change(spec: AgentSpec[S], run: Run[S], changed: Slot) -> Run[S]:
    return _with_slots(spec, run, _replaced(run.slots, changed))


def _with_slots(spec: AgentSpec[S], run: Run[S], slots: Sequence[Slot]) -> Run[S]:
    if not isinstance(run.phase, Acting) or all(map(is_, slots, run.slots)):
        return run
    return _advance(spec, run, run.phase.reply, slots)


def _advance(spec: AgentSpec[S], run: Run[S], reply: ChatReply, slots: Sequence[Slot]) -> Run[S]:
    """Wait while a slot is open; then fold all results, in the model's order."""
    if not all(map(is_settled, slots)):
        return evolve(run, phase=Acting(reply, tuple(slots)))
    said, folded = _folded(spec, run, reply, slots)
    outcome = _outcome(spec, run, folded)
    if outcome is not None:
        return _end(said, outcome)
    return evolve(said, phase=Thinking(), turn=run.turn + 1)


def _folded(
    spec: AgentSpec[S], run: Run[S], reply: ChatReply, slots: Sequence[Slot]
) -> tuple[Run[S], list[Slot]]:
    """The run with a turn in its state and its conversation, and the slots as they were merged."""
    state = run.state
    folded: list[Slot] = []
    for slot in slots:
        state, settled = _merged(spec, run, state, slot)
        folded.append(settled)
    return _say(evolve(run, state=state), _turn_messages(reply, folded)), folded


def _merged(spec: AgentSpec[S], run: Run[S], state: S, slot: Slot) -> tuple[S, Slot]:
    """The state with a result's writes merged; a result that does not fit it becomes a fault."""
    if not isinstance(slot.status, Succeeded):
        return state, slot
    try:
        return state.update(slot.status.result.writes), slot
    except StateError as error:
        invocation = Invocation(spec.tools[slot.call.tool_name], slot.call, run.state)
        return state, evolve(slot, status=Faulted(invocation.unmerged(error)))


def _turn_messages(reply: ChatReply, slots: Sequence[Slot]) -> list[ChatMessage]:
    """The model's message with its calls, as made or modified, then every answer in order."""
    results = [result for slot in slots if (result := answer(slot)) is not None]
    answers = [ChatMessage(ChatRole.TOOL, (result,)) for result in results]
    return [with_calls(reply.message, [slot.call for slot in slots]), *answers]


def _outcome(spec: AgentSpec[S], run: Run[S], slots: Sequence[Slot]) -> Outcome | None:
    """How the turn ends the run, if it does: a fault, a successful exit tool, or the last step."""
    for slot in slots:
        if isinstance(slot.status, Faulted) and spec.fail_on_tool_fault:
            return Failed(slot.status.fault)
    for slot in slots:
        if isinstance(slot.status, Succeeded) and slot.call.tool_name in spec.exit_conditions:
            return Finished(slot.call.tool_name)
    if run.turn >= spec.limits.max_agent_steps:
        return Exhausted("max_agent_steps")
    return None


def _text_exit(reply: ChatReply) -> str:
    early = ("length", "content_filter", "refusal")
    return reply.finish_reason if reply.finish_reason in early else "text"


def _is_asked(run: Run[S], event: ModelReplied | ModelFailed) -> bool:
    if event.turn > run.turn:
        raise UnknownEffectError(f"run {run.id} is in turn {run.turn}, and was never asked {event}")
    return event.turn == run.turn and run.phase == Thinking(event.attempt)


def _slot(run: Run[S], ref: CallRef) -> Slot | None:
    """The open turn's slot at `ref`; None when it belongs to a turn that has passed."""
    if ref.turn < run.turn:
        return None
    if ref.turn > run.turn or not 0 <= ref.place < len(run.slots):
        raise UnknownEffectError(f"run {run.id} has no tool call {ref}")
    return run.slots[ref.place]


def _attempted(run: Run[S], event: ToolReturned | ToolRaised) -> Slot | None:
    """The slot that the event answers; None when that attempt is over."""
    slot = _slot(run, event.ref)
    if slot is None or not isinstance(slot.status, Ready | Running | Unknown):
        return None
    return slot if slot.status.attempt == event.attempt else None


def _replaced(slots: Sequence[Slot], changed: Slot) -> tuple[Slot, ...]:
    return tuple(changed if slot.ref == changed.ref else slot for slot in slots)


def _say(run: Run[S], messages: Sequence[ChatMessage]) -> Run[S]:
    return evolve(run, state=run.state.update([Write("messages", messages)]))


def _end(run: Run[S], outcome: Outcome) -> Run[S]:
    return evolve(run, phase=Done(outcome))


def _with_feedback(text: str, feedback: str | None) -> str:
    return f"{text} With user feedback: {feedback}" if feedback else text
