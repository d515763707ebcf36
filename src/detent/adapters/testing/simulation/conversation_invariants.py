"""What must hold of the conversation of a simulated run: see `invariants`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from detent.adapters.testing.simulation.nested_runs import everywhere
from detent.adapters.testing.simulation.trace import Trace, changes
from detent.core.chat.messages import ChatMessage
from detent.core.run.events import Event, MessageReceived, Resumed
from detent.core.run.run import Pausing, Run, Thinking
from detent.core.run.spec import AgentSpec


@everywhere
def a_conversation_is_valid(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """Each call in it has one answer, in order, under an id of its own, and what was said stays."""
    for before, event, after in changes(trace):
        told = list(after.messages)
        if told[: len(before.messages)] != list(before.messages):
            yield f"what was said before turn {before.turn} is not what was said"
        new = told[len(before.messages) : len(told) - _newly_read(before, event, after)]
        if not new:
            continue
        asked, *answers = new
        ids = [call.id for call in asked.tool_calls]
        if None in ids or len(set(ids)) < len(ids):
            yield f"the calls of turn {before.turn} have the ids {ids}"
        origins = [result.origin for one in answers for result in one.tool_call_results]
        if origins != list(asked.tool_calls):
            yield f"the calls of turn {before.turn} are {ids}, and answered are {origins}"


@everywhere
def what_is_said_is_read_once(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """What users say further stands last in the conversation, in order, when the model is asked."""
    for before, event, after in changes(trace):
        said = _said(before, event)
        count = _newly_read(before, event, after)
        read = after.messages[max(0, len(after.messages) - count) :] if count else ()
        has_moved = (after.turn, after.phase) != (before.turn, before.phase)
        is_asked_anew = has_moved or isinstance(event, Resumed)
        if [*read, *after.unread] != said:
            yield f"{len(said)} messages were said, {count} are read, {len(after.unread)} are not"
        elif count and not (is_asked_anew or isinstance(after.phase, Pausing)):
            yield f"{count} messages are read in turn {after.turn}, which was asked without them"
        if after.unread and is_asked_anew and isinstance(after.phase, Thinking):
            yield f"the model is asked in turn {after.turn}, and {len(after.unread)} are not read"


def _said(before: Run[Any], event: Event) -> list[ChatMessage]:
    """What was not read yet, and what is said now."""
    more = [event.message] if isinstance(event, MessageReceived) else []
    return [*before.unread, *more]


def _newly_read(before: Run[Any], event: Event, after: Run[Any]) -> int:
    """How many of them have entered the conversation."""
    return max(0, len(_said(before, event)) - len(after.unread))
