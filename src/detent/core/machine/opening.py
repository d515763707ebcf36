"""Opening a turn: the model's calls are checked before anything runs or anybody is asked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from attrs import evolve

from detent.core.chat.call_copies import with_id
from detent.core.chat.messages import ToolCall, ToolCallResult, with_calls
from detent.core.chat.replies import ChatReply
from detent.core.machine.outputs import check_answer
from detent.core.machine.rejections import Around
from detent.core.run.refs import CallRef, new_ref
from detent.core.run.run import (
    READY,
    AwaitingPolicy,
    Faulted,
    Ready,
    Run,
    Slot,
    move,
)
from detent.core.run.spec import AgentSpec
from detent.core.state.typevars import S
from detent.core.tools import wording
from detent.core.tools.invocation import argument_faults, fault_of, without_hidden
from detent.core.tools.result import FaultKind, ToolFault
from detent.core.tools.tool import Tool
from detent.core.values.frozen import FrozenDict


def open_slots(
    spec: AgentSpec[S], run: Run[S], calls: Sequence[ToolCall], around: Around | None = None
) -> tuple[tuple[Slot, ...], FrozenDict[str, int]]:
    """A slot for each call of the reply that has come; and how often each tool has been called."""
    turn, most = run.turn, spec.limits.max_calls_per_reply
    outermost = run if around is None else around[0]
    flood = None
    if len(calls) > most:
        flood = _over_limit("tools", wording.too_many_calls(len(calls), most))
    counts = dict(run.tool_call_counts)
    slots: list[Slot] = []
    for place, call in enumerate(calls):
        name, ref = call.tool_name, new_ref((turn, place))
        earlier = counts.get(name, 0)
        slot = Slot(ref, call, flood) if flood else _open_slot(spec, run, ref, call)
        if isinstance(slot.status, (Ready, AwaitingPolicy)):
            slot = _within_limits(spec, run, slot, outermost, earlier)
        counts[name] = earlier + 1
        slots.append(slot)
    return tuple(slots), FrozenDict(counts)


def _within_limits(
    spec: AgentSpec[S], run: Run[S], slot: Slot, outermost: Run[Any], earlier: int
) -> Slot:
    """The slot, unless no call is left: of any tool, or of this one, wherever in the outermost run.

    So often the run itself has called it `earlier`, in this reply as well.
    """
    name, most = slot.call.tool_name, spec.limits.max_tool_calls
    if most is not None and run.calls + slot.ref.place >= most:
        return move(slot, _over_limit(name, wording.no_calls_left("tools", most)))
    if (most := spec.tools[name].max_calls) is not None:
        repeats = earlier - run.tool_call_counts.get(name, 0)
        if outermost.calls_of(name) + repeats >= most:
            return move(slot, _over_limit(name, wording.no_calls_left("it", most)))
    return slot


def _over_limit(tool_name: str, reason: str) -> Faulted:
    return Faulted(ToolFault("over_limit", wording.tool_not_run(tool_name, reason)))


def fault_kind(spec: AgentSpec[Any], run: Run[Any], result: ToolCallResult) -> FaultKind:
    """Why a call was not run, by what the model was told of it at once; `run` is the one before.

    RULE: nothing is checked anew. A check takes long where the arguments are large, and makes
    values of classes that others have written.
    """
    name = result.origin.tool_name
    if (tool := _tool_of(spec, run, name)) is None:
        return "unknown_tool"
    limits = ("tools", spec.limits.max_tool_calls), ("it", tool.max_calls)
    texts = [wording.no_calls_left(what, most) for what, most in limits if most is not None]
    is_over = result.text in [wording.tool_not_run(name, text) for text in texts]
    return "over_limit" if is_over else "invalid_arguments"


def _tool_of(spec: AgentSpec[Any], run: Run[Any], name: str) -> Tool | None:
    """The tool that the model may call by this name in the run."""
    names = run.options.tools
    return spec.tools.get(name) if names is None or name in names else None


def _open_slot(spec: AgentSpec[S], run: Run[S], ref: CallRef, call: ToolCall) -> Slot:
    """The slot of a call that the model has just made: ready, unless a policy guards its tool."""
    if spec.output is not None and call.tool_name == spec.output.name:
        return Slot(ref, call, check_answer(spec.output, call))
    if (tool := _tool_of(spec, run, call.tool_name)) is None:
        names = run.options.tools
        text = wording.tool_not_found(call.tool_name, spec.tools if names is None else names)
        return Slot(ref, call, Faulted(ToolFault("unknown_tool", text)))
    if tool.hidden:
        call = without_hidden(call, tool)
    ready = AwaitingPolicy() if tool.name in spec.guards else READY
    problems = argument_faults(call, tool)
    return Slot(ref, call, Faulted(fault_of(problems, tool)) if problems else ready)


def with_call_ids(reply: ChatReply, turn: int) -> tuple[ChatReply, Sequence[ToolCall]]:
    """The reply and its calls, each with an id: without one, or with a used one, it gets one.

    RULE: no name is tried twice, however many the model has taken: it chooses how many calls and
    which ids.
    """
    calls = reply.message.tool_calls
    if len(calls) == 1 and calls[0].id:  # the usual case, and the quick one
        return reply, calls
    ids = [call.id for call in calls]
    if all(ids) and len(set(ids)) == len(ids):
        return reply, calls
    names, earlier = {*ids}, set[str]()
    free = (name for number in count(len(calls)) if (name := f"call_{turn}_{number}") not in names)
    for place, call_id in enumerate(ids):
        if not call_id or call_id in earlier:
            own = f"call_{turn}_{place}"
            ids[place] = own if own not in names else next(free)
            names.add(ids[place])
        earlier.add(ids[place] or "")
    new_calls = [with_id(call, name) for call, name in zip(calls, ids, strict=True)]
    return evolve(reply, message=with_calls(reply.message, new_calls)), new_calls
