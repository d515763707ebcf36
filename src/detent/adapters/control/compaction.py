"""Compaction: hooks that send a model less than the whole conversation; the run keeps all of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from attrs import evolve

from detent.core.chat.messages import ChatMessage, ChatRole, ToolCallResult
from detent.core.control.hooks import Before, before_model
from detent.core.run.effects import AskModel
from detent.core.run.run import Run
from detent.core.tools import wording


def keep_last_messages(count: int) -> Before:
    """A hook: the model is sent the system messages at the beginning and the last `count` messages.

    The newest message of the user is always among them, and a tool's result never comes without the
    call: where the cut would part them, a few more messages are sent.
    """
    _require_positive(count)

    def keep(ask: AskModel, run: Run[Any]) -> AskModel | None:
        messages = list(ask.messages)
        opening = list(takewhile(lambda message: message.role is ChatRole.SYSTEM, messages))
        start = _whole(messages, max(len(messages) - count, len(opening)))
        if start <= len(opening):
            return None
        older = reversed(messages[len(opening) : start])
        task = [message for message in older if message.role is ChatRole.USER][:1]
        if any(message.role is ChatRole.USER for message in messages[start:]):
            task = []
        return evolve(ask, messages=[*opening, *task, *messages[start:]])

    return before_model(keep)


def shorten_tool_results(*, keep_last: int = 4, longest: int = 1000) -> Before:
    """A hook: old and long results of tools are sent as a line that says what is left out.

    Results in the last `keep_last` messages are sent whole, and so are those of at most `longest`
    characters.
    """
    _require_positive(keep_last)

    def shorten(ask: AskModel, run: Run[Any]) -> AskModel:
        messages = list(ask.messages)
        start = _whole(messages, max(len(messages) - keep_last, 0))
        short = [_shortened(message, longest) for message in messages[:start]]
        return evolve(ask, messages=[*short, *messages[start:]])

    return before_model(shorten)


def _whole(messages: Sequence[ChatMessage], start: int) -> int:
    """The last place up to `start` where the conversation can be cut without parting a turn."""
    while 0 < start < len(messages) and messages[start].role is ChatRole.TOOL:
        start -= 1
    return start


def _shortened(message: ChatMessage, longest: int) -> ChatMessage:
    if message.role is not ChatRole.TOOL:
        return message
    parts = [
        _left_out(part) if isinstance(part, ToolCallResult) and _size(part) > longest else part
        for part in message.content
    ]
    return evolve(message, content=parts)


def _size(result: ToolCallResult) -> int:
    """In characters; what is no text counts as long as its repr."""
    return len(result.result) if isinstance(result.result, str) else len(repr(result.result))


def _left_out(result: ToolCallResult) -> ToolCallResult:
    name = result.origin.tool_name
    return evolve(result, result=wording.result_left_out(name, _size(result)))


def _require_positive(count: int) -> None:
    if count < 1:
        raise ValueError(f"at least one message must be kept, got {count}")
