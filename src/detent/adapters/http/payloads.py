"""JSON values out of the bytes of an answer, whether it is a stream of events or one whole body."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from string import ascii_lowercase

from detent.adapters.http.sse import MAX_EVENT_BYTES, ServerSentEvent, SSEDecoder

MAX_BODY_BYTES = 4 * MAX_EVENT_BYTES
END_MARK = "[DONE]"
BEFORE_JSON = b" \t\r\n\xef\xbb\xbf"  # white space, also sent to keep a connection alive, and a BOM
STREAM_BEGINS_WITH = b":" + ascii_lowercase.encode()  # a comment, or the name of a field


class MalformedAnswerError(ValueError):
    """The bytes are not JSON, or too many."""


class PayloadDecoder:
    """Turns the bytes of an answer, cut anywhere, into its JSON objects.

    How the answer is framed is seen from its first byte, never from what was asked for or from its
    declared type: servers err in both. `ended` turns true at the end mark, or at the end of a body.
    """

    def __init__(self) -> None:
        self.ended = False
        self._events: SSEDecoder | None = None
        self._body = bytearray()
        self._whole = False  # the answer is one body

    def feed(self, data: bytes) -> list[Mapping[str, object]]:
        """The values that are complete with `data`.

        Raises:
            MalformedAnswerError: an event is not JSON, or the answer is too large.
            EventTooLargeError: an event is too large.
        """
        if self._events is not None:
            return list(self._values(self._events.feed(data)))
        self._body += data
        if len(self._body) > MAX_BODY_BYTES:
            raise MalformedAnswerError(f"the answer is larger than {MAX_BODY_BYTES} bytes")
        if self._whole or not (begun := self._body.lstrip(BEFORE_JSON)):
            return []
        if begun[0] not in STREAM_BEGINS_WITH:
            self._whole = True
            return []
        self._events = SSEDecoder()
        return list(self._values(self._events.feed(bytes(self._body))))

    def close(self) -> list[Mapping[str, object]]:
        """The values that the end of the answer completes. An event that it cuts in two is dropped.

        Raises:
            MalformedAnswerError: the body is not JSON.
        """
        if self._whole:
            self.ended = True
            return list(_objects(self._body.lstrip(BEFORE_JSON).decode(errors="replace")))
        try:
            return list(self._values(self._events.close())) if self._events else []
        except MalformedAnswerError:
            return []

    def _values(self, events: Iterable[ServerSentEvent]) -> Iterator[Mapping[str, object]]:
        for event in events:
            if event.data.startswith(END_MARK):
                self.ended = True
            elif event.data and not event.data.isspace():
                yield from _objects(event.data)


def _objects(text: str) -> Iterator[Mapping[str, object]]:
    """The JSON object in `text`, or the objects in its list: some servers wrap them so."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedAnswerError(f"not JSON: {error}") from error
    for item in value if isinstance(value, list) else (value,):
        if not isinstance(item, dict):
            raise MalformedAnswerError("a JSON value is not an object")
        yield item
