"""JSON values out of the bytes of an answer, however it is framed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.adapters.providers.http import payloads
from detent.adapters.providers.http.payloads import MalformedAnswerError, PayloadDecoder
from detent.adapters.providers.http.sse import EventTooLargeError


def values_of(data: bytes, *, size: int | None = None) -> tuple[list[object], bool]:
    """The values of an answer fed in chunks of `size` bytes, and whether it came to its end."""
    decoder = PayloadDecoder()
    step = size or max(1, len(data))
    fed = [v for at in range(0, len(data), step) for v in decoder.feed(data[at : at + step])]
    return [*fed, *decoder.close()], decoder.ended


@pytest.mark.parametrize("size", [None, 1, 2, 5])
@pytest.mark.parametrize(
    ("data", "values", "ended"),
    [
        (b'{"a": 1}', [{"a": 1}], True),
        (b'\n\n \r\n{"a": 1}\n', [{"a": 1}], True),
        (b'\xef\xbb\xbf{"a": 1}', [{"a": 1}], True),
        (b'[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}], True),
        (b'data: {"a": 1}\n\ndata: [DONE]\n\n', [{"a": 1}], True),
        (b'data: {"a": 1}\n\ndata: [DONE]', [{"a": 1}], True),
        (b'data: {"a": 1}\n\n', [{"a": 1}], False),
        (b'data: {"a": 1}', [{"a": 1}], False),
        (b'data: {"a": 1}\n\ndata: {"a', [{"a": 1}], False),
        (b': PROCESSING\n\ndata: {"a": 1}\n\n', [{"a": 1}], False),
        (b'\r\nevent: error\r\ndata: {"error": 1}\r\n\r\n', [{"error": 1}], False),
        (b'data:\n\ndata:  \n\ndata: {"a": 1}\n\n', [{"a": 1}], False),
        (b": only a comment\n\n", [], False),
        (b"", [], False),
        (b"  \n", [], False),
        (b'{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}], True),
        (b'\n{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}], True),
        (b'{"a": 1}\r\n\r\n{"a": 2}', [{"a": 1}, {"a": 2}], True),
        (b'{"a": 1}\n{"a": 2}\n{"a', [{"a": 1}, {"a": 2}], True),
        (b'{\n"a": 1,\n"b": 2\n}\n', [{"a": 1, "b": 2}], True),
        (b'[{"a": 1},\n{"a": 2}\n]\n', [{"a": 1}, {"a": 2}], True),
    ],
)
def test_a_stream_and_a_whole_body_are_told_apart_by_their_bytes(
    data: bytes, values: list[object], *, ended: bool, size: int | None
) -> None:
    """Whatever was asked for, and wherever the network cuts."""
    assert values_of(data, size=size) == (values, ended)


@pytest.mark.parametrize(
    "data",
    [
        b"<html></html>",
        b"Internal Server Error",
        b'{"a": ',
        b"[1]",
        b"[DONE]",
        b'{"a": 1}\n[DONE]\n',
        b"42",
        b"data: oops\n\n",
        b"data: 1\n\n",
        b'data: {"a": 1} oops\n\n',
        b"[" * 100_000,
        b"data: " + b"[" * 100_000 + b"\n\n",
        b'{"a": 1}\noops\n',
        b'{"a": 1}\n[1]\n',
    ],
)
def test_what_is_not_json_is_refused(data: bytes) -> None:
    """Garbage is an error, never an empty answer."""
    with pytest.raises(MalformedAnswerError):
        values_of(data)


def test_an_answer_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body without end does not fill the memory, nor does a line."""
    monkeypatch.setattr(payloads, "MAX_BODY_BYTES", 1000)
    for begin in (b"", b'{"a": 1}\n'):
        with pytest.raises(MalformedAnswerError, match="larger than 1000 bytes"):
            values_of(begin + b"{" + b" " * 2000, size=100)


def test_a_line_is_read_when_it_ends() -> None:
    """A stream of lines is shown as it comes."""
    decoder = PayloadDecoder()
    assert [*decoder.feed(b'{"a": 1}\n{"a"')] == [{"a": 1}]
    assert [*decoder.feed(b": 2}\n")] == [{"a": 2}]
    assert [*decoder.close()] == []


def test_the_framing_is_told_once() -> None:
    """Events in the middle of lines are garbage."""
    decoder = PayloadDecoder()
    assert [*decoder.feed(b'{"a": 1}\n')] == [{"a": 1}]
    with pytest.raises(MalformedAnswerError):
        _ = [*decoder.feed(b'data: {"a": 2}\n\n')]


@given(st.binary(max_size=80), st.integers(1, 9))
def test_no_bytes_do_more_harm_than_to_be_refused(data: bytes, size: int) -> None:
    """Any bytes at all give values or the error of this module."""
    for begin in (b"", b"data: ", b"{"):
        try:
            values, _ = values_of(begin + data, size=size)
        except (MalformedAnswerError, EventTooLargeError):
            continue
        json.dumps(values)
