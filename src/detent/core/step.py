"""One event, folded into a run. RULE: everything that changes a run is in this module."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import count

from attrs import evolve

from detent.core.arguments import faults
from detent.core.decisions import (
    Allow,
    Answered,
    Ask,
    Confirmed,
    Decision,
    Modified,
    Rejected,
    digest,
)
from detent.core.errors import StateError, UnknownEffectError
from detent.core.events import (
    CancelRequested,
    Event,
    HumanDecided,
    ModelFailed,
    ModelReplied,
    ToolRaised,
    ToolReturned,
    ToolStarted,
)
from detent.core.frozen import FrozenDict
from detent.core.keys import Write
from detent.core.messages import ChatMessage, ChatRole, ToolCall
from detent.core.outcomes import Cancelled, Exhausted, Failed, Finished, Outcome
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
    Running,
    Slot,
    Status,
    Succeeded,
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


def step(spec: AgentSpec[S], run: Run[S], event: Event) -> Run[S]:
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
            return _on_tool_ended(spec, run, event, Succeeded(event.result))
        case ToolRaised():
            return _on_tool_ended(spec, run, event, Faulted(event.fault))
        case HumanDecided():
            return _on_human_decided(spec, run, event)
        case CancelRequested():
            return _end(run, Cancelled(event.reason))


def _on_model_replied(spec: AgentSpec[S], run: Run[S], event: ModelReplied) -> Run[S]:
    if not _is_asked(run, event):
        return run
    reply = _with_call_ids(event.reply, run.turn)
    run = evolve(run, usage=run.usage + reply.usage)
    calls = reply.message.tool_calls
    if not calls:
        said = _say(run, [reply.message])
        return _end(said, Finished(_text_exit(reply)))
    refs = (CallRef(run.turn, place) for place in range(len(calls)))
    slots = [_open(spec, run, ref, call) for ref, call in zip(refs, calls, strict=False)]
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
    return _change(spec, run, evolve(slot, status=Running(event.attempt)))


def _on_tool_ended(
    spec: AgentSpec[S], run: Run[S], event: ToolReturned | ToolRaised, status: Status
) -> Run[S]:
    slot = _slot(run, event.ref)
    if slot is None or slot.status not in (Ready(event.attempt), Running(event.attempt)):
        return run
    return _change(spec, run, evolve(slot, status=status))


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
            if _argument_faults(spec, call):
                return slot
            lead = f"The parameters for tool '{name}' were updated by the user to:"
            note = _with_feedback(f"{lead}\n{text_of(arguments)}", feedback)
            return evolve(slot, call=call, status=Ready(), note=note)
        case Rejected(feedback):
            text = f"Tool execution for '{name}' was rejected by the user."
            return evolve(slot, status=Refused(_with_feedback(text, feedback)))
        case Answered(text):
            return evolve(slot, status=AnsweredByHuman(text))


def _open(spec: AgentSpec[S], run: Run[S], ref: CallRef, call: ToolCall) -> Slot:
    """The slot of a call that the model has just made: checked, then held against the policy."""
    chosen = run.options.tools
    tool = spec.tools.get(call.tool_name)
    if tool is None or (chosen is not None and tool.name not in chosen):
        names = ", ".join(spec.tools if chosen is None else chosen)
        text = f"Tool '{call.tool_name}' not found. Available tools: {names}"
        return Slot(ref, call, Faulted(ToolFault("unknown_tool", text)))
    call = _without_injected(call, tool.inputs_from_state.values())
    if problems := _argument_faults(spec, call):
        text = f"Tool '{tool.name}' was not run: " + "; ".join(problems)
        return Slot(ref, call, Faulted(ToolFault("invalid_arguments", text)))
    policy = spec.policies.get(tool.name)
    match policy(call, tool, run) if policy is not None else Allow():
        case Allow():
            return Slot(ref, call, Ready())
        case Ask(reason):
            bound = digest(run.id, ref.turn, ref.place, call, tool)
            return Slot(ref, call, AwaitingDecision(bound, reason))


def _argument_faults(spec: AgentSpec[S], call: ToolCall) -> list[str]:
    if call.unreadable is not None:
        return [f"the arguments are not a JSON object: {call.unreadable}"]
    return list(faults(call.arguments, spec.tools[call.tool_name].spec.parameters))


def _without_injected(call: ToolCall, injected: Iterable[str]) -> ToolCall:
    """A value that the model sends for a parameter that the state fills is ignored."""
    sent = set(injected) & call.arguments.keys()
    if not sent:
        return call
    kept = {name: value for name, value in call.arguments.items() if name not in sent}
    return evolve(call, arguments=kept)


def _change(spec: AgentSpec[S], run: Run[S], changed: Slot) -> Run[S]:
    if not isinstance(run.phase, Acting):
        return run
    return _advance(spec, run, run.phase.reply, _replaced(run.slots, changed))


def _advance(spec: AgentSpec[S], run: Run[S], reply: ChatReply, slots: Sequence[Slot]) -> Run[S]:
    """Wait while a slot is open; then fold all results, in the model's order."""
    if not all(map(is_settled, slots)):
        return evolve(run, phase=Acting(reply, tuple(slots)))
    state = run.state
    folded: list[Slot] = []
    for slot in slots:
        state, settled = _merged(state, slot)
        folded.append(settled)
    said = _say(evolve(run, state=state), _turn_messages(reply, folded))
    outcome = _outcome(spec, run, folded)
    if outcome is not None:
        return _end(said, outcome)
    return evolve(said, phase=Thinking(), turn=run.turn + 1)


def _merged(state: S, slot: Slot) -> tuple[S, Slot]:
    """The state with a result's writes merged; a result that does not fit it becomes a fault."""
    if not isinstance(slot.status, Succeeded):
        return state, slot
    try:
        return state.update(slot.status.result.writes), slot
    except StateError as error:
        text = f"The result of tool '{slot.call.tool_name}' was not stored: {error}"
        return state, evolve(slot, status=Faulted(ToolFault("unmergeable", text)))


def _turn_messages(reply: ChatReply, slots: Sequence[Slot]) -> list[ChatMessage]:
    """The model's message with its calls, as made or modified, then every answer in order."""
    results = [result for slot in slots if (result := answer(slot)) is not None]
    answers = [ChatMessage(ChatRole.TOOL, (result,)) for result in results]
    return [_with_calls(reply.message, [slot.call for slot in slots]), *answers]


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


def _with_call_ids(reply: ChatReply, turn: int) -> ChatReply:
    """The reply with an id for each call: one without, or with one used before, gets a new one."""
    calls = reply.message.tool_calls
    ids = [call.id for call in calls]
    if all(ids) and len(set(ids)) == len(ids):
        return reply
    for place, call in enumerate(calls):
        if not call.id or call.id in ids[:place]:
            names = (f"call_{turn}_{number}" for number in count(place))
            ids[place] = next(name for name in names if name not in ids)
    named = [evolve(call, id=name) for call, name in zip(calls, ids, strict=True)]
    return evolve(reply, message=_with_calls(reply.message, named))


def _with_calls(message: ChatMessage, calls: Iterable[ToolCall]) -> ChatMessage:
    """The message with each of its calls, in order, replaced by one of `calls`."""
    rest = iter(calls)
    content = [next(rest) if isinstance(part, ToolCall) else part for part in message.content]
    return evolve(message, content=content)


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


def _replaced(slots: Sequence[Slot], changed: Slot) -> tuple[Slot, ...]:
    return tuple(changed if slot.ref == changed.ref else slot for slot in slots)


def _say(run: Run[S], messages: Sequence[ChatMessage]) -> Run[S]:
    return evolve(run, state=run.state.update([Write("messages", messages)]))


def _end(run: Run[S], outcome: Outcome) -> Run[S]:
    return evolve(run, phase=Done(outcome))


def _with_feedback(text: str, feedback: str | None) -> str:
    return f"{text} With user feedback: {feedback}" if feedback else text
