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
_MADE = [made for kind in KINDS for made in (kind, list.__class_getitem__(kind))]
_PAIRS = [one | other for one in KINDS[:11] for other in KINDS[:11] if one is not other]
TYPES = {type_name(kind): kind for kind in (*_MADE, *(made | None for made in _MADE), *_PAIRS)}
_MERGES = (own.replace_values, own.merge_lists, own.append_unique, own.merge_dicts, own.unite_sets)
HANDLERS = {one.__name__: one for one in (*_MERGES, own.add_numbers, own.keep_max, own.keep_min)}


def schema_to_json(keys: Mapping[str, Key[Any, Any]]) -> dict[str, Any]:
    """The schema that declares `keys`; what is in no table is None."""
    schema: dict[str, Any] = {}
    for name, key in keys.items():
        by = getattr(key.handler, "__name__", "")
        kind = key.type_name if TYPES.get(key.type_name) == key.type else None
        schema[name] = {"type": kind, "handler": by if HANDLERS.get(by) is key.handler else None}
        if key.default is not UNSET:
            schema[name]["default"] = to_json(read(key.default), key.type, place=f"of {name!r}")
    return schema


def schema_from_json(stored: Any) -> dict[str, dict[str, Any]]:
    """What `schema_to_json` gave, from under "schema".

    Raises:
        StoredDataError: it is not there, or not whole.
    """
    try:
        return {name: _declared(**entry) for name, entry in stored["schema"].items()}
    except (LookupError, TypeError, AttributeError):
        raise StoredDataError(
            "this stored state does not name all types and handlers of its schema, as it cannot "
            "where they are your own: pass the schema, State.from_dict(data, schema)"
        ) from None


def _declared(type: str, handler: str, **default: Any) -> dict[str, Any]:  # noqa: A002 - the entry's
    kind = TYPES[type]
    values = {name: from_json(value, kind) for name, value in default.items()}
    return {"type": kind, "handler": HANDLERS[handler], **values}
