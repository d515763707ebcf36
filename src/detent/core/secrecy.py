"""Secrecy: parameters whose values no human is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_args, get_origin


class Masked:
    """Marks a parameter whose value is shown to nobody who is asked about a call.

    ``def sign(key: Annotated[str, Masked], text: str)``. In a schema of one's own,
    ``"writeOnly": True`` says the same of a property.
    """


def masked_in(declared: Mapping[str, Any], parameters: Mapping[str, Any]) -> frozenset[str]:
    """The parameters that are marked, by their types or in their JSON Schema."""
    by_type = {name for name, kind in declared.items() if _is_marked(kind)}
    properties: Mapping[str, Any] = parameters.get("properties", {})
    by_schema = {
        name
        for name, schema in properties.items()
        if isinstance(schema, Mapping) and schema.get("writeOnly") is True
    }
    return frozenset(by_type | by_schema)


def _is_marked(kind: Any) -> bool:
    if get_origin(kind) is not Annotated:
        return False
    return any(note is Masked or isinstance(note, Masked) for note in get_args(kind)[1:])
