"""Servers that fail in every way, on real sockets: a typed error, and no connection is left."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from random import Random

import pytest
from attrs import evolve, frozen

from detent.adapters.providers.http.caller import Timeouts
from detent.adapters.providers.http.generator import HttpChatGenerator
from detent.adapters.providers.http.sse import MAX_EVENT_BYTES
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import FailureCause, ModelFailure
from detent.ports.chat import ChatGeneratorError, StreamingChunk
from tests.adapters.providers.http.fake_server import FakeServer, Play, serving
from tests.adapters.providers.http.generators import READERS, generator
from tests.adapters.providers.http.recorded import body_of, decoded, needs_records, records

QUESTION = [ChatMessage.from_user("Hello")]
PATIENCE = Timeouts(connect_s=5.0, read_s=0.1, total_s=10.0)
SAID = b'data: {"choices": [{"delta": {"content": "hel"}}]}\n\n'
WHOLE = json.dumps({"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]})
HTML = b"<html><body>502 Bad Gateway</body></html>"
SLOWER = b'{"error": {"message": "slower", "type": "rate_limit_error"}}'
LINE = b"x" * 1_000_000
ENDLESS_LINE = (b"data: ", *[LINE] * (MAX_EVENT_BYTES // len(LINE) + 1))


@frozen
class Fault:
    """What a server does, and what a call makes of it."""

    play: Play
    cause: FailureCause
    retryable: bool


def json_play(body: bytes, status: int, **headers: str) -> Play:
    """An answer of one body."""
    return Play((body,), {name.replace("_", "-"): text for name, text in headers.items()}, status)


FAULTS: Mapping[str, Fault] = {
    "no answer": Fault(Play(status=0, after="break"), "connection", retryable=True),
    "silence": Fault(Play(status=0, after="silence"), "timeout", retryable=True),
    "head, then break": Fault(Play(after="break"), "cut_stream", retryable=True),
    "head, then silence": Fault(Play(after="silence"), "timeout", retryable=True),
    "piece, then break": Fault(Play((SAID,), after="break"), "cut_stream", retryable=True),
    "piece, then silence": Fault(Play((SAID,), after="silence"), "timeout", retryable=True),
    "piece, then end": Fault(Play((SAID,)), "cut_stream", retryable=True),
    "nothing": Fault(Play(), "cut_stream", retryable=True),
    "web site": Fault(
        json_play(HTML, 200, content_type="text/html"), "bad_response", retryable=False
    ),
    "gateway": Fault(json_play(HTML, 502), "server", retryable=True),
    "garbage": Fault(Play((bytes(range(256)) * 9,)), "bad_response", retryable=False),
    "events of garbage": Fault(Play((b"data: \xff\xfe{\n\n",)), "bad_response", retryable=False),
    "endless line": Fault(Play(ENDLESS_LINE), "bad_response", retryable=False),
    "no gzip": Fault(
        json_play(b"{}", 200, content_encoding="gzip"), "bad_response", retryable=False
    ),
    "gzip cut off": Fault(
        json_play(gzip.compress(WHOLE.encode())[:20], 200, content_encoding="gzip"),
        "cut_stream",
        retryable=True,
    ),
    "brotli unasked": Fault(  # of {}, which is no answer where brotli is installed either
        json_play(b"\x8b\x00\x80{}\x03", 200, content_encoding="br"),
        "bad_response",
        retryable=False,
    ),
    "redirect": Fault(
        json_play(b"", 307, location="http://localhost:9/?key=sk-secret"),
        "bad_request",
        retryable=False,
    ),
    "nothing said": Fault(
        Play((), {"connection": "close"}, status=204, after="break"), "cut_stream", retryable=True
    ),
    "status unknown": Fault(json_play(b"", 599), "server", retryable=True),
    "list": Fault(json_play(b"[1, 2]", 200), "bad_response", retryable=False),
    "number": Fault(json_play(b"17", 200), "bad_response", retryable=False),
    "null": Fault(json_play(b"null", 200), "bad_response", retryable=False),
    "choices of another type": Fault(
        json_play(b'{"choices": 17}', 200), "bad_response", retryable=False
    ),
    "message of another type": Fault(
        json_play(b'{"choices": [{"message": "hello"}]}', 200), "bad_response", retryable=False
    ),
    "other encoding": Fault(
        json_play(WHOLE.encode("utf-16"), 200), "bad_response", retryable=False
    ),
    "deep": Fault(json_play(b"[" * 200_000, 200), "cut_stream", retryable=True),
    "deep error": Fault(json_play(b'{"error":' * 90_000, 400), "bad_request", retryable=False),
    "headers without end": Fault(
        Play(headers={f"x-{place}": "y" * 1000 for place in range(2000)}),
        "bad_response",
        retryable=False,
    ),
    "key in the error": Fault(
        json_play(b'{"error": {"message": "bad key sk-secret"}}', 401),
        "authentication",
        retryable=False,
    ),
    "gzip that grows": Fault(
        json_play(gzip.compress(bytes(70_000_000), 1), 200, content_encoding="gzip"),
        "bad_response",
        retryable=False,
    ),
    "error that grows": Fault(
        json_play(gzip.compress(b" " * 70_000_000, 1), 500, content_encoding="gzip"),
        "server",
        retryable=True,
    ),
    "other protocol": Fault(json_play(b"SSH-2.0-x\r\n", 200), "bad_response", retryable=False),
    "two answers": Fault(
        json_play(b'{"error": {"message": "no"}}' * 2, 200), "bad_response", retryable=False
    ),
    "error in a stream": Fault(
        Play((SAID, b'data: {"error": {"message": "sk-secret", "code": 500}}\n\n')),
        "server",
        retryable=True,
    ),
    "event without end": Fault(Play((b"data: {",)), "cut_stream", retryable=True),
    "too many": Fault(json_play(SLOWER, 429, retry_after="7"), "rate_limit", retryable=True),
    "too many, cut off": Fault(
        evolve(json_play(SLOWER[:9], 429, retry_after="7"), after="break"),
        "rate_limit",
        retryable=True,
    ),
}


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    """Plays the fault that the header x-play names, and else a good answer."""
    good = json_play(WHOLE.encode(), 200)
    with serving(lambda name: FAULTS[name].play if name in FAULTS else good) as made:
        yield made


def ignore(_: StreamingChunk) -> None:
    """Ask for a stream."""


def failures(made: HttpChatGenerator) -> Iterator[ModelFailure]:
    """What a call fails with in each colour, with and without a stream."""

    async def run_async() -> None:
        async with made:
            await made.run_async(QUESTION, streaming_callback=ignore)

    ways: tuple[Callable[[], object], ...] = (
        lambda: made.run(QUESTION),
        lambda: made.run(QUESTION, streaming_callback=ignore),
        lambda: asyncio.run(run_async()),
    )
    for call in ways:
        with pytest.raises(ChatGeneratorError) as caught:
            call()
        yield caught.value.failure


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_a_typed_failure_in_every_way_to_call(name: str, server: FakeServer) -> None:
    """Its cause, whether another try may help, and no key in it."""
    fault = FAULTS[name]
    with generator("openai_chat", server.url, name, timeout=PATIENCE) as made:
        for failure in failures(made):
            assert (failure.cause, failure.retryable) == (fault.cause, fault.retryable), failure
            assert failure.retry_after_s == (7.0 if "too many" in name else None)
            assert "sk-secret" not in repr(failure)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_compressed_stream_is_read(encoding: str) -> None:
    """In pieces that end anywhere."""
    said = SAID + b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    packed = gzip.compress(said) if encoding == "gzip" else zlib.compress(said)
    chunks = tuple(packed[at : at + 7] for at in range(0, len(packed), 7))
    with (
        serving(lambda _: Play(chunks, {"content-encoding": encoding})) as server,
        generator("openai_chat", server.url, "") as made,
    ):
        assert made.run(QUESTION, streaming_callback=ignore).message.text == "hel"


@pytest.mark.parametrize("name", ["silence", "piece, then silence", "endless line", "web site"])
def test_after_a_fault_the_connection_is_given_up_or_used_again(
    name: str, server: FakeServer
) -> None:
    """None is left open after the generator is closed, whatever happened on it."""
    with generator("openai_chat", server.url, name, timeout=PATIENCE) as made:
        with pytest.raises(ChatGeneratorError):
            made.run(QUESTION, streaming_callback=ignore)
        made._headers["x-play"] = "good"
        assert made.run(QUESTION).message.text == "hello"
    assert server.all_closed(timeout_s=5.0)


@needs_records
@pytest.mark.parametrize("name", READERS)
def test_streams_that_break_anywhere_are_whole_or_fail(name: str) -> None:
    """At random places, in good order or not: never a part of it, never another error."""
    random = Random(name)  # noqa: S311 - no secret
    streams = [one for one in records(name) if one["stream"] and "expected" in one][:12]
    plays: dict[str, Play] = {}
    wholes: dict[str, object] = {}
    for record in streams:
        whole = decoded(record, READERS[name])[1]
        data = body_of(record)
        for after in ("break", "end"):
            play = f"{record['id']} {after}"
            plays[play] = Play((data[: random.randrange(len(data))],), {}, 200, after)
            wholes[play] = None if isinstance(whole, ModelFailure) else whole.message.content
    with serving(plays.__getitem__) as server:
        for play, whole_content in wholes.items():
            with generator(name, server.url, play, timeout=5.0) as made:
                content = content_of(made)
            assert content is None or content == whole_content, play
        assert server.all_closed(timeout_s=5.0)


def content_of(made: HttpChatGenerator) -> object:
    """What a stream says, None where it has failed as it may."""
    try:
        return made.run(QUESTION, streaming_callback=ignore).message.content
    except ChatGeneratorError as error:
        expected = error.failure.cause in {"cut_stream", "bad_response", "rate_limit", "server"}
        return None if expected else error
