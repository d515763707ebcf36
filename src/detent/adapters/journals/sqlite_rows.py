"""The rows of an SQLite journal: short where most are alike, and each with a CRC-32 of the rest."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from detent.ports.journal import Checkpoint, Entry, JournalDamagedError

CODES: Mapping[str, bytes] = {
    "ModelReplied": b"M",
    "ToolStarted": b"S",
    "ToolReturned": b"R",
    "Judged": b"J",
    "HappenedInside": b"I",
    "running": b"r",
}
"""The kinds and the status that stand in most rows. A blob is no text: nothing else looks so."""
NAMES: Mapping[object, str] = {code: name for name, code in CODES.items()}
NUMBERS = struct.Struct("<qd")
"""The position and the time of an entry, for its checksum."""
PACKED_MAX = 2**26
"""Longer texts are kept as they are: what a file can make of little is bounded."""


def entry_row(run_id: str, entry: Entry, text: str) -> tuple[object, ...]:
    """An entry as it is kept."""
    at, kind, status = float(entry.at), entry.kind, entry.status
    checksum = entry_checksum(run_id, entry.position, at, kind, status, text)
    code, short = CODES.get(kind, kind), CODES.get(status, status)
    return run_id, entry.position, at, code, short, text, checksum


def checkpoint_row(run_id: str, checkpoint: Checkpoint) -> tuple[object, ...]:
    """A checkpoint as it is kept."""
    place, text = checkpoint.position, checkpoint.text
    return run_id, place, pack(text), checkpoint_checksum(run_id, place, text)


def full_row(row: Any) -> tuple[Any, ...]:
    """A row of an entry with its kind and status in full."""
    position, at, kind, status, data, checksum = row
    return position, at, NAMES.get(kind, kind), NAMES.get(status, status), data, checksum


def entry_checksum(run_id: str, *entry: Any) -> int:
    """Of an entry."""
    position, at, kind, status, text = entry
    numbers = zlib.crc32(NUMBERS.pack(position, at))
    return zlib.crc32(f"{run_id}\n{kind}\n{status}\n{text}".encode(), numbers)


def checkpoint_checksum(run_id: str, position: int, text: object) -> int:
    """Of a checkpoint."""
    return zlib.crc32(f"{json.dumps([run_id, position])}{text}".encode())


def is_whole(run_id: str, row: Any, checksum_of: Callable[..., int]) -> bool:
    """Whether its checksum is right."""
    *columns, checksum = row
    try:
        return bool(checksum == checksum_of(run_id, *columns))
    except (TypeError, ValueError, struct.error):  # what is in a column is not of its type
        return False


def pack(text: str) -> str | bytes:
    """A checkpoint says again what entries say: of English it then takes 40 % of the room."""
    return zlib.compress(text.encode(), 1) if len(text) <= PACKED_MAX else text


def unpack(data: object) -> object:
    """The text, or what is none. One that was too long to be packed is there as it is."""
    if not isinstance(data, bytes):
        return data
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(data, PACKED_MAX)
        return text.decode() if unpacking.eof else None
    except (zlib.error, ValueError):
        return None


def text_of(run_id: str, data: object) -> str:
    """The data in a row.

    Raises:
        JournalDamagedError: it is no text.
    """
    if not isinstance(data, str):
        raise JournalDamagedError(f"the journal of run {run_id!r} is damaged: an entry is no text")
    return data
