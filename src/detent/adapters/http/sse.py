"""Server-sent events out of bytes: incremental, pure and bounded.

Own code because the kept readers (httpx-sse, httpx2) take a response object and know no limit.
Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

from typing import NamedTuple

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""The largest event that is read, in bytes. A base64 image of 8 megapixels fits."""

CR = ord("\r")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ServerSentEvent(NamedTuple):
    """One event: its name ("" when it has none) and its data."""

    name: str
    data: str


class EventTooLargeError(ValueError):
    """The other side sent an event beyond the limit."""


class SSEDecoder:
    """Turns the bytes of a stream, cut anywhere, into its events.

    Lines may end in LF, CR LF or CR. Comments, ids, retry times and unknown fields are passed over.
    An event is out as soon as its last byte is in.
    """

    __slots__ = ("_after_cr", "_begun", "_data", "_max_bytes", "_name", "_size", "_tail")

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_event_bytes
        self._tail = bytearray()  # a line that has not ended yet
        self._data: list[bytes] = []  # the data lines of the event that has not ended yet
        self._size = 0  # of these data lines, in bytes
        self._name = ""
        self._after_cr = False  # a LF that follows belongs to the line end before it
        self._begun = False

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that end in `chunk`, in order.

        Raises:
            EventTooLargeError: a line or an event is larger than the limit.
        """
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if not chunk:
            return []
        lines = chunk.splitlines()
        self._after_cr = chunk[-1] == CR
        unended = b"" if chunk[-1] in b"\r\n" else lines.pop()
        events: list[ServerSentEvent] = []
        if lines:
            if self._tail:
                lines[0] = bytes(self._tail) + lines[0]
                self._tail.clear()
            events = self._read(lines)
        self._tail += unended
        if self._size + len(self._tail) > self._max_bytes:
            raise self._too_large()
        return events

    def close(self) -> list[ServerSentEvent]:
        """The event that the end of the stream cut off from its blank line, if there is one."""
        lines = [bytes(self._tail), b""]
        self._tail.clear()
        return self._read(lines)

    def _read(self, lines: list[bytes]) -> list[ServerSentEvent]:
        if not self._begun:
            self._begun = True
            lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
        events: list[ServerSentEvent] = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
                self._size += len(line)
            elif not line:
                if self._data:
                    events.append(self._event())
                self._name = ""
            elif line == b"data":
                self._data.append(b"")
            elif line.startswith(b"event:"):
                self._name = line[6:].removeprefix(b" ").decode(errors="replace")
        return events

    def _event(self) -> ServerSentEvent:
        if self._size > self._max_bytes:
            raise self._too_large()
        data = b"\n".join(self._data).decode(errors="replace")
        self._data.clear()
        self._size = 0
        return ServerSentEvent(self._name, data)

    def _too_large(self) -> EventTooLargeError:
        return EventTooLargeError(f"an event of the stream is larger than {self._max_bytes} bytes")
