"""JSON values out of the bytes of an answer, whether it is a stream of events or one whole body."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from string import ascii_lowercase
from typing import Any, TypeAlias

from detent.adapters.providers.http.sse import MAX_EVENT_BYTES, SSEDecoder

Json: TypeAlias = Mapping[str, Any]

MAX_BODY_BYTES = 4 * MAX_EVENT_BYTES
END_MARK = "[DONE]"
BEFORE_JSON = b" \t\r\n\xef\xbb\xbf"  # white space, also sent to keep a connection alive, and a BOM
_decode = json.JSONDecoder().raw_decode
"""The value that a text begins with, and where it ends: half the time of `json.loads`, which looks
for white space at both ends first."""
STREAM_BEGINS_WITH = (b":", *map(str.encode, ascii_lowercase))  # a comment, or the name of a field

FIELDS = (b"data", b"event", b"id", b"retry")


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
        self._frames: SSEDecoder | LineDecoder | None = None
        self._rest = bytearray()  # what has come of a body, or of a first line
        self._is_body = False  # its first line is no value

    def feed(self, data: bytes) -> Iterator[Json]:
        """The values that are complete with `data`; take them all before feeding more.

        Raises:
            MalformedAnswerError: an event is not JSON, or the answer is too large.
            EventTooLargeError: an event is too large.
        """
        if self._frames is not None:
            return self._values(self._frames.feed(data))
        self._rest += data if self._rest else data.lstrip(BEFORE_JSON)
        _require_bounded(self._rest)
        if self._rest.startswith(STREAM_BEGINS_WITH):
            self._frames = SSEDecoder()
        elif b"\n" in data and not self._is_body:
            first, end, _ = self._rest.partition(b"\n")
            self._is_body = bool(end) and not _is_object(first)
            self._frames = LineDecoder() if end and not self._is_body else None
        return self._values(self._frames.feed(bytes(self._rest)) if self._frames else ())

    def close(self) -> Iterator[Json]:
        """The values that the end of the answer completes. What it cuts in two is dropped.

        Raises:
            CutAnswerError: the body is the beginning of JSON.
            MalformedAnswerError: the body is not JSON.
        """
        if self._frames is not None:
            self.ended |= isinstance(self._frames, LineDecoder)
            with suppress(MalformedAnswerError):
                yield from self._values(self._frames.close())
        elif self._rest:
            self.ended = True
            text = self._rest.decode(errors="replace").rstrip()
            if text.startswith(("{", "[")) and not text.endswith(("}", "]")):
                raise CutAnswerError("the answer was cut off in the middle")
            yield from self._values((text,))

    def _values(self, texts: Iterable[str]) -> Iterator[Json]:
        for text in texts:
            try:
                value, end = _decode(text)
            except (ValueError, RecursionError):
                value, end = None, -1
            if end == len(text) and isinstance(value, dict):  # as nearly all are
                yield value
            elif text.startswith(END_MARK) and isinstance(self._frames, SSEDecoder):
                self.ended = True
            elif text and not text.isspace():
                yield from _objects(text)


def begins_as_stream(text: bytes) -> bool:
    """Whether events could begin so: with a comment, or a field; or the text ends before it can.

    >>> begins_as_stream(b"event: ping"), begins_as_stream(b"da"), begins_as_stream(b"hello")
    (True, True, False)
    """
    name, colon, _ = text.splitlines()[0].partition(b":")
    return any(field == name if colon else field.startswith(name) for field in (b"", *FIELDS))


class LineDecoder:
    """Turns bytes, cut anywhere, into lines."""

    def __init__(self) -> None:
        self._rest = bytearray()  # a line that has not ended yet

    def feed(self, data: bytes) -> list[str]:
        """The lines that end in `data`.

        Raises:
            MalformedAnswerError: a line is too large.
        """
        *lines, rest = data.split(b"\n")
        if lines and self._rest:
            lines[0] = bytes(self._rest) + lines[0]
            self._rest.clear()
        self._rest += rest
        _require_bounded(self._rest)
        return [line.decode("utf-8", "replace") for line in lines]

    def close(self) -> list[str]:
        """The line that has not ended."""
        return [self._rest.decode(errors="replace")]


def _require_bounded(body: bytearray) -> None:
    if len(body) > MAX_BODY_BYTES:
        raise MalformedAnswerError(f"the answer is larger than {MAX_BODY_BYTES} bytes")


def _is_object(line: bytearray) -> bool:
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(line), dict)
    return False


def _object(text: str) -> Json:
    """The JSON object in a text that begins as one."""
    try:
        value: Json = json.loads(text)
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
