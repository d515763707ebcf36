"""JSON values out of the bytes of an answer, whether it is a stream of events or one whole body."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from string import ascii_lowercase
from typing import Any, TypeAlias

from detent.adapters.http.sse import MAX_EVENT_BYTES, ServerSentEvent, SSEDecoder

Json: TypeAlias = Mapping[str, Any]

MAX_BODY_BYTES = 4 * MAX_EVENT_BYTES
END_MARK = "[DONE]"
BEFORE_JSON = b" \t\r\n\xef\xbb\xbf"  # white space, also sent to keep a connection alive, and a BOM
_decode = json.JSONDecoder().decode
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

    def feed(self, data: bytes) -> Iterator[Json]:
        """The values that are complete with `data`; take them all before feeding more.

        Raises:
            MalformedAnswerError: an event is not JSON, or the answer is too large.
            EventTooLargeError: an event is too large.
        """
        if self._events is None:
            self._body += data
            if len(self._body) > MAX_BODY_BYTES:
                raise MalformedAnswerError(f"the answer is larger than {MAX_BODY_BYTES} bytes")
            if self._whole or not (begun := self._body.lstrip(BEFORE_JSON)):
                return iter(())
            if begun[0] not in STREAM_BEGINS_WITH:
                self._whole = True
                return iter(())
            data, self._events = bytes(self._body), SSEDecoder()
        return self._values(self._events.feed(data))

    def close(self) -> Iterator[Json]:
        """The values that the end of the answer completes. An event that it cuts in two is dropped.

        Raises:
            MalformedAnswerError: the body is not JSON.
        """
        if self._whole:
            self.ended = True
            yield from _objects(self._body.lstrip(BEFORE_JSON).decode(errors="replace"))
        elif self._events is not None:
            with suppress(MalformedAnswerError):
                yield from self._values(self._events.close())

    def _values(self, events: Iterable[ServerSentEvent]) -> Iterator[Json]:
        for _, data in events:
            if data.startswith(END_MARK):
                self.ended = True
            elif data and not data.isspace():
                yield from _objects(data)


def _objects(text: str) -> Sequence[Json]:
    """The JSON object in `text`, or the objects in its list: some servers wrap them so."""
    try:
        value = _decode(text)
    except (ValueError, RecursionError) as error:
        raise MalformedAnswerError(f"not JSON: {error}") from error
    if isinstance(value, dict):
        return (value,)
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    raise MalformedAnswerError("a JSON value is not an object")
