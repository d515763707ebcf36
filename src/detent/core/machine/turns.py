"""A turn: the model's reply and the answers to its calls, folded into the run; or its last word."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, TypeAlias

import attrs

from detent.core.chat.messages import (
    ChatMessage,
    ChatRole,
    ResultPart,
    TextContent,
    ToolCall,
    ToolCallResult,
    labels_of,
    tool_message,
    with_calls,
)
from detent.core.chat.replies import ChatReply
from detent.core.errors import StateError, UnknownEffectError
from detent.core.machine.calls import give_up
from detent.core.run.attempts import held_by
from detent.core.run.events import Attempted, MessageReceived, ModelFailed, ToolRaised
from detent.core.run.outcomes import Cancelled, Exhausted, Failed, Finished, Outcome
from detent.core.run.output_type import AnswerType
from detent.core.run.refs import CallRef
from detent.core.run.run import (
    OPEN,
    THINKING,
    Acting,
    AnswerAccepted,
    AnsweredByHuman,
    AnswerInvalid,
    AwaitingDecision,
    Done,
    Faulted,
    Open,
    Pausing,
    Ready,
    Refused,
    Run,
    Running,
    Slot,
    Succeeded,
    Thinking,
    Unknown,
    charge,
    evolve,
    is_settled,
    move,
    replace_slot,
    with_labels,
)
from detent.core.run.spec import AgentSpec
from detent.core.run.totals import NOTHING
from detent.core.schema.conversion import ConversionError
from detent.core.state.state import conversation_in, with_messages
from detent.core.state.typevars import S
from detent.core.tools import wording
from detent.core.tools.invocation import Invocation
from detent.core.tools.result import ToolResult

Attempt: TypeAlias = Running | Ready | Unknown
BEGUN = (Running, Ready, Unknown)
"""The statuses of a call that may be answered; a call that runs is the usual case."""
EARLY = frozenset({"length", "content_filter", "refusal"})
"""The reasons for which a model stops before its answer is whole."""


def slot_at(run: Run[S], ref: CallRef) -> Slot | None:
    """The open turn's slot at `ref`; None when it belongs to a turn that has passed."""
    if ref.turn < run.turn:
        return None
    phase = run.phase
    slots = phase.slots if isinstance(phase, Acting) else ()
    if ref.turn > run.turn or not 0 <= ref.place < len(slots):
        raise UnknownEffectError(f"run {run.id} has no tool call {ref}")
    return slots[ref.place]


def attempt_slot(
    run: Run[S], event: Attempted, kinds: type[Attempt] | tuple[type[Attempt], ...]
) -> Slot | None:
    """The slot whose attempt the event is about; None unless its status is of these kinds."""
    slot = slot_at(run, event.ref)
    if slot is not None and isinstance(slot.status, kinds):
        return slot if slot.status.attempt == event.attempt else None
    return slot if slot and kinds is BEGUN and _answers_question(event, slot) else None


def _answers_question(event: Attempted, slot: Slot) -> bool:
    """Whether a human is asked about a call because nobody knew what this event says.

    Somebody knows after all: a driver that lost the run while the tool was at work. Of a call that
    may be begun again in any case, a policy has it asked, and the attempt that it asks about is the
    same one.
    """
    status = slot.status
    if not isinstance(status, AwaitingDecision) or not slot.was_begun:
        return False
    is_lookup = isinstance(event, ToolRaised) and event.fault.kind == "unknown_outcome"
    return status.attempt == event.attempt + bool(status.after) and not is_lookup


def settle(spec: AgentSpec[S], run: Run[S]) -> Run[S]:
    """The run, past its turn if all calls of it have their answers: in the model's order."""
    phase = run.phase
    if not isinstance(phase, Acting) or not are_settled(phase.slots):
        return run
    return _complete(spec, run, phase.reply, phase.slots)


def answer_call(spec: AgentSpec[S], run: Run[S], slot: Slot) -> Run[S]:
    """As `settle` of the run with this slot, with no run in between, for which each turn pays."""
    phase = run.phase
    assert isinstance(phase, Acting)  # noqa: S101 - else it has no slots
    slots = replace_slot(phase.slots, slot)
    if are_settled(slots):
        return _complete(spec, run, phase.reply, slots)
    return evolve(run, phase=Acting(phase.reply, slots))


def are_settled(slots: Sequence[Slot]) -> bool:
    """Whether each slot's call has its answer."""
    for slot in slots:  # noqa: SIM110 - a generator would take twice as long
        if type(slot.status) in OPEN:
            return False
    return True


def _complete(spec: AgentSpec[S], run: Run[S], reply: ChatReply, slots: Sequence[Slot]) -> Run[S]:
    state, slots = fold_turn(spec, run, reply, slots)
    outcome = _outcome(spec, slots)
    if outcome is not None:
        return _unless_unread(spec, evolve(run, state=state, phase=Done(outcome)))
    if spec.output is not None:
        invalid = sum(isinstance(slot.status, AnswerInvalid) for slot in slots)
        run = evolve(run, invalid_answers=run.invalid_answers + invalid)
    return advance(spec, run, state)


def advance(spec: AgentSpec[S], run: Run[S], state: S) -> Run[S]:
    """The run with `state` at its next turn, or at its end when that was the last."""
    if spec.output is not None and run.invalid_answers >= spec.output.tries:
        return evolve(run, state=state, phase=Done(Exhausted("output_tries")))
    limit = run.exhausted or spec.limits.spent(run.turn, run.usage, run.cost)
    if limit is None:
        return next_turn(run, state)
    if run.exhausted or not spec.limits.final_answer:
        return evolve(run, state=state, phase=Done(Exhausted(limit)))
    final = evolve(run, exhausted=limit, options=attrs.evolve(run.options, tools=()))
    return next_turn(final, state)


def next_turn(run: Run[S], state: S) -> Run[S]:
    """The run with `state`, when the model is to be asked for its next turn."""
    return with_unread(evolve(run, state=state, phase=THINKING, turn=run.turn + 1, given_up=0))


def ask_again(spec: AgentSpec[S], run: Run[S], text: str) -> Run[S]:
    """The run in which the model is told why its answer will not do, unless that was its last."""
    turn = advance(spec, run, run.state)
    return turn if turn.outcome is not None else say(turn, [ChatMessage.from_user(text)])


def cut_short(spec: AgentSpec[S], run: Run[S], outcome: Exhausted | Cancelled) -> Run[S]:
    """The run, ended in the middle of a turn.

    What has been done is kept, what has not is answered: the conversation can be carried on.
    """
    if isinstance(run.phase, Acting):
        slots = [slot if is_settled(slot) else give_up(slot, outcome) for slot in run.slots]
        state, _ = fold_turn(spec, run, run.phase.reply, slots)
        for amounts in held_by(run.slots):  # the thread, and whatever goes on from here, has it yet
            run = charge(run, amounts, NOTHING)
        return evolve(run, state=state, phase=Done(outcome))
    return end(run, outcome)


def after_failure(spec: AgentSpec[S], run: Run[S], event: ModelFailed) -> Run[S]:
    """The run when the model has given no answer: it asks again, now or later, or has failed.

    RULE: one that was paid for and reaches a limit is the last, unless a human has it tried again.
    """
    tries = event.attempt - run.given_up
    pause_s = spec.model_retries.model_pause_s(event.failure, tries, event.chance)
    if event.cost or event.usage.total_tokens:
        run = evolve(run, usage=run.usage + event.usage, cost=run.cost + event.cost)
        if not run.exhausted and spec.limits.spent(0, run.usage, run.cost):
            pause_s = None
    if pause_s is None:
        return end(evolve(run, given_up=event.attempt), Failed(event.failure))
    run = with_unread(run)
    if event.at is None or not pause_s:
        return evolve(run, phase=Thinking(event.attempt + 1))
    return evolve(run, phase=Pausing(event.attempt + 1, event.at + pause_s))


def spoken_to(run: Run[S], event: MessageReceived) -> Run[S]:
    """The run, to which a user has said something.

    RULE: the model may be at work on what it was asked; it reads this when it is asked anew.
    """
    run = evolve(run, unread=(*run.unread, event.message))
    return with_unread(run) if isinstance(run.phase, Pausing) else run


def with_unread(run: Run[S]) -> Run[S]:
    """The run when the model is about to be asked: with what was said to it in the meantime."""
    if not run.unread:
        return run
    return evolve(with_labels(say(run, run.unread), labels_of(run.unread)), unread=())


def _unless_unread(spec: AgentSpec[S], run: Run[S]) -> Run[S]:
    """The run, which has its answer; it goes on if something was said that this does not know of.

    Where a limit is in the way it ends with what it has, and whoever goes on behind it reads that.
    """
    if not run.unread or not isinstance(run.outcome, Finished):
        return run
    turn = advance(spec, run, run.state)
    return run if turn.outcome is not None else turn


def fold_turn(
    spec: AgentSpec[S], run: Run[S], reply: ChatReply, slots: Sequence[Slot]
) -> tuple[S, list[Slot]]:
    """The state with a turn in it, its messages too, and the slots as they were merged."""
    state = run.state
    new: list[Slot] = []
    calls: list[ToolCall] = []
    answers: list[ChatMessage] = []
    for slot in slots:  # in one loop, as each turn pays for it
        merged, status = slot, slot.status
        if isinstance(status, Succeeded) and status.result.writes:
            state, merged = _merge(spec, run, state, slot, status.result)
        new.append(merged)
        calls.append(slot.call)  # as made, or modified
        result = answer(merged)
        assert result is not None  # noqa: S101 - a turn is folded when each call has its answer
        answers.append(tool_message(result))
    return with_messages(state, [with_calls(reply.message, calls), *answers]), new


def answer(slot: Slot) -> ToolCallResult | None:
    """What the model is told about the call; None while it is open."""
    status = slot.status
    match status:
        case Succeeded():  # not taken apart here: that would take thrice as long
            content, display = status.result.content, status.result.display
            if slot.clearance is not None and slot.clearance.note is not None:
                content = _with_note(slot.clearance.note, content)
                display = None if display is None else _with_note(slot.clearance.note, display)
            return ToolCallResult(content, slot.call, display=display)
        case Faulted(fault):
            return ToolCallResult(fault.message, slot.call, error=True)
        case Refused(text) | AnswerInvalid(text):
            return ToolCallResult(text, slot.call, error=True)
        case AnsweredByHuman(text):
            return ToolCallResult(text, slot.call)
        case AnswerAccepted():
            return ToolCallResult("accepted", slot.call)
        case _:
            _: Open = status  # a type checker sees that none which has an answer is left
            return None


def failed_at_once(reply: ChatReply, run: Run[Any]) -> list[tuple[int, ToolCallResult]]:
    """The calls of a reply that were not run, by place, with what the model is told of each.

    `run` is the run after the reply: no call is checked anew. Where none has run, its turn is over,
    and they stand in its conversation.
    """
    phase = run.phase
    slots = phase.slots if isinstance(phase, Acting) else ()
    if slots and not any(map(is_settled, slots)):
        return []  # nearly always, and quickly seen
    if not reply.message.tool_calls:
        return []
    answers = [answer(slot) for slot in slots] or _last_answers(run)
    return [(place, told) for place, told in enumerate(answers) if told and told.error]


def _last_answers(run: Run[Any]) -> list[ToolCallResult]:
    """What the model was told about the calls of its last reply, in their order."""
    newest = reversed(conversation_in(run.state))
    behind = takewhile(lambda message: message.role is not ChatRole.ASSISTANT, newest)
    return [result for message in reversed([*behind]) for result in message.tool_call_results]


def _with_note(note: str, content: str | tuple[ResultPart, ...]) -> str | tuple[ResultPart, ...]:
    return f"{note}\n{content}" if isinstance(content, str) else (TextContent(note), *content)


def _merge(
    spec: AgentSpec[S], run: Run[S], state: S, slot: Slot, result: ToolResult
) -> tuple[S, Slot]:
    """The state with a result's writes merged; one that does not fit it becomes a fault."""
    try:
        return state.update(result.writes), slot
    except StateError as error:
        invocation = Invocation(spec.tools[slot.call.tool_name], slot.call, run.state)
        return state, move(slot, Faulted(invocation.unmerged(error, result)))


def _outcome(spec: AgentSpec[S], slots: Sequence[Slot]) -> Outcome | None:
    """How the turn's calls end the run, if they do: a fault, the answer, or an exit tool."""
    for slot in slots if spec.fail_on_tool_fault else ():
        if isinstance(slot.status, Faulted):
            return Failed(slot.status.fault)
    for slot in slots:
        if isinstance(slot.status, Succeeded):
            if slot.call.tool_name in spec.exit_conditions:
                return Finished(slot.call.tool_name)
        elif isinstance(slot.status, AnswerAccepted):
            return Finished("output", slot.call.arguments)
    return None


def say(run: Run[S], messages: Sequence[ChatMessage]) -> Run[S]:
    """The run with `messages` at the end of its conversation."""
    return evolve(run, state=with_messages(run.state, messages))


def end(run: Run[S], outcome: Outcome) -> Run[S]:
    """The run, ended."""
    return evolve(run, phase=Done(outcome))


def end_with_answer(spec: AgentSpec[S], run: Run[S], reply: ChatReply) -> Run[S]:
    """The run after a reply without tool calls: its end, unless that is not the answer wanted.

    A paused answer goes on in a turn of its own: what was paid is in the journal, whatever happens
    then, and the limits hold in between.
    """
    return _unless_unread(spec, _end_with_answer(spec, say(run, [reply.message]), reply))


def _end_with_answer(spec: AgentSpec[S], run: Run[S], reply: ChatReply) -> Run[S]:
    if reply.finish_reason == "paused":
        return advance(spec, run, run.state)
    early = reply.finish_reason if reply.finish_reason in EARLY else None
    if spec.output is None:
        limit = run.exhausted
        return end(run, Exhausted(limit) if limit else Finished(early or "text"))
    try:
        answer = spec.output.answer_in(reply.message.text or "")
    except ConversionError as error:
        return end(run, Finished(early)) if early else _ask_for_type(spec, run, spec.output, error)
    return end(run, Finished("output", answer))


def _ask_for_type(
    spec: AgentSpec[S], run: Run[S], kind: AnswerType[Any], error: ConversionError
) -> Run[S]:
    """The run in which the model is asked again, unless that was its last try."""
    tools = spec.tools if run.options.tools is None else run.options.tools
    tool_name = None if kind.is_native(bool(tools)) else kind.name
    retry = evolve(run, invalid_answers=run.invalid_answers + 1)
    return ask_again(spec, retry, wording.answer_wanted_again(str(error), tool_name))
