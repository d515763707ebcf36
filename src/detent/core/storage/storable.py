"""What is sure to have a text, seen at a glance: it need not be written before it is read."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, get_args

from attrs import fields

from detent.core.chat.messages import ChatMessage, Content, TextContent, ToolCall
from detent.core.chat.replies import ChatReply, FinishReason, Usage
from detent.core.run.events import Event, HappenedInside, ModelReplied, ToolReturned, ToolStarted
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.state.handlers import merge_lists
from detent.core.state.state import lists_in
from detent.core.storage.writes import are_scalars, is_plain_list, is_plain_write
from detent.core.tools.result import ToolResult
from detent.core.values.shared_list import is_shared_list

STR = frozenset({str})
TEXT = frozenset({str, type(None)})
NUMBER = frozenset({int})
COST = frozenset({float, int})
REASONS = frozenset(get_args(FinishReason))
_numbers = attrgetter(*(one.name for one in fields(Usage)))


def is_storable(spec: AgentSpec[Any], event: Event) -> bool:
    """Whether the event is sure to have a text. Where this says no, writing it will tell."""
    if isinstance(event, ToolStarted):
        return True
    if isinstance(event, ModelReplied):
        return type(event.cost) in COST and _is_plain_reply(event.reply)
    if isinstance(event, ToolReturned):
        return _is_plain_result(spec, event.result)
    if isinstance(event, HappenedInside):
        return is_storable(spec.agents[event.tool_name], event.event)
    return False


def is_plain_run(run: Run[Any]) -> bool:
    """Whether a run is between turns and holds nothing but lists, of what has a text by itself.

    Messages have one: each came with an event that had one.
    """
    keys = run.state.fields
    return not (run.slots or run.decisions or run.grants) and all(
        is_shared_list(value)
        and keys[name].handler is merge_lists
        and (name == "messages" or is_plain_list(keys[name].type))
        for name, value in run.state._values.items()  # noqa: SLF001  # as in `lists_in`
    )


def is_plain_start(run: Run[Any]) -> bool:
    """Whether that holds of a run to which nothing has happened yet: here no event has come."""
    return (
        is_plain_run(run)
        and not run.options.generation_kwargs
        and all(map(_is_plain_message, run.messages))
        and all(
            name == "messages" or are_scalars(items.held())
            for name, items in lists_in(run.state).items()
        )
    )


def _is_plain_reply(reply: ChatReply) -> bool:
    return (
        type(reply.model) is type(reply.raw_finish_reason) is str
        and not reply.extra
        and reply.finish_reason in REASONS
        and NUMBER.issuperset(map(type, numbers := _numbers(reply.usage)))
        and are_scalars(numbers)
        and _is_plain_message(reply.message)
    )


def _is_plain_message(message: ChatMessage) -> bool:
    if message.name is not None or message.meta:
        return False
    return all(map(_is_plain_part, message.content))


def _is_plain_part(part: Content) -> bool:
    if type(part) is ToolCall:
        given = part.arguments
        texts = type(part.tool_name) is str and type(part.id) in TEXT and part.unreadable is None
        names = STR.issuperset(map(type, given))
        return texts and names and not part.extra and are_scalars(given.values())
    return type(part) is TextContent and type(part.text) is str


def _is_plain_result(spec: AgentSpec[Any], result: ToolResult) -> bool:
    if type(result.content) is not str or result.warnings:
        return False
    return not result.writes or all(is_plain_write(spec, write) for write in result.writes)
