"""The stored form of a state: each key by its declared type, the conversation in its own way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from detent.core.chat.json import conversation_text
from detent.core.chat.messages import ChatMessage
from detent.core.codec.json_text import quoted
from detent.core.codec.shapes import RefusedError
from detent.core.codec.values import to_text
from detent.core.errors import UnstorableError
from detent.core.values.shared_list import SharedList, bare, is_shared_list

VERSION = 2
"""Of the stored form."""


def value_text(
    value: object, declared: object = Any, types: Iterable[object] = (), *, place: str = "value"
) -> str:
    """What a key holds, or a write to it, as JSON text. Raises as `to_text`."""
    if declared == list[ChatMessage] and _are_messages(value):
        try:
            return conversation_text(value)
        except RefusedError as error:
            raise UnstorableError(f"{place} cannot be stored: {error}") from None
    return to_text(value, declared, types, place=place)


def _are_messages(value: object) -> TypeGuard[list[ChatMessage]]:
    return isinstance(value, list) and {ChatMessage}.issuperset(map(type, value))


def state_text(state: Any) -> str:
    """Everything that has been written to a state, as JSON text. The schema is not part of it.

    Raises:
        UnstorableError: a value cannot be stored; names the key and the place in it.
    """
    return in_state(state_parts(state, {}))


def state_parts(state: Any, known: Mapping[str, SharedList[Any]]) -> dict[str, str]:
    """What has been written to each key, as JSON text.

    `known` are lists of an earlier state; what a list shares with one of them is left out. Raises
    as above.
    """
    keys = state.fields
    types = [key.type for key in keys.values()]
    told: dict[str, str] = {}
    for name, value in state._values.items():  # noqa: SLF001  # as in `lists_in`
        new = value.beyond(known[name]) if is_shared_list(value) and name in known else bare(value)
        told[name] = value_text(new, keys[name].type, types, place=f"state key {name!r}")
    return told


def in_state(parts: Mapping[str, str]) -> str:
    """The text of a state with these parts."""
    told = ",".join(f"{quoted(name)}:{text}" for name, text in parts.items())
    return f'{{"version":{VERSION},"data":{{{told}}}}}'
