"""Bytes in, events out."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.adapters.providers.http.sse import EventTooLargeError, SSEDecoder


def events_of(stream: bytes, *, size: int | None = None) -> list[str]:
    """Every event of `stream`, fed in chunks of `size` bytes."""
    decoder = SSEDecoder()
    step = size or max(1, len(stream))
    fed = [
        event
        for at in range(0, len(stream), step)
        for event in decoder.feed(stream[at : at + step])
    ]
    return fed + decoder.close()


@pytest.mark.parametrize("size", [None, 1, 2, 3])
@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\ndata: b\n\n", ["a", "b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
        (b"data: a\r\rdata: b\r\r", ["a", "b"]),
        (b"data: a\r\n\ndata: b\n\r\n", ["a", "b"]),
        (b"data:a\n\n", ["a"]),
        (b"data:  a\n\n", [" a"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data\n\n", [""]),
        (b": a comment\n\ndata: a\n: another\n\n:\n", ["a"]),
        (b"event: error\ndata: a\n\ndata: b\n\n", ["a", "b"]),
        (b"event: ping\n\ndata: a\n\n", ["a"]),
        (b"event: ping\nid: 1\n\ndata: a\n\n", ["a"]),
        (b"id: 1\nretry: 5\nwhat: ever\ndata: a\n\n", ["a"]),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        ("data: é—\u2028.\n\n".encode(), ["é—\u2028."]),
        (b"data: \xff\n\n", ["\ufffd"]),
        (b"data: a\n\ndata: b\n", ["a", "b"]),
        (b"data: a\n\ndata: b", ["a", "b"]),
        (b"", []),
        (b"\n\n\r\n", []),
    ],
)
def test_a_stream_is_read_wherever_it_is_cut(
    stream: bytes, events: list[str], size: int | None
) -> None:
    """Line ends, comments, names, unknown fields and a missing end, in chunks of any size."""
    assert events_of(stream, size=size) == events


FORMS = (
    b"data: %d\n\n",
    b"event: piece\ndata: %d\n\n",
    b": waiting\n\ndata: %d\n\n",
    b"data: %d\r\n\r\n",
    b"data: %d\r\r",
    b"event: a\nid: 7\ndata: %d\n\n",
    b"data: {\ndata: %d}\n\n",
    b"data:%d\n\n",
    b"data: \xff%d\n\n",
    b'error: {"message": "data: %d"}\n\n',
)


@given(st.lists(st.sampled_from(FORMS), min_size=90, max_size=120), st.integers(1025, 3000))
def test_many_events_at_once_are_read_as_one_by_one(forms: list[bytes], size: int) -> None:
    """In whatever forms they come, and wherever the large chunks are cut."""
    stream = b"".join(form % number for number, form in enumerate(forms))
    assert events_of(stream, size=size) == events_of(stream, size=7)


def test_many_events_at_once_may_be_as_large_as_one_by_one() -> None:
    """The limit is one for each, not for a chunk; and it holds within one."""
    decoder = SSEDecoder(max_event_bytes=100)
    assert len(decoder.feed(b"data: 1\n\n" * 1000)) == 1000
    with pytest.raises(EventTooLargeError):
        decoder.feed(b"data: 1\n\n" * 200 + b"data: " + b"x" * 100 + b"\n\n" + b"data: 1\n\n")


def test_an_event_is_out_as_soon_as_its_last_byte_is_in() -> None:
    """Nothing waits for the next chunk, not even a line that ends in CR."""
    assert SSEDecoder().feed(b"data: a\r\r") == ["a"]
    assert SSEDecoder().feed(b"data: a\n\n") == ["a"]


def by_the_letter(stream: bytes) -> list[str]:
    """The data of every event, read whole and line by line as the specification says."""
    text = stream.decode("utf-8", "replace").removeprefix("\ufeff")
    events, buffer = [], ""
    for line in re.split("\r\n|\n|\r", text + "\n\n"):
        name, _, value = line.partition(":")
        if name == "data":
            buffer += value.removeprefix(" ") + "\n"
        elif not line and buffer:
            events.append(buffer.removesuffix("\n"))
            buffer = ""
    return events


@pytest.mark.parametrize(
    ("line", "data"),
    [
        (b'error: {"code": 500}', {"error": {"code": 500}}),
        (b'error: {"error": {"code": 500}}', {"error": {"code": 500}}),
        (b"error: no memory", {"error": "no memory"}),
        (b"error:" + b"[" * 20_000, {"error": "[" * 20_000}),
    ],
)
def test_a_field_called_error_is_an_event_with_an_error(line: bytes, data: object) -> None:
    """llama.cpp breaks off with one, and without it nobody would know why."""
    decoder = SSEDecoder()
    assert [*map(json.loads, [*decoder.feed(line), *decoder.close()])] == [data]


BOM = b"\xef\xbb\xbf"
OF_DATA = [b"data", b"data:", b"data: a", b"data:  b:", b"data: \xc3\xa9", b"data: \xe2\x82"]
OTHERS = [b"", b"datum: a", b": c", b"event: x", b"id: 7", b"junk", BOM, BOM + b"data: a"]
LINES = st.sampled_from(OF_DATA) | st.sampled_from(OTHERS) | st.just(b"")
ENDS = st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"])


@given(lines=st.lists(st.tuples(LINES, ENDS)), data=st.data())
def test_any_stream_cut_anywhere_gives_what_the_specification_says(
    lines: list[tuple[bytes, bytes]], data: st.DataObject
) -> None:
    """Whatever the lines and their ends, also in the middle of a character or of a line end."""
    stream = b"".join(map(b"".join, lines))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    decoder = SSEDecoder()
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    fed = [event for piece in pieces for event in decoder.feed(piece)]
    assert fed + decoder.close() == by_the_letter(stream)


@pytest.mark.parametrize("size", [7, 100])
@pytest.mark.parametrize(
    "stream",
    [
        b"data: " + b"a" * 99,
        b"data: a\n" * 20,
        b"data\n" * 20,
        b"x" * 99,
        b"data: a\n" * 5 + b"x" * 30,
    ],
)
def test_an_event_beyond_the_limit_is_refused(stream: bytes, size: int) -> None:
    """One long line, many lines or a line of no known field: the memory used stays bounded."""
    decoder = SSEDecoder(max_event_bytes=64)
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    with pytest.raises(EventTooLargeError, match="larger than 64 bytes"):
        list(map(decoder.feed, chunks))


def test_the_limit_is_for_each_event() -> None:
    """A stream may be as long as it likes."""
    stream = b"data: " + b"a" * 40 + b"\n\n"
    decoder = SSEDecoder(max_event_bytes=64)
    assert [*map(decoder.feed, [stream, stream[:20], stream[20:] + stream])] == [
        ["a" * 40],
        [],
        ["a" * 40] * 2,
    ]
