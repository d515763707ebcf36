"""What stands in the lines of a journal in a directory: entries, and what lists say of a run."""

from __future__ import annotations

from typing import Any

from attrs import asdict, fields_dict

from detent.ports.journal import Entry
from detent.ports.listing import NO_LISTING, Listing


def record_of(entry: Entry) -> dict[str, Any]:
    """An entry as a line has it."""
    return {
        "position": entry.position,
        "at": entry.at,
        "kind": entry.kind,
        "status": entry.status,
        "data": entry.data,
    }


def listing_record(listing: Listing) -> dict[str, Any]:
    """What a line says of the run for lists: each does, so that they need only read the last."""
    members = asdict(listing, filter=lambda field, value: value != field.default)
    return {"listing": members} if members else {}


def listing_in(found: object) -> Listing:
    """What a line says of the run for lists.

    Raises:
        ValueError: it is no listing.
    """
    if found is None:
        return NO_LISTING
    if not isinstance(found, dict) or not found.keys() <= fields_dict(Listing).keys():
        raise ValueError("what it says for lists is no listing")
    lists = {name: tuple(found[name]) for name in ("pending", "labels") if name in found}
    members: dict[str, Any] = {**found, **lists}
    return Listing(**members)


def entry_in(found: object) -> Entry:
    """An entry that stands in a line.

    Raises:
        ValueError: it is none.
    """
    match found:
        case {
            "position": int(position),
            "at": int() | float() as at,
            "kind": str(kind),
            "status": str(status),
            "data": dict(data),
        }:
            return Entry(position, at, kind, status, data)
        case _:
            raise ValueError("something in it is no entry")
