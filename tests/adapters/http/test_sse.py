"""Bytes in, events out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.adapters.http.sse import EventTooLargeError, ServerSentEvent, SSEDecoder


def events_of(stream: bytes, *, size: int | None = None) -> list[ServerSentEvent]:
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
        (b"data: a\n\ndata: b\n\n", [("", "a"), ("", "b")]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [("", "a"), ("", "b")]),
        (b"data: a\r\rdata: b\r\r", [("", "a"), ("", "b")]),
        (b"data:a\n\n", [("", "a")]),
        (b"data:  a\n\n", [("", " a")]),
        (b"data: a\ndata: b\n\n", [("", "a\nb")]),
        (b"data\n\n", [("", "")]),
        (b": a comment\n\ndata: a\n: another\n\n:\n", [("", "a")]),
        (b"event: error\ndata: a\n\ndata: b\n\n", [("error", "a"), ("", "b")]),
        (b"event: ping\n\ndata: a\n\n", [("", "a")]),
        (b"id: 1\nretry: 5\nwhat: ever\ndata: a\n\n", [("", "a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("", "a")]),
        ("data: é—\u2028.\n\n".encode(), [("", "é—\u2028.")]),
        (b"data: \xff\n\n", [("", "\ufffd")]),
        (b"data: a\n\ndata: b\n", [("", "a"), ("", "b")]),
        (b"data: a\n\ndata: b", [("", "a"), ("", "b")]),
        (b"", []),
        (b"\n\n\r\n", []),
    ],
)
def test_a_stream_is_read_wherever_it_is_cut(
    stream: bytes, events: list[tuple[str, str]], size: int | None
) -> None:
    """Line ends, comments, names, unknown fields and a missing end, in chunks of any size."""
    assert events_of(stream, size=size) == events


def test_an_event_is_out_as_soon_as_its_last_byte_is_in() -> None:
    """Nothing waits for the next chunk, not even a line that ends in CR."""
    assert SSEDecoder().feed(b"data: a\r\r") == [("", "a")]
    assert SSEDecoder().feed(b"data: a\n\n") == [("", "a")]


LINES = st.sampled_from(["data: a", "data:", "data: é", ": c", "event: x", "", "", "id: 7", "junk"])


@given(lines=st.lists(LINES), end=st.sampled_from(["\n", "\r\n", "\r"]), data=st.data())
def test_cutting_a_stream_changes_nothing(lines: list[str], end: str, data: st.DataObject) -> None:
    """Any stream, cut at any offsets, gives the events of the whole."""
    stream = "".join(line + end for line in lines).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    decoder = SSEDecoder()
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    fed = [event for piece in pieces for event in decoder.feed(piece)]
    assert fed + decoder.close() == events_of(stream)


@pytest.mark.parametrize("size", [7, 100])
@pytest.mark.parametrize("stream", [b"data: " + b"a" * 99, b"data: a\n" * 20, b"x" * 99])
def test_an_event_beyond_the_limit_is_refused(stream: bytes, size: int) -> None:
    """One long line, many lines or a line of no known field: the memory used stays bounded."""
    decoder = SSEDecoder(max_event_bytes=64)
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    with pytest.raises(EventTooLargeError, match="larger than 64 bytes"):
        list(map(decoder.feed, chunks))
