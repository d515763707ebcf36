"""A dict schema as data: types of Python's own and our handlers, by the names in two tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from detent.core.chat.messages import ChatMessage
from detent.core.codec.values import from_json, to_json
from detent.core.errors import StoredDataError
from detent.core.schema.type_checks import type_name
from detent.core.state import handlers as own
from detent.core.state.keys import UNSET, Key
from detent.core.values.shared_list import read

KINDS: Sequence[Any] = (
    *(str, int, float, bool, bytes, date, datetime, time, timedelta, Decimal, UUID, dict, list),
    *(set, tuple, object, Any, ChatMessage, dict[str, Any], dict[str, str], dict[str, int]),
)
_FORMS = [form for kind in KINDS for form in (kind, list.__class_getitem__(kind))]
_PAIRS = [a | b for a in KINDS[:11] for b in KINDS[:11] if a is not b]
TYPES = {type_name(kind): kind for kind in (*_FORMS, *(form | None for form in _FORMS), *_PAIRS)}
_MERGES = (own.replace_values, own.merge_lists, own.append_unique, own.merge_dicts, own.unite_sets)
HANDLERS = {rule.__name__: rule for rule in (*_MERGES, own.add_numbers, own.keep_max, own.keep_min)}


def schema_to_json(keys: Mapping[str, Key[Any, Any]]) -> dict[str, Any]:
    """The schema that declares `keys`; what is in no table is None."""
    schema: dict[str, Any] = {}
    for name, key in keys.items():
        own = getattr(key.handler, "__name__", "")
        kind = key.type_name if TYPES.get(key.type_name) == key.type else None
        schema[name] = {"type": kind, "handler": own if HANDLERS.get(own) is key.handler else None}
        if key.default is not UNSET:
            schema[name]["default"] = to_json(read(key.default), key.type, place=f"of {name!r}")
    return schema


def schema_from_json(data: Any) -> dict[str, dict[str, Any]]:
    """What `schema_to_json` gave, from under "schema".

    Raises:
        StoredDataError: it is not there, or not whole.
    """
    try:
        return {name: _declare(**entry) for name, entry in data["schema"].items()}
    except (LookupError, TypeError, AttributeError):
        raise StoredDataError(
            "this stored state does not name all types and handlers of its schema, as it cannot "
            "where they are your own: pass the schema, State.from_dict(data, schema)"
        ) from None


def _declare(type: str, handler: str, **default: Any) -> dict[str, Any]:  # noqa: A002 - the entry's
    kind = TYPES[type]
    values = {name: from_json(value, kind) for name, value in default.items()}
    return {"type": kind, "handler": HANDLERS[handler], **values}
