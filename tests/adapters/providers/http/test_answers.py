"""One answer, from its head to its reply or its failure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from returns.result import Failure, Result, Success

from detent.adapters.providers.http import answers
from detent.adapters.providers.http.answers import MAX_ERROR_BYTES, Answer
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import ChatReply, ModelFailure
from detent.ports.chat import StreamingChunk


class Letters:
    """A fold over ``{"say": "a"}``: its reply is all that was said."""

    def __init__(self) -> None:
        self.said = ""

    def add(self, value: Mapping[str, object], /) -> Sequence[StreamingChunk] | ModelFailure:
        """Show what is said; the provider breaks where it says so."""
        if value.get("broken"):
            return ModelFailure("server", "the key sk-1 broke", retryable=True)
        self.said += str(value["say"])
        return [StreamingChunk(content=str(value["say"]))]

    def finish(self, *, ended: bool) -> Result[ChatReply, ModelFailure]:
        """Say all that was said."""
        if not ended:
            return Failure(ModelFailure("cut_stream", "cut", retryable=True))
        return Success(ChatReply(ChatMessage.from_assistant(self.said)))


def answer(status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer whose head has come."""
    made = Answer(Letters(), "example.org", redact=lambda text: text.replace("sk-1", "***"))
    made.begin(status, headers or {})
    return made


def failure_of(made: Answer, data: bytes) -> ModelFailure:
    """The failure that `data` leads to."""
    list(made.feed(data))
    return made.finish().failure()


def test_a_stream_gives_its_pieces_as_they_come_and_then_the_reply() -> None:
    """Each as soon as its last byte is there."""
    made = answer()
    assert made.begun
    assert [*made.feed(b'data: {"say": "a"}\n\ndata: {"sa')] == [StreamingChunk(content="a")]
    assert [*made.feed(b'y": "b"}\n\ndata: [DONE]\n\n')] == [StreamingChunk(content="b")]
    pieces, reply = made.finish().unwrap()
    assert pieces == [StreamingChunk(finish_reason="stop")]
    assert reply.message.text == "ab"


def test_a_whole_body_gives_the_same_pieces_at_its_end() -> None:
    """A server that does not stream is read all the same."""
    made = answer()
    assert not [*made.feed(b'{"say": "ab"}')]
    pieces, reply = made.finish().unwrap()
    assert pieces == [StreamingChunk(content="ab"), StreamingChunk(finish_reason="stop")]
    assert reply.message.text == "ab"


BROKEN = ModelFailure("timeout", "it took too long", retryable=True)


@pytest.mark.parametrize("data", [b'data: {"say": "a"}\n\ndata: [DONE]\n\n', b'{"say": "a"}'])
def test_a_connection_that_breaks_after_the_end_does_no_harm(data: bytes) -> None:
    """What has come is the whole answer."""
    made = answer()
    pieces = [*made.feed(data)]
    made.break_off(BROKEN)
    last, reply = made.finish().unwrap()
    assert [piece.content for piece in (*pieces, *last)] == ["a", ""]
    assert reply.message.text == "a"


@pytest.mark.parametrize("data", [b"", b'data: {"say": "a"}\n\n', b'{"say": "a', b'{"other": 1}'])
def test_a_connection_that_breaks_before_the_end_is_what_failed(data: bytes) -> None:
    """Not the answer, which could not come."""
    made = answer()
    made.break_off(BROKEN)
    assert failure_of(made, data) == BROKEN


KEY = "sk-1" * 60


@pytest.mark.parametrize("status", [200, 401])
@pytest.mark.parametrize("before", range(0, 620, 20))
def test_a_key_is_found_wherever_a_text_is_cut(status: int, before: int) -> None:
    """In what an error says and in what is no answer: it is taken out before."""
    text = "x" * before + KEY
    errors = [f'{{"error": "{text}"}}', f'data: {{"broken": 1}}\n\n{text}', f"<html>{text}", text]
    for data in errors:
        made = Answer(Letters(), "h", redact=lambda said: said.replace(KEY, "***"))
        made.begin(status, {"x-request-id": KEY})
        failure = failure_of(made, data.encode())
        assert "sk-1sk" not in f"{failure.message} {failure.request_id}"


def test_an_endless_error_body_keeps_its_status() -> None:
    """No more of it is read than can be of use."""
    made = answer(503, {"retry-after": "7"})
    piece = b"x" * 65536
    pieces = 0
    while not made.failed and pieces < 100:
        list(made.feed(piece))
        pieces += 1
    failure = made.finish().failure()
    assert pieces == MAX_ERROR_BYTES // len(piece)
    assert (failure.cause, failure.status, failure.retry_after_s) == ("overloaded", 503, 7.0)
    assert len(failure.message) < 1000


def test_an_endless_stream_is_a_bad_response(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its events is small."""
    monkeypatch.setattr(answers, "MAX_ANSWER_BYTES", 1000)
    made = answer()
    pieces = 0
    while not made.failed and pieces < 100:
        pieces += len([*made.feed(b'data: {"say": "a"}\n\n')])
    failure = made.finish().failure()
    assert (failure.cause, failure.retryable) == ("bad_response", False)
    assert "larger than 1000 bytes" in failure.message
    assert pieces == 1000 // 20


def test_an_error_status_counts_more_than_a_connection_that_breaks() -> None:
    """Another try would meet it again."""
    made = answer(401)
    made.break_off(BROKEN)
    assert failure_of(made, b'{"error": {"mess').cause == "authentication"


def test_an_error_status_is_read_into_a_failure() -> None:
    """It names the host, the status, the request and the time to wait, and shows no secret."""
    made = answer(429, {"retry-after": "7", "x-request-id": "r1"})
    failure = failure_of(made, b'{"error": {"message": "slower, sk-1"}}')
    assert failure == ModelFailure(
        "rate_limit",
        "example.org: 429 Too Many Requests: slower, ***",
        retryable=True,
        retry_after_s=7.0,
        status=429,
        request_id="r1",
    )


def test_an_error_body_without_end_is_cut() -> None:
    """What is kept of it is bounded."""
    made = answer(500)
    for _ in range(5):
        list(made.feed(b"x" * (MAX_ERROR_BYTES // 2)))
    assert len(made._error_body) == MAX_ERROR_BYTES


def test_an_error_of_the_provider_is_signed_with_the_request() -> None:
    """Also in the middle of a stream; what the provider said about the key is taken out."""
    failure = failure_of(answer(headers={"request-id": "r1"}), b'data: {"broken": true}\n\n')
    assert failure == ModelFailure(
        "server", "example.org: the key *** broke", retryable=True, status=200, request_id="r1"
    )


def test_what_came_before_an_error_is_shown() -> None:
    """Also when both come in the same bytes."""
    made = answer()
    assert not made.failed
    pieces = [*made.feed(b'data: {"say": "a"}\n\ndata: {"broken": true}\n\ndata: {"say": "b"}\n\n')]
    assert pieces == [StreamingChunk(content="a")]
    assert made.failed


@pytest.mark.parametrize(
    "data", [b"", b": waiting\n\n", b'data: {"say": "a"}\n\ndata: {"say', b'{"say": "a']
)
def test_a_cut_stream_is_a_failure_worth_another_try(data: bytes) -> None:
    """Also when nothing came at all."""
    failure = failure_of(answer(), data)
    assert (failure.cause, failure.retryable) == ("cut_stream", True)


@pytest.mark.parametrize(
    "data", [b"<html>hello</html>", b'{"other": 1}', b"data: oops\n\n", b"[[]]", b'{"say": a}']
)
def test_what_is_no_answer_is_quoted(data: bytes) -> None:
    """Garbage, and JSON of another shape: the failure shows how it begins."""
    failure = failure_of(answer(), data)
    assert failure.cause == "bad_response"
    assert data.decode()[:8] in failure.message
    assert "base URL" in failure.message


@pytest.mark.parametrize("data", [b"", b" \r\n", b"\xef\xbb\xbf"])
def test_an_answer_without_a_byte_is_told_as_empty(data: bytes) -> None:
    """It was not cut off; but what stands before a server says as much while that starts."""
    failure = failure_of(answer(), data)
    assert failure.message == (
        "example.org: the answer is empty; check that the base URL is that of an API"
    )
    assert (failure.cause, failure.retryable) == ("cut_stream", True)


@pytest.mark.parametrize("data", [b"it works", b"it works\n", b"hello: world\n\n", b"ok"])
def test_an_answer_of_plain_words_is_told_as_no_answer(data: bytes) -> None:
    """As a health check says them: what begins with a small letter could be a stream of events."""
    failure = failure_of(answer(), data)
    text = data.decode()
    assert f"got {text!r}… (no object, and no stream); check that the base URL" in failure.message
    assert (failure.cause, failure.retryable) == ("bad_response", False)


@pytest.mark.parametrize("data", [b"da", b"data", b'data: {"say"', b"event: ping", b": ping", b"{"])
def test_an_answer_that_ends_before_its_first_value_is_cut_off(data: bytes) -> None:
    """It began as one should."""
    failure = failure_of(answer(), data)
    assert failure.cause == "cut_stream"
    assert "base URL" not in failure.message


def test_what_breaks_an_empty_answer_off_is_told() -> None:
    """And not that it is empty."""
    made = answer()
    made.break_off(BROKEN)
    assert made.finish().failure() is BROKEN
