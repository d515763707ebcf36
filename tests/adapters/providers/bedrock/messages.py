"""Messages of an event stream, as Bedrock sends them."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from zlib import crc32


def message(headers: Mapping[str, str], said: object, *, payload: bytes = b"") -> bytes:
    """One message; what is `said` is its payload as JSON."""
    head = b"".join(header(name, text) for name, text in headers.items())
    body = head + (payload if said is None else json.dumps(said).encode())
    prelude = struct.pack(">II", 16 + len(body), len(head))
    prelude += struct.pack(">I", crc32(prelude))
    return prelude + body + struct.pack(">I", crc32(prelude + body))


def header(name: str, text: str) -> bytes:
    """One header whose value is text."""
    start = struct.pack(">B", len(name)) + name.encode()
    return start + struct.pack(">BH", 7, len(text)) + text.encode()


def stream(*events: Mapping[str, object]) -> bytes:
    """A stream of events, each under its name."""
    return b"".join(
        message({":message-type": "event", ":event-type": name}, said)
        for event in events
        for name, said in event.items()
    )
