"""Messages of Amazon's event stream, on the vectors that Amazon publishes for it."""

from __future__ import annotations

import struct
from contextlib import suppress
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.adapters.providers.bedrock.event_stream import (
    MAX_MESSAGE_BYTES,
    EventMessage,
    EventStreamDecoder,
    EventStreamError,
)

# Source: https://github.com/awslabs/aws-c-event-stream
EMPTY = bytes.fromhex("000000100000000005c248eb7d98c8ff")
NO_HEADERS = bytes.fromhex("0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936")
ONE_HEADER = bytes.fromhex(
    "0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e"
    "7b27666f6f273a27626172277d8d9c08b1"
)
ALL_HEADERS = bytes.fromhex(
    "000000cc000000af0fae64ca0a6576656e742d74797065040000a00c0c636f6e74656e742d74797065070010"
    "6170706c69636174696f6e2f6a736f6e0a626f6f6c2066616c73650109626f6f6c2074727565000462797465"
    "02cf08627974652062756606001449276d2061206c6974746c6520746561706f74210974696d657374616d70"
    "080000000000845fed05696e74313603002a05696e7436340500000000028757b20475756964090102030405"
    "060708090a0b0c0d0e0f107b27666f6f273a27626172277daba5f10c"
)
PAYLOAD = b"{'foo':'bar'}"
JSON = {"content-type": "application/json"}


def read(data: bytes, size: int | None = None) -> list[EventMessage]:
    """The messages in `data`, fed in pieces of `size` bytes."""
    decoder, step = EventStreamDecoder(), size or max(1, len(data))
    return [one for at in range(0, len(data), step) for one in decoder.feed(data[at : at + step])]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (EMPTY, EventMessage({}, b"")),
        (NO_HEADERS, EventMessage({}, PAYLOAD)),
        (ONE_HEADER, EventMessage(JSON, PAYLOAD)),
        (ALL_HEADERS, EventMessage(JSON, PAYLOAD)),
    ],
    ids=["empty", "no headers", "one header", "all kinds of headers"],
)
def test_the_published_messages_are_read(data: bytes, message: EventMessage) -> None:
    """Of the headers those that are text."""
    assert read(data) == [message]


@pytest.mark.parametrize("size", [None, 1, 2, 7, 50])
def test_messages_are_read_wherever_the_network_cuts(size: int | None) -> None:
    """A message that has not ended is waited for."""
    messages = read(ALL_HEADERS + EMPTY + ONE_HEADER + NO_HEADERS[:-1], size)
    assert messages == [(JSON, PAYLOAD), ({}, b""), (JSON, PAYLOAD)]


def test_each_message_has_its_own_headers() -> None:
    """Also one that comes after another with other headers."""
    other = signed(32, 16, b"\x01a\x07\x00\x01b\x01c\x07\x00\x05defgh")
    headers = [message.headers for message in read(ONE_HEADER + other + other + ONE_HEADER)]
    assert headers == [JSON, {"a": "b", "c": "defgh"}, {"a": "b", "c": "defgh"}, JSON]


@pytest.mark.parametrize("at", range(len(ONE_HEADER)))
def test_a_byte_that_is_wrong_is_found(at: int) -> None:
    """In a length, a header, the payload or a checksum."""
    broken = bytearray(ONE_HEADER)
    broken[at] ^= 1
    with pytest.raises(EventStreamError):
        read(bytes(broken))


def signed(length: int, headers_length: int, rest: bytes = b"") -> bytes:
    """A message of these lengths, with the right checksums."""
    prelude = struct.pack(">II", length, headers_length)
    prelude += struct.pack(">I", crc32(prelude))
    return prelude + rest + struct.pack(">I", crc32(prelude + rest))


@pytest.mark.parametrize(
    ("length", "headers_length"), [(MAX_MESSAGE_BYTES + 1, 0), (15, 0), (16, 1), (0, 0)]
)
def test_a_length_that_cannot_be_is_refused(length: int, headers_length: int) -> None:
    """One that is too large would fill the memory."""
    with pytest.raises(EventStreamError, match=f"a message says that it has {length} bytes"):
        read(signed(length, headers_length))


@pytest.mark.parametrize("headers", [b"\x05ab", b"\x01a\x0a", b"\x01a\x07\x00"])
def test_headers_that_cannot_be_read_are_refused(headers: bytes) -> None:
    """A name that does not end, a kind that is none, a value without its length."""
    with pytest.raises(EventStreamError, match="a header of the event stream"):
        read(signed(16 + len(headers), len(headers), headers))


@given(st.binary(max_size=40))
def test_no_bytes_do_more_harm_than_to_be_refused(headers: bytes) -> None:
    """Any bytes at all as headers, and as a stream."""
    for data in (headers, signed(16 + len(headers), len(headers), headers)):
        with suppress(EventStreamError):
            read(data)
