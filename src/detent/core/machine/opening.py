"""Opening a run behind another, and a turn: calls are checked before anything runs or is asked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from attrs import evolve

from detent.core.chat.messages import ChatMessage, ChatRole, ToolCall, with_calls
from detent.core.chat.replies import ChatReply
from detent.core.run.output_type import OutputType
from detent.core.run.refs import CallRef, new_ref
from detent.core.run.run import (
    READY,
    AnswerAccepted,
    AnswerInvalid,
    AwaitingPolicy,
    Faulted,
    Run,
    Slot,
)
from detent.core.run.spec import AgentSpec
from detent.core.schema.conversion import ConversionError
from detent.core.state.handlers import replace_values
from detent.core.state.keys import Write
from detent.core.state.state import conversation_in, initial_writes, with_messages
from detent.core.state.typevars import S
from detent.core.tools import wording
from detent.core.tools.invocation import check_arguments, without_hidden
from detent.core.tools.result import ToolFault


def left_by(before: Run[Any], spec: AgentSpec[S], messages: Sequence[ChatMessage]) -> S:
    """What a run that has ended has left, with `messages` behind it, for one that goes on.

    The first message is the system prompt of the one that goes on; it is there once.
    """
    if before.outcome is None:
        raise ValueError(f"run {before.id!r} has not ended: go on with itself, by snapshot or id")
    state: S = before.state
    if state.fields is not spec.state.fields:  # of another agent: each value has to fit this one
        state = spec.state.update(initial_writes(state.data))
    if spec.system_prompt:
        prompt, said = ChatMessage.from_system(spec.system_prompt), conversation_in(state)
        rest = said[1:] if said and said[0].role is ChatRole.SYSTEM else said
        if rest is said or said[0] != prompt:
            state = state.update([Write("messages", [prompt, *rest], replace_values)])
        messages = [one for one in messages if one != prompt]
    return with_messages(state, messages)


def open_slots(spec: AgentSpec[S], run: Run[S], calls: Sequence[ToolCall]) -> tuple[Slot, ...]:
    """A slot for each call of the reply that has come in this turn."""
    turn, places = run.turn, enumerate(calls)
    return tuple([_opened(spec, run, new_ref((turn, place)), call) for place, call in places])


def _opened(spec: AgentSpec[S], run: Run[S], ref: CallRef, call: ToolCall) -> Slot:
    """The slot of a call that the model has just made: ready, unless a policy guards its tool."""
    if spec.output is not None and call.tool_name == spec.output.name:
        return Slot(ref, call, _held_against(spec.output, call))
    chosen = run.options.tools
    tool = spec.tools.get(call.tool_name)
    if tool is None or (chosen is not None and tool.name not in chosen):
        text = wording.tool_not_found(call.tool_name, spec.tools if chosen is None else chosen)
        return Slot(ref, call, Faulted(ToolFault("unknown_tool", text)))
    if tool.hidden:
        call = without_hidden(call, tool)
    fits = check_arguments(call, tool)
    ready = AwaitingPolicy() if tool.name in spec.guards else READY
    return Slot(ref, call, ready if fits.value_or(default_value=False) else Faulted(fits.failure()))


def _held_against(wanted: OutputType[Any], call: ToolCall) -> AnswerAccepted | AnswerInvalid:
    """Whether a call of the tool to answer by gives an answer of the wanted type."""
    if call.unreadable is not None:
        return AnswerInvalid(wording.answer_unreadable(call.unreadable))
    try:
        wanted.read(call.arguments)
    except ConversionError as error:
        return AnswerInvalid(wording.answer_unusable(str(error)))
    return AnswerAccepted()


def with_call_ids(reply: ChatReply, turn: int) -> tuple[ChatReply, Sequence[ToolCall]]:
    """The reply and its calls, each with an id: without one, or with a used one, it gets one."""
    calls = reply.message.tool_calls
    if len(calls) == 1 and calls[0].id:  # the usual case, and the quick one
        return reply, calls
    ids = [call.id for call in calls]
    if all(ids) and len(set(ids)) == len(ids):
        return reply, calls
    for place, call in enumerate(calls):
        if not call.id or call.id in ids[:place]:
            names = (f"call_{turn}_{number}" for number in count(place))
            ids[place] = next(name for name in names if name not in ids)
    named = [evolve(call, id=name) for call, name in zip(calls, ids, strict=True)]
    return evolve(reply, message=with_calls(reply.message, named)), named
