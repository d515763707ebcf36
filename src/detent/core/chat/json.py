"""Conversations as JSON and back: an answer to a call is kept without the call, which it follows.

The results of a turn's calls stand behind them in their order, so ``{"result": "3"}`` says all of a
message that answers the next call. Any other message is written in full.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, get_args

from attrs import frozen

from detent.core.chat.messages import (
    ChatMessage,
    ChatRole,
    Content,
    ResultPart,
    ToolCall,
    ToolCallResult,
    tool_message,
)
from detent.core.codec.forms import SPECIAL, Form, each
from detent.core.codec.own_forms import MismatchError, form_of, require_array, require_object
from detent.core.codec.own_values import dump, load, told_of, why_unstorable
from detent.core.errors import StoredDataError, UnstorableError
from detent.core.values.fast_values import fast_init
from detent.core.values.shared_list import SharedList


@fast_init
@frozen
class Answer:
    """What a message says that answers the next call, and says nothing else."""

    result: str | tuple[ResultPart, ...]
    error: bool = False


def conversation_data(messages: Iterable[ChatMessage]) -> list[Any]:
    """Messages as JSON.

    Raises:
        UnstorableError: one of them cannot be stored.
    """
    calls: Iterator[ToolCall] = iter(())
    written: list[Any] = []
    for message in messages:
        answer = None
        if message.role is ChatRole.TOOL:
            answer = _answer(message, next(calls, None))
        else:
            calls = iter(message.tool_calls)
        kind, kept = (ChatMessage, message) if answer is None else (Answer, answer)
        try:
            written.append(form_of(kind).pack(kept))
        except Exception as error:  # noqa: BLE001  # as in `data_of`, which takes longer
            why = why_unstorable(kept, kind, error)
            raise UnstorableError(f"message {len(written)}: {why}") from None
    return written


def _answer(message: ChatMessage, call: ToolCall | None) -> Answer | None:
    """What is new in the message, if it answers this call and says nothing else."""
    part = message.content[0] if len(message.content) == 1 else None
    if call is None or type(part) is not ToolCallResult or message.name is not None or message.meta:
        return None
    if part.origin is not call and part.origin != call:
        return None
    return Answer(part.result, part.error)


def messages_from_json(data: object, *, place: str = "value") -> SharedList[ChatMessage]:
    """The messages that `conversation_data` wrote.

    Raises:
        StoredDataError: the data says none; says where and why.
    """
    try:
        return SharedList.of_frozen(_messages(data))
    except Exception as error:
        raise StoredDataError(told_of(error, place)) from error


def _messages(data: Any) -> list[ChatMessage]:
    calls: Iterator[ToolCall] = iter(())
    read_message, read_answer = form_of(ChatMessage).unpack, form_of(Answer).unpack

    def read(item: Any) -> ChatMessage:
        nonlocal calls
        if "role" in require_object(item):
            message: ChatMessage = read_message(item)
            if message.role is ChatRole.TOOL:
                next(calls, None)
            else:
                calls = iter(message.tool_calls)
            return message
        text = item.get("result")  # nearly always a text, and all there is
        answer = Answer(text) if type(text) is str and len(item) == 1 else read_answer(item)
        call = next(calls, None)
        if call is None:
            raise MismatchError("it answers a call, and there is none before it")
        return tool_message(ToolCallResult(answer.result, call, answer.error))

    return each(read, require_array(data))


for _kind in (ChatMessage, *get_args(Content)):
    SPECIAL[_kind] = Form(dump, partial(load, kind=_kind))
