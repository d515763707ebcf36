"""Conversations as JSON and back: an answer to a call is kept without the call, which it follows.

The results of a turn's calls stand behind them in their order, so ``{"result": "3"}`` says all of a
message that answers the next call. Any other message is written in full.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from detent.core.messages import (
    EMPTY,
    ChatMessage,
    ChatRole,
    ResultPart,
    ToolCall,
    ToolCallResult,
)
from detent.core.records import shape_of
from detent.core.shapes import RefusedError, an_array, an_object
from detent.core.values import frozen


@frozen
class Answer:
    """What a message says that answers the next call, and says nothing else."""

    result: str | tuple[ResultPart, ...]
    error: bool = False


def conversation_text(messages: Iterable[ChatMessage]) -> str:
    """Messages as JSON text.

    Raises:
        RefusedError: one of them cannot be stored.
    """
    whole, short = shape_of(ChatMessage), shape_of(Answer)
    calls: Iterator[ToolCall] = iter(())
    told: list[str] = []
    for place, message in enumerate(messages):
        try:
            if message.role is ChatRole.TOOL:
                answer = _answer(message, next(calls, None))
            else:
                calls, answer = iter(message.tool_calls), None
            told.append(whole.write(message, None) if answer is None else short.write(answer, None))
        except RefusedError as error:
            error.path.append(place)
            raise
    return f"[{','.join(told)}]"


def _answer(message: ChatMessage, call: ToolCall | None) -> Answer | None:
    """What is new in the message, if it answers this call and says nothing else."""
    part = message.content[0] if len(message.content) == 1 else None
    if call is None or type(part) is not ToolCallResult or message.name is not None or message.meta:
        return None
    return Answer(part.result, part.error) if part.origin == call else None


def conversation_from_json(data: Any) -> list[ChatMessage]:
    """The messages that `conversation_text` wrote, or an earlier Detent in full.

    Raises:
        RefusedError: the data says none; says where and why.
    """
    whole, short = shape_of(ChatMessage), shape_of(Answer)
    calls: Iterator[ToolCall] = iter(())
    read: list[ChatMessage] = []
    for place, one in enumerate(an_array(data)):
        try:
            if "role" in an_object(one):
                message = whole.read(one, None)
                if message.role is ChatRole.TOOL:
                    next(calls, None)
                else:
                    calls = iter(message.tool_calls)
            else:
                text = one.get("result") if len(one) == 1 else None  # most of them
                answer = Answer(text) if type(text) is str else short.read(one, None)
                message = _answering(answer, next(calls, None))
        except RefusedError as error:
            error.path.append(place)
            raise
        read.append(message)
    return read


def _answering(answer: Answer, call: ToolCall | None) -> ChatMessage:
    """Past the constructors, whose converters have nothing to do here: they take three times it."""
    if call is None:
        raise RefusedError("it answers a call, and there is none before it")
    result, message = _new(ToolCallResult), _new(ChatMessage)
    _put_result(result, answer.result)
    _put_origin(result, call)
    _put_error(result, answer.error)
    _put_role(message, ChatRole.TOOL)
    _put_content(message, (result,))
    _put_name(message, None)
    _put_meta(message, EMPTY)
    return message


_new = object.__new__
_put_result, _put_origin, _put_error = (
    vars(ToolCallResult)[name].__set__ for name in ("result", "origin", "error")
)
_put_role, _put_content, _put_name, _put_meta = (
    vars(ChatMessage)[name].__set__ for name in ("role", "content", "name", "meta")
)
