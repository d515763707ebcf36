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
STREAM_BEGINS_WITH = (b":", *map(str.encode, ascii_lowercase))  # a comment, or the name of a field


class MalformedAnswerError(ValueError):
    """The bytes are not JSON, or too many."""


class CutAnswerError(MalformedAnswerError):
    """The bytes are the beginning of JSON."""


class PayloadDecoder:
    """Turns the bytes of an answer, cut anywhere, into its JSON objects.

    How the answer is framed (as server-sent events, as one object in each line, or as one body) is
    seen from how it begins, never from what was asked for or from its declared type: servers err in
    both. `ended` turns true at the end mark, or at the end of what is not events.
    """

    def __init__(self) -> None:
        self.ended = False
        self._events: SSEDecoder | None = None
        self._rest = bytearray()  # what has come of a body, or of a line that has not ended yet
        self._by_line: bool | None = None  # None as long as the first line has not ended

    def feed(self, data: bytes) -> Iterator[Json]:
        """The values that are complete with `data`; take them all before feeding more.

        Raises:
            MalformedAnswerError: an event is not JSON, or the answer is too large.
            EventTooLargeError: an event is too large.
        """
        if self._events is not None:
            return self._values(self._events.feed(data))
        begins = not self._rest
        self._rest += data.lstrip(BEFORE_JSON) if begins else data
        if len(self._rest) > MAX_BODY_BYTES:
            raise MalformedAnswerError(f"the answer is larger than {MAX_BODY_BYTES} bytes")
        if begins and self._by_line is None and self._rest.startswith(STREAM_BEGINS_WITH):
            self._events = SSEDecoder()
            return self._values(self._events.feed(bytes(self._rest)))
        return self._lines() if b"\n" in data and self._by_line is not False else iter(())

    def close(self) -> Iterator[Json]:
        """The values that the end of the answer completes. What it cuts in two is dropped.

        Raises:
            CutAnswerError: the body is the beginning of JSON.
            MalformedAnswerError: the body is not JSON.
        """
        if self._events is not None:
            with suppress(MalformedAnswerError):
                yield from self._values(self._events.close())
        elif self._by_line:
            self.ended = True
            with suppress(MalformedAnswerError):
                yield from _objects(self._rest.decode(errors="replace"))
        elif self._rest:
            self.ended = True
            text = self._rest.decode(errors="replace").rstrip()
            if text.startswith(("{", "[")) and not text.endswith(("}", "]")):
                raise CutAnswerError("the answer was cut off in the middle")
            yield from _objects(text)

    def _values(self, events: Iterable[ServerSentEvent]) -> Iterator[Json]:
        for _, data in events:
            if data.startswith("{"):  # as nearly all do
                yield _object(data)
            elif data.startswith(END_MARK):
                self.ended = True
            elif data and not data.isspace():
                yield from _objects(data)

    def _lines(self) -> Iterator[Json]:
        """The values in the lines that have ended, where each line is one."""
        *lines, rest = bytes(self._rest).split(b"\n")
        if self._by_line is None and lines:
            self._by_line = _is_object(lines[0])
        if self._by_line:
            self._rest = bytearray(rest)
            for line in filter(None, map(bytes.strip, lines)):
                yield from _objects(line.decode(errors="replace"))


def _is_object(line: bytes) -> bool:
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(line), dict)
    return False


def _object(text: str) -> Json:
    """The JSON object in a text that begins as one."""
    try:
        value: Json = _decode(text)
    except (ValueError, RecursionError) as error:
        raise MalformedAnswerError(f"not JSON: {error}") from error
    return value


def _objects(text: str) -> Sequence[Json]:
    """The JSON object in `text`, or the objects in its list: some servers wrap them so."""
    value: object = _object(text)
    if isinstance(value, dict):
        return (value,)
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    raise MalformedAnswerError("a JSON value is not an object")
