"""The stored form of a state: each key by its declared type, the conversation in its own way.

An answer to a call is kept without the call, which it follows. The results of a turn's calls stand
behind them in their order, so ``{"result": "3"}`` says all of a message that answers the next call.
Any other message is written in full.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
from detent.core.codec.forms import (
    SPECIAL,
    Form,
    MismatchError,
    map_each,
    require_array,
    require_object,
)
from detent.core.codec.json_text import is_plain
from detent.core.codec.own_forms import form_of, why_unstorable
from detent.core.codec.own_values import dump, load, message_of
from detent.core.codec.values import from_json, is_written_as_it_is, to_json
from detent.core.codec.whole_forms import with_whole_form
from detent.core.errors import StoredDataError, UnstorableError
from detent.core.values.fast_values import fast_init
from detent.core.values.frozen import FrozenDict
from detent.core.values.shared_list import SharedList, bare
from detent.core.values.short_repr import short_repr

VERSION = 1
"""Of the stored form."""


def value_to_json(
    value: Any, hint: object = Any, types: Iterable[object] = (), *, place: str = "value"
) -> Any:
    """What a key holds, or a write to it, as JSON. Raises as `to_json`."""
    if _is_conversation(value, hint):
        try:
            return conversation_data(value)
        except UnstorableError as error:
            raise UnstorableError(f"{place} cannot be stored: {error}") from None
    return to_json(value, hint, types, place=place)


def _is_conversation(value: Any, hint: object) -> bool:
    is_list = hint == list[ChatMessage] and isinstance(value, list)
    return is_list and {ChatMessage}.issuperset(map(type, value))


def visible_data(value: Any, hint: object, types: Iterable[object] = ()) -> Any:
    """What a key holds, as those see it who judge it: see `visible_form`.

    Raises:
        UnstorableError: something in it has no form. It quotes no value.
    """
    if _is_conversation(value, hint):
        try:
            return conversation_data(value)
        except UnstorableError:
            raise UnstorableError("one of the messages has no form in JSON") from None
    try:
        if is_written_as_it_is(value, hint):
            return value
    except RecursionError:
        raise UnstorableError("it is nested too deep") from None
    from detent.core.codec.visible_forms import visible_form  # cattrs, where not all is plain

    return visible_form(value, hint, types)


def shown_data(value: Any, hint: object, types: Iterable[object] = ()) -> Any:
    """What a key holds, as `visible_data`, in JSON; what has no form is the name of its type."""
    try:
        data = visible_data(value, hint, types)
        if data is value and is_plain(value):
            return data
        from detent.core.codec.visible_forms import as_json

        return as_json(data)
    except (UnstorableError, RecursionError):
        return f"<{type(value).__qualname__}>"


def data_for_digest(value: Any, hint: object, types: Iterable[object] = ()) -> Any:
    """The stored form, with all that it leaves out: two are equal only if the values are.

    RULE: it is hashed, never stored, and shown to nobody.
    """
    try:
        data = value_to_json(value, hint, types)
    except UnstorableError:
        data = f"<{type(value).__qualname__}>"
    is_whole = data is value or (type(data) is list and _is_conversation(value, hint))
    return data if is_whole else with_whole_form(data, value)


def state_to_json(
    state: Any, earlier: Mapping[str, SharedList[Any]] = FrozenDict()
) -> dict[str, Any]:
    """What has been written to each key of a state, as JSON. The schema is not part of it.

    `earlier` are lists of an earlier state; what a list shares with one of them is left out.

    Raises:
        UnstorableError: a value cannot be stored; names the key and the place in it.
    """
    keys = state.fields
    types = [key.type for key in keys.values()]
    data: dict[str, Any] = {}
    for name, value in state._values.items():  # noqa: SLF001  # as it holds them, uncopied
        grows = name in earlier and type(value) is SharedList
        new = value.beyond(earlier[name]) if grows else bare(value)
        data[name] = value_to_json(new, keys[name].type, types, place=f"state key {name!r}")
    return {"version": VERSION, "data": data}


def values_from_json(data: object, types: Mapping[str, Any]) -> dict[str, object]:
    """What each key holds, as `state_to_json` stored it, by the declared types of all keys.

    Raises:
        StoredDataError: `data` is no such dict, of another version, or does not fit.
    """
    values: dict[str, object] = {}
    for name, value in _values_in(data).items():
        place = f"state key {name!r}"
        if types.get(name) == list[ChatMessage]:
            values[name] = messages_from_json(value, place=place)
        else:
            kind = types.get(name, Any)  # the state refuses a key that it has not got
            values[name] = from_json(value, kind, types.values(), place=place)
    return values


def _values_in(whole: object) -> Mapping[str, Any]:
    match whole:
        case {"version": version, "data": dict(data)} if version == VERSION:
            return data
        case {"data": dict(), **rest}:
            version = rest.get("version")
            raise StoredDataError(
                f"a stored state of version {version!r:.40}; this Detent reads version {VERSION}"
            )
        case _:
            raise StoredDataError(
                f"a stored state is a dict with 'version' and 'data', got {short_repr(whole)}"
            )


@fast_init
@frozen
class Answer:
    """What a message says that answers the next call, and says nothing else."""

    result: str | tuple[ResultPart, ...]
    error: bool = False
    display: str | tuple[ResultPart, ...] | None = None


def conversation_data(messages: Iterable[ChatMessage]) -> list[Any]:
    """Messages as JSON.

    Raises:
        UnstorableError: one of them cannot be stored.
    """
    calls: Iterator[ToolCall] = iter(())
    items: list[Any] = []
    write_message, write_answer = form_of(ChatMessage).pack, form_of(Answer).pack
    for message in messages:
        answer = None
        if message.role is ChatRole.TOOL:
            answer = _answer(message, next(calls, None))
        else:
            calls = iter(message.tool_calls)
        try:  # what answers has the fields of an `Answer`, and its call
            items.append(write_message(message) if answer is None else write_answer(answer))
        except Exception as error:  # noqa: BLE001  # as in `data_of`, which takes longer
            kind, value = (ChatMessage, message) if answer is None else (Answer, answer)
            reason = why_unstorable(value, kind, error)
            raise UnstorableError(f"message {len(items)}: {reason}") from None
    return items


def _answer(message: ChatMessage, call: ToolCall | None) -> ToolCallResult | None:
    """What the message says, if it answers this call and says nothing else."""
    part = message.content[0] if len(message.content) == 1 else None
    if call is None or type(part) is not ToolCallResult or message.name is not None or message.meta:
        return None
    return part if part.origin is call or part.origin == call else None


def messages_from_json(data: object, *, place: str = "value") -> SharedList[ChatMessage]:
    """The messages that `conversation_data` wrote.

    Raises:
        StoredDataError: the data says none; says where and why.
    """
    try:
        return SharedList.of_frozen(_messages(data))
    except Exception as error:
        raise StoredDataError(message_of(error, place)) from error


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
        return tool_message(ToolCallResult(answer.result, call, answer.error, answer.display))

    return map_each(read, require_array(data))


for _kind in (ChatMessage, *get_args(Content)):
    SPECIAL[_kind] = Form(dump, partial(load, kind=_kind))
