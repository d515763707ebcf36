"""The data of server-sent events out of bytes: incremental, pure and bounded.

Own code because the kept readers (httpx-sse, httpx2) take a response object and know no limit.
Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

import json

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""The largest event that is read, in bytes. A base64 image of 8 megapixels fits."""

CR, LF = b"\r\n"
EVENT_END = b"\n\n"
MANY_BYTES = 1024
"""A chunk beyond this is likely to hold several events."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLargeError(ValueError):
    """The other side sent an event beyond the limit."""


class SSEDecoder:
    """Turns the bytes of a stream, cut anywhere, into the data of its events.

    Lines may end in LF, CR LF or CR. Names, comments, ids, retry times and unknown fields are
    passed over: no API says in them what its data does not say. A field ``error``, in which
    llama.cpp says why it breaks off, is read as data. An event is out as soon as its last byte is
    in.
    """

    __slots__ = ("_after_cr", "_begun", "_data", "_is_between", "_max_bytes", "_size", "_tail")

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_event_bytes
        self._tail = bytearray()  # a line that has not ended yet
        self._data: list[bytes] = []  # the data lines of the event that has not ended yet
        self._size = 0  # of these data lines, in bytes
        self._after_cr = False  # a LF that follows belongs to the line end before it
        self._begun = False
        self._is_between = False  # after a LF, where most chunks begin: nothing is to be mended

    def feed(self, chunk: bytes) -> list[str]:
        """The data of the events that end in `chunk`, in order.

        Raises:
            EventTooLargeError: a line or an event is larger than the limit.
        """
        if len(chunk) > MANY_BYTES and (last := chunk.rfind(EVENT_END)) > 0:
            first = chunk.find(EVENT_END) + len(EVENT_END)
            middle = chunk[first : last + len(EVENT_END)]
            before = self._events(chunk[:first])
            plain = _plain_events(middle) if len(middle) <= self._max_bytes else None
            between = self._events(middle) if plain is None else plain
            return [*before, *between, *self._events(chunk[last + len(EVENT_END) :])]
        return self._events(chunk)

    def _events(self, chunk: bytes) -> list[str]:
        """The data of the events that end in a chunk."""
        whole = self._is_between and chunk.endswith(b"\n")
        events: list[str] = []
        data = self._data
        for line in chunk.splitlines() if whole else self._mended(chunk):
            if line.startswith(b"data:") or line == b"data":
                data.append(line[5:].removeprefix(b" "))
                self._size += len(line)
                if self._size > self._max_bytes:
                    raise self._too_large()
            elif line.startswith(b"error:"):
                data.append(_error_data(line[6:]))
                self._size += len(line)
            elif data and not line:
                events.append(b"\n".join(data).decode("utf-8", "replace"))
                data.clear()
                self._size = 0
        if self._tail and self._size + len(self._tail) > self._max_bytes:
            raise self._too_large()
        return events

    def close(self) -> list[str]:
        """The data of the event that the end of the stream cut off from its blank line, if any."""
        return self.feed(b"\n\n")

    def _mended(self, chunk: bytes) -> list[bytes]:
        """The lines that end in a chunk which does not begin or end between two lines."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if not chunk:
            return []
        lines = chunk.splitlines()
        self._after_cr = chunk[-1] == CR
        unended = b"" if chunk[-1] in b"\r\n" else lines.pop()
        if lines:
            lines[0] = bytes(self._tail) + lines[0]
            self._tail.clear()
            if not self._begun:
                lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
                self._begun = True
        self._tail += unended
        self._is_between = chunk[-1] == LF
        return lines

    def _too_large(self) -> EventTooLargeError:
        return EventTooLargeError(f"an event of the stream is larger than {self._max_bytes} bytes")


def _plain_events(chunk: bytes) -> list[str] | None:
    """The data of whole events, each of one line behind at most its name, as nearly all are.

    None where one is anything else: then it is read line by line, which takes twice the time.
    """
    if b"\r" in chunk:
        return None
    if not chunk:
        return []
    events = []
    for event in chunk[:-2].decode("utf-8", "replace").split("\n\n"):
        head, mark, data = event.partition("data: ")
        named = head.startswith("event: ") and head.endswith("\n") and head.count("\n") == 1
        if not mark or (head and not named) or "\n" in data:
            return None
        events.append(data)
    return events


def _error_data(value: bytes) -> bytes:
    """What a field ``error`` says, as the data of an event with an error in it."""
    text = value.decode("utf-8", "replace").strip()
    try:
        error: object = json.loads(text)
    except (ValueError, RecursionError):
        error = text
    wrapped = isinstance(error, dict) and "error" in error
    return json.dumps(error if wrapped else {"error": error}).encode()
