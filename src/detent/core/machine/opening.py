"""Opening a turn: the model's calls are checked before anything runs or anybody is asked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from attrs import evolve

from detent.core.chat.messages import ToolCall, with_calls
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
from detent.core.state.typevars import S
from detent.core.tools import wording
from detent.core.tools.invocation import check_arguments, without_hidden
from detent.core.tools.result import ToolFault


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
