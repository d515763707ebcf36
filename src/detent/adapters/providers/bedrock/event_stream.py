"""Amazon's event stream out of bytes: binary messages with headers and checksums. Pure and bounded.

Own code because the kept readers come with a whole SDK.
Source: https://smithy.io/2.0/aws/amazon-eventstream.html
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from zlib import crc32

MAX_MESSAGE_BYTES = 25 * 1024 * 1024
"""The largest message that is read: 24 MB of payload, as the source says, and its headers."""

PRELUDE = struct.Struct(">III")  # length of the message, length of its headers, checksum of both
CHECKSUM = struct.Struct(">I")
LENGTH = struct.Struct(">H")
# Size in bytes of each kind of header value, by its number. Bytes and text say their own length.
SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
BYTES, TEXT = 6, 7


class EventStreamError(ValueError):
    """The bytes are no event stream, or a message is too large."""


class EventMessage(NamedTuple):
    """One message: its headers that are text, and its payload."""

    headers: Mapping[str, str]
    payload: bytes


class EventStreamDecoder:
    """Turns the bytes of a stream, cut anywhere, into its messages."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._headers = (b"", dict[str, str]())  # as written and as read, of the last message

    def feed(self, data: bytes) -> Iterator[EventMessage]:
        """The messages that are complete with `data`; take them all before feeding more.

        Raises:
            EventStreamError: a checksum is wrong, or a message is too large.
        """
        self._bytes += data
        while len(self._bytes) >= PRELUDE.size:
            length, headers_length, checksum = PRELUDE.unpack_from(self._bytes)
            if crc32(self._bytes[: PRELUDE.size - CHECKSUM.size]) != checksum:
                raise EventStreamError("these are not messages of an event stream")
            if not PRELUDE.size + headers_length + CHECKSUM.size <= length <= MAX_MESSAGE_BYTES:
                raise EventStreamError(f"a message says that it has {length} bytes")
            if len(self._bytes) < length:
                return
            message = bytes(self._bytes[:length])
            del self._bytes[:length]
            yield self._message(message, headers_length)

    def _message(self, message: bytes, headers_length: int) -> EventMessage:
        body, checksum = message[: -CHECKSUM.size], message[-CHECKSUM.size :]
        if crc32(body) != CHECKSUM.unpack(checksum)[0]:
            raise EventStreamError("a message of the event stream does not have its checksum")
        headers_end = PRELUDE.size + headers_length
        written = body[PRELUDE.size : headers_end]
        if written != self._headers[0]:  # nearly all have those of the one before
            try:
                self._headers = written, dict(_headers(written))
            except (IndexError, KeyError, struct.error) as error:
                raise EventStreamError("a header of the event stream cannot be read") from error
        return EventMessage(self._headers[1], body[headers_end:])


def _headers(data: bytes) -> Iterator[tuple[str, str]]:
    """The headers whose values are text; others are passed over."""
    at = 0
    while at < len(data):
        name_end = at + 1 + data[at]
        name, kind = data[at + 1 : name_end], data[name_end]
        at = name_end + 1
        if kind in {BYTES, TEXT}:
            size = LENGTH.unpack_from(data, at)[0]
            at += LENGTH.size
        else:
            size = SIZES[kind]
        if kind == TEXT:
            yield name.decode(errors="replace"), data[at : at + size].decode(errors="replace")
        at += size
