"""Conversations as JSON and back: an answer to a call is kept without the call, which it follows.

The results of a turn's calls stand behind them in their order, so ``{"result": "3"}`` says all of a
message that answers the next call. Any other message is written in full.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from attrs import frozen

from detent.core.chat.messages import (
    ChatMessage,
    ChatRole,
    ResultPart,
    ToolCall,
    ToolCallResult,
    tool_message,
)
from detent.core.codec.json_text import quoted
from detent.core.codec.records import shape_of
from detent.core.codec.shapes import RefusedError, an_array, an_object
from detent.core.errors import StoredDataError
from detent.core.values.shared_list import SharedList


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
    whole = shape_of(ChatMessage)
    calls: Iterator[ToolCall] = iter(())
    texts: list[str] = []
    for place, message in enumerate(messages):
        try:
            if message.role is ChatRole.TOOL:
                text = _answer_text(message, next(calls, None))
            else:
                calls, text = iter(message.tool_calls), None
            texts.append(text or whole.write(message, None))
        except RefusedError as error:
            error.path.append(place)
            raise
    return f"[{','.join(texts)}]"


def _answer_text(message: ChatMessage, call: ToolCall | None) -> str | None:
    """What is new in the message, if it answers this call and says nothing else."""
    part = message.content[0] if len(message.content) == 1 else None
    if call is None or type(part) is not ToolCallResult or message.name is not None or message.meta:
        return None
    if part.origin is not call and part.origin != call:
        return None
    if type(part.result) is str and not part.error:  # most of them
        return f'{{"result":{quoted(part.result)}}}'
    return shape_of(Answer).write(Answer(part.result, part.error), None)


def conversation_from_json(data: Any) -> list[ChatMessage]:
    """The messages that `conversation_text` wrote, or an earlier Detent in full.

    Raises:
        RefusedError: the data says none; says where and why.
    """
    whole = shape_of(ChatMessage)
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
                message = _answering(one, next(calls, None))
        except RefusedError as error:
            error.path.append(place)
            raise
        read.append(message)
    return read


def _answering(data: dict[str, Any], call: ToolCall | None) -> ChatMessage:
    if call is None:
        raise RefusedError("it answers a call, and there is none before it")
    text = data.get("result") if len(data) == 1 else None
    if type(text) is str:  # most of them
        return tool_message(ToolCallResult(text, call))
    answer: Answer = shape_of(Answer).read(data, None)
    return tool_message(ToolCallResult(answer.result, call, answer.error))


def messages_from_json(data: object, *, place: str = "value") -> SharedList[ChatMessage]:
    """A conversation that `to_json` stored. It comes with each run that goes on, so it is fast.

    Raises:
        StoredDataError: the data says none; says where and why.
    """
    try:
        return SharedList.of_frozen(conversation_from_json(data))
    except RefusedError as error:
        raise StoredDataError(f"{place}: {error}") from None
