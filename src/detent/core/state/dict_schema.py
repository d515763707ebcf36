"""Schemas as dicts: for each key ``{"type": …, "handler": …, "default": …}``, a type at least."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from detent.core.chat.messages import ChatMessage
from detent.core.errors import SchemaError, StateError
from detent.core.schema.type_checks import Check, is_list, is_type, takes
from detent.core.state.handlers import merge_lists, replace_values
from detent.core.state.keys import UNSET, Key
from detent.core.values.frozen import FrozenDict
from detent.core.values.shared_list import read

ENTRY = ("type", "handler", "default")


def declared_key(
    name: str,
    hint: object,
    handler: object = None,
    default: object = UNSET,
    check: Check = "all",
) -> Key[Any, Any]:
    """The key with these parts. Without a handler lists are merged and all else is replaced.

    Raises:
        SchemaError: the type is none, the handler cannot be called, the default has another type.
    """
    if not is_type(hint):
        raise SchemaError(f"the type of state key {name!r} must be a type, got {hint!r}")
    if name == "messages":
        default = [] if default is UNSET else default
        if not _holds_messages(hint):
            raise SchemaError("state key 'messages' must be a list[ChatMessage], or be left out")
    if handler is None:
        handler = merge_lists if is_list(hint) else replace_values
    if not callable(handler):
        raise SchemaError(f"the handler of state key {name!r} must be callable, got {handler!r}")
    if not takes(handler, 2):
        raise SchemaError(
            f"the handler of state key {name!r} is called with the current value and the update, "
            f"which {handler!r} does not take"
        )
    if check not in ("all", "first"):
        raise SchemaError(f"check must be 'all' or 'first', got {check!r}")
    key: Key[Any, Any] = Key(name, hint, handler, check=check)
    if default is UNSET:
        return key
    try:
        return key.with_default(default)
    except StateError as error:
        raise SchemaError(f"the default of a key does not fit: {error}") from error


def keys_of(schema: Mapping[str, object], check: Check = "all") -> FrozenDict[str, Key[Any, Any]]:
    """The keys that a dict schema declares.

    Raises:
        SchemaError: an entry is not one.
    """
    return FrozenDict({name: _key_of(name, entry, check) for name, entry in schema.items()})


def entries_of(keys: Mapping[str, Key[Any, Any]]) -> FrozenDict[str, FrozenDict[str, Any]]:
    """The dict schema that declares `keys`, with every handler filled in."""
    return FrozenDict({name: FrozenDict(_entry_of(key)) for name, key in keys.items()})


def _key_of(name: object, entry: object, check: Check) -> Key[Any, Any]:
    if not isinstance(name, str):
        raise SchemaError(f"a state key is a string, got {name!r}")
    if not isinstance(entry, Mapping) or "type" not in entry:
        got = f"{{'type': {entry.__name__}}}" if isinstance(entry, type) else "{'type': str}"
        raise SchemaError(f"state key {name!r} needs a 'type' entry, e.g. {got}, got {entry!r:.80}")
    parts = cast("Mapping[str, Any]", entry)
    if extras := parts.keys() - set(ENTRY):
        names = ", ".join(sorted(map(repr, extras)))
        raise SchemaError(f"state key {name!r} has the unknown entry {names}; there is: {ENTRY}")
    return declared_key(
        name, parts["type"], parts.get("handler"), parts.get("default", UNSET), check
    )


def _entry_of(key: Key[Any, Any]) -> dict[str, Any]:
    entry = {"type": key.type, "handler": key.handler}
    return entry if key.default is UNSET else {**entry, "default": read(key.default)}


def _holds_messages(hint: Any) -> bool:
    arguments = getattr(hint, "__args__", (None,))
    item = arguments[0]
    return is_list(hint) and isinstance(item, type) and issubclass(item, ChatMessage)
