"""The stored form of a state: each key by its declared type, the conversation in its own way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from detent.core.chat.json import conversation_data, messages_from_json
from detent.core.chat.messages import ChatMessage
from detent.core.codec.values import from_json, to_json
from detent.core.errors import StoredDataError, UnstorableError
from detent.core.values.frozen import FrozenDict
from detent.core.values.shared_list import SharedList, bare
from detent.core.values.short_repr import short_repr

VERSION = 1
"""Of the stored form."""


def value_to_json(
    value: Any, declared: object = Any, types: Iterable[object] = (), *, place: str = "value"
) -> Any:
    """What a key holds, or a write to it, as JSON. Raises as `to_json`."""
    is_list = declared == list[ChatMessage] and isinstance(value, list)
    if is_list and {ChatMessage}.issuperset(map(type, value)):
        try:
            return conversation_data(value)
        except UnstorableError as error:
            raise UnstorableError(f"{place} cannot be stored: {error}") from None
    return to_json(value, declared, types, place=place)


def state_to_json(
    state: Any, known: Mapping[str, SharedList[Any]] = FrozenDict()
) -> dict[str, Any]:
    """What has been written to each key of a state, as JSON. The schema is not part of it.

    `known` are lists of an earlier state; what a list shares with one of them is left out.

    Raises:
        UnstorableError: a value cannot be stored; names the key and the place in it.
    """
    keys = state.fields
    types = [key.type for key in keys.values()]
    data: dict[str, Any] = {}
    for name, value in state._values.items():  # noqa: SLF001  # as it holds them, uncopied
        grows = name in known and type(value) is SharedList
        new = value.beyond(known[name]) if grows else bare(value)
        data[name] = value_to_json(new, keys[name].type, types, place=f"state key {name!r}")
    return {"version": VERSION, "data": data}


def values_from_json(stored: object, declared: Mapping[str, Any]) -> dict[str, object]:
    """What each key holds, as `state_to_json` stored it, by the declared types of all keys.

    Raises:
        StoredDataError: `stored` is no such dict, of another version, or does not fit.
    """
    values: dict[str, object] = {}
    for name, value in _values_in(stored).items():
        place = f"state key {name!r}"
        if declared.get(name) == list[ChatMessage]:
            values[name] = messages_from_json(value, place=place)
        else:
            kind = declared.get(name, Any)  # the state refuses a key that it has not got
            values[name] = from_json(value, kind, declared.values(), place=place)
    return values


def _values_in(stored: object) -> Mapping[str, Any]:
    match stored:
        case {"version": version, "data": dict(data)} if version == VERSION:
            return data
        case {"data": dict(), **rest}:
            found = rest.get("version")
            raise StoredDataError(
                f"a stored state of version {found!r:.40}; this Detent reads version {VERSION}"
            )
        case _:
            raise StoredDataError(
                f"a stored state is a dict with 'version' and 'data', got {short_repr(stored)}"
            )
