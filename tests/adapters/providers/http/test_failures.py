"""Every shape of error, and what it means."""

from __future__ import annotations

import json

import pytest

from detent.adapters.providers.http.failures import (
    failure_in_answer,
    failure_of_status,
    read_error,
    request_id,
    retry_after_s,
    shortened,
)

SHAPES: list[tuple[object, str, tuple[str, ...]]] = [
    (
        {"error": {"message": "no", "type": "t", "param": None, "code": None}},
        "no",
        ("t",),
    ),
    (
        {
            "type": "error",
            "error": {"type": "overloaded_error", "message": "no"},
            "request_id": None,
        },
        "no",
        ("overloaded_error",),
    ),
    (
        {"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}},
        "no",
        ("invalid_argument",),
    ),
    ({"message": "no"}, "no", ()),
    ({"message": "no", "type": "t", "code": "c"}, "no", ("c", "t", "c")),
    ({"id": "1", "message": "no"}, "no", ()),
    ({"detail": "no"}, "no", ()),
    (
        {"object": "error", "message": "no", "type": "t", "code": "3051"},
        "no",
        ("3051", "t", "3051"),
    ),
    ({"error": "no"}, "no", ()),
    ({"error": "no", "code": "Some Code"}, "no", ("some code", "some code")),
    ({"code": 400, "message": "no", "type": "t"}, "no", ("t",)),
    ([{"error": {"message": "no"}}], "no", ()),
    (
        {"message": {"detail": [{"msg": "Field required"}]}},
        '{"detail": [{"msg": "Field required"}]}',
        (),
    ),
    ({"error": {"message": "no", "metadata": {"raw": "upstream"}}}, "no: upstream", ()),
    ({"error": {"message": "no", "metadata": None}}, "no", ()),
    ({"error": {}}, "", ()),
    ({"error_type": "TOO_MANY_TOKENS", "message": "no"}, "no", ("too_many_tokens",)),
    ([], "", ()),
    ("just text", "just text", ()),
    (None, "", ()),
]


@pytest.mark.parametrize(("body", "message", "codes"), SHAPES)
def test_every_shape_of_error_body_is_read(
    body: object, message: str, codes: tuple[str, ...]
) -> None:
    """OpenAI, Anthropic, Gemini, Bedrock, Cohere, Mistral, Ollama, xAI, OpenRouter and the rest."""
    error = read_error(body)
    assert (error.message, error.codes) == (message, codes)


STATUSES: list[tuple[int, object, str, bool]] = [
    (400, {"error": {"message": "no"}}, "bad_request", False),
    (400, {"error": {"code": "context_length_exceeded"}}, "context_length", False),
    (400, {"error": {"message": "the maximum context length is 5"}}, "context_length", False),
    (400, {"error": {"type": "exceed_context_size_error"}}, "context_length", False),
    (400, {"error_type": "TOO_MANY_TOKENS", "message": "no"}, "context_length", False),
    (400, {"message": "Input Tokens Exceeded: Number of input"}, "context_length", False),
    (400, {"message": "longer than the maximum model length of 4096"}, "context_length", False),
    (400, {"error": "This model's maximum prompt length is 131072"}, "context_length", False),
    (400, {"message": "Too many input tokens. Max input tokens: 9"}, "context_length", False),
    (400, {"message": "too many tokens: size limit exceeded by 9"}, "context_length", False),
    (429, {"message": "Too many tokens, please wait before trying again."}, "rate_limit", True),
    (400, {"error": {"message": "Your credit balance is too low"}}, "rate_limit", False),
    (400, {"message": "The provided model identifier is invalid."}, "not_found", False),
    (400, {"error": {"code": "content_filter"}}, "content_filter", False),
    (400, {"error": {"code": "tool_use_failed", "failed_generation": "x"}}, "bad_response", True),
    (400, {"code": "c", "error": "Incorrect API key provided: s***t"}, "authentication", False),
    (400, {"object": "error", "type": "invalid_model", "message": "no"}, "not_found", False),
    (401, {"detail": "no"}, "authentication", False),
    (402, {"error": {"message": "Insufficient credits"}}, "rate_limit", False),
    (403, {"message": "no"}, "authentication", False),
    (404, {"error": {"message": "no"}}, "not_found", False),
    (408, None, "timeout", True),
    (409, None, "overloaded", True),
    (413, {"error": {"message": "too large"}}, "bad_request", False),
    (422, {"message": {"detail": []}}, "bad_request", False),
    (424, {"message": "no"}, "server", True),
    (429, {"error": {"code": "rate_limit_exceeded"}}, "rate_limit", True),
    (429, {"error": {"type": "insufficient_quota"}}, "rate_limit", False),
    (429, {"error": {"message": "Monthly spend limit reached."}}, "rate_limit", False),
    (498, {"error": {"code": "flex_tier_capacity_exceeded"}}, "overloaded", True),
    (500, {"error": {"type": "server_error"}}, "server", True),
    (500, {"error": {"message": "tools param requires --jinja flag"}}, "bad_request", False),
    (501, None, "server", False),
    (502, None, "server", True),
    (503, {"error": {"type": "server_error"}}, "overloaded", True),
    (504, None, "timeout", True),
    (520, None, "server", True),
    (529, {"error": {"type": "overloaded_error"}}, "overloaded", True),
    (302, None, "bad_request", False),
]


@pytest.mark.parametrize(("status", "body", "cause", "retryable"), STATUSES)
def test_status_and_body_together_give_the_cause(
    status: int, body: object, cause: str, *, retryable: bool
) -> None:
    """The body's own codes say more than the status where they are known."""
    failure = failure_of_status(status, {}, json.dumps(body).encode())
    assert (failure.cause, failure.retryable, failure.status) == (cause, retryable, status)


def test_the_name_of_an_error_of_aws_is_in_a_header() -> None:
    """Where it comes from stands behind it."""
    headers = {"x-amzn-errortype": "ServiceQuotaExceededException:http://internal/coral/"}
    failure = failure_of_status(400, headers, b'{"message": "no"}')
    assert (failure.cause, failure.retryable) == ("rate_limit", False)


@pytest.mark.parametrize(
    ("body", "cause", "retryable", "status"),
    [
        ({"error": {"type": "server_error", "message": "no"}}, "server", True, None),
        ({"error": {"code": "rate_limit_exceeded", "message": "no"}}, "rate_limit", True, None),
        ({"error": {"type": "overloaded_error", "message": "no"}}, "overloaded", True, None),
        ({"error": {"type": "invalid_request_error", "message": "no"}}, "bad_request", False, None),
        ({"error": {"code": "invalid_prompt", "message": "no"}}, "bad_request", False, None),
        ({"error": {"code": 502, "message": "no"}}, "server", True, 502),
        ({"error": {"code": "401", "message": "no"}}, "authentication", False, 401),
        ({"error": {"code": "tool_use_failed", "status_code": 400}}, "bad_response", True, 400),
        ({"object": "error", "code": "3051", "raw_status_code": 400}, "bad_request", False, 400),
        ({"error": "no"}, "server", True, None),
    ],
)
def test_an_error_under_status_200_is_read_from_its_body(
    body: object, cause: str, status: int | None, *, retryable: bool
) -> None:
    """In the middle of a stream there is no other word about what went wrong."""
    failure = failure_in_answer(body)
    assert (failure.cause, failure.retryable, failure.status) == (cause, retryable, status)


@pytest.mark.parametrize("body", [b"<html>Bad Gateway</html>", b"\xff\xfe", b"", b"[" * 100_000])
def test_a_body_that_is_not_json_is_quoted(body: bytes) -> None:
    """Gateways answer in HTML, or with nothing."""
    failure = failure_of_status(502, {"content-type": "application/json"}, body)
    assert failure.cause == "server"
    assert failure.message.startswith("502 Bad Gateway: ")
    assert len(shortened(failure.message)) < 610


def test_the_message_says_what_to_do_next() -> None:
    """Where the remedy is known, the failure names it."""
    failure = failure_of_status(401, {}, b'{"error": {"message": "no key"}}')
    assert failure.message == "401 Unauthorized: no key (check the API key and what it may do)"


def test_where_no_key_was_sent_none_is_to_be_checked() -> None:
    """The remedy is to send one; no other failure has to do with it."""
    told = failure_of_status(401, {}, b'{"error": {"message": "no"}}', "no key was sent: …")
    assert told.message == "401 Unauthorized: no (no key was sent: …)"
    assert "key" not in failure_of_status(404, {}, b"", "no key was sent: …").message


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        (
            {
                "retry-after": "Wed, 21 Oct 2026 07:28:30 GMT",
                "date": "Wed, 21 Oct 2026 07:28:00 GMT",
            },
            30.0,
        ),
        (
            {
                "retry-after": "Wed, 21 Oct 2026 07:27:00 GMT",
                "date": "Wed, 21 Oct 2026 07:28:00 GMT",
            },
            0.0,
        ),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_the_time_to_wait_is_read_in_every_form(
    headers: dict[str, str], seconds: float | None
) -> None:
    """Seconds, milliseconds or a date, which is held against the date of the answer."""
    assert retry_after_s(headers) == seconds


@pytest.mark.parametrize(
    ("details", "headers", "seconds"),
    [
        ([{"reason": "x"}, {"retryDelay": "34.5s"}], {}, 34.5),
        ([{"retryDelay": "34s"}], {"retry-after": "7"}, 7.0),
        ([{"retryDelay": "soon"}], {}, None),
        ("none", {}, None),
        ([4], {}, None),
    ],
)
def test_google_says_in_the_body_how_long_to_wait(
    details: object, headers: dict[str, str], seconds: float | None
) -> None:
    """A header wins over it; in the middle of a stream there is none."""
    body = {"error": {"code": 429, "message": "no", "details": details}}
    failure = failure_of_status(429, headers, json.dumps(body).encode())
    assert failure.retry_after_s == seconds
    if not headers:
        assert failure_in_answer(body).retry_after_s == seconds


@pytest.mark.parametrize(("word", "retryable"), [("true", True), ("false", False), ("x", False)])
def test_the_provider_has_the_last_word_about_another_try(word: str, *, retryable: bool) -> None:
    """x-should-retry wins over what the status says."""
    assert failure_of_status(400, {"x-should-retry": word}, b"").retryable is retryable


def test_the_request_has_a_name_to_quote() -> None:
    """From the headers, or from the body."""
    assert request_id({"x-request-id": "r1"}) == "r1"
    assert request_id({"request-id": "r2"}) == "r2"
    assert failure_of_status(400, {}, b'{"request_id": "r3", "message": "no"}').request_id == "r3"
    assert failure_of_status(400, {}, b'{"request_id": 3}').request_id is None
