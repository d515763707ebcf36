"""What an error answer means: every shape of body and every status, read into a `ModelFailure`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import TypeAlias

from attrs import evolve, frozen

from detent.core.chat.replies import FailureCause, ModelFailure

Verdict: TypeAlias = tuple[FailureCause, bool]
"""The cause, and whether the same request may succeed later."""

EXCERPT_CHARACTERS = 500
END_CHARACTERS = 100
REQUEST_ID_HEADERS = ("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid")

# Codes and types that say more than the status: providers send an invalid key as 400, an empty
# account as 429 and a malformed tool call of the model as 400.
BY_CODE: Mapping[str, Verdict] = {
    "authentication_error": ("authentication", False),
    "invalid_api_key": ("authentication", False),
    "permission_denied": ("authentication", False),
    "permission_error": ("authentication", False),
    "billing_hard_limit_reached": ("rate_limit", False),
    "insufficient_quota": ("rate_limit", False),
    "servicequotaexceededexception": ("rate_limit", False),  # AWS
    "deploymentnotfound": ("not_found", False),
    "invalid_model": ("not_found", False),
    "model_not_found": ("not_found", False),
    "not_found_error": ("not_found", False),
    "context_length_exceeded": ("context_length", False),
    "exceed_context_size_error": ("context_length", False),
    "too_many_tokens": ("context_length", False),  # Cohere
    "content_filter": ("content_filter", False),
    "content_policy_violation": ("content_filter", False),
    "data_inspection_failed": ("content_filter", False),
    "responsibleaipolicyviolation": ("content_filter", False),
    "tool_use_failed": ("bad_response", True),
    "invalid_tool_generation": ("bad_response", True),  # Cohere
}
# Phrases of messages whose code is missing or says only "invalid request". None is worth a retry.
BY_PHRASE: tuple[tuple[str, FailureCause], ...] = (
    ("context length", "context_length"),
    ("context size", "context_length"),
    ("context window", "context_length"),
    ("maximum model length", "context_length"),  # vLLM
    ("maximum number of tokens", "context_length"),
    ("maximum prompt length", "context_length"),  # xAI
    ("exceed context limit", "context_length"),  # Anthropic: input and limit of output together
    ("input is too long", "context_length"),
    ("input tokens exceed", "context_length"),
    ("prompt is too long", "context_length"),
    ("too many input tokens", "context_length"),  # Bedrock, of Nova
    ("too many tokens:", "context_length"),  # Cohere; Bedrock's "too many tokens, wait" is a limit
    ("model identifier is invalid", "not_found"),  # Bedrock, under status 400
    ("incorrect api key", "authentication"),
    ("invalid api key", "authentication"),
    ("api key not valid", "authentication"),
    ("content management policy", "content_filter"),
    ("credit balance", "rate_limit"),  # Anthropic, under status 400
    ("spend limit", "rate_limit"),
    ("requires --jinja", "bad_request"),  # llama.cpp, under status 500
)
BY_STATUS: Mapping[int, Verdict] = {
    401: ("authentication", False),
    402: ("rate_limit", False),  # the credit is used up
    403: ("authentication", False),
    404: ("not_found", False),
    408: ("timeout", True),
    409: ("overloaded", True),  # a lock on the provider's side was not to be had
    424: ("server", True),  # Bedrock: the model broke off
    425: ("overloaded", True),
    429: ("rate_limit", True),
    498: ("overloaded", True),  # Groq: flex tier capacity exceeded
    501: ("server", False),
    503: ("overloaded", True),
    504: ("timeout", True),
    505: ("server", False),
    529: ("overloaded", True),  # Anthropic
}
# Codes that only repeat a status: for errors in the middle of a stream, which have none.
WITHOUT_STATUS: Mapping[str, Verdict] = {
    "invalid_prompt": ("bad_request", False),
    "invalid_request_error": ("bad_request", False),
    "overloaded": ("overloaded", True),
    "overloaded_error": ("overloaded", True),
    "rate_limit": ("rate_limit", True),
    "rate_limit_error": ("rate_limit", True),
    "rate_limit_exceeded": ("rate_limit", True),
    "timeout": ("timeout", True),
}
ADVICE: Mapping[FailureCause, str] = {
    "authentication": "check the API key and what it may do",
    "not_found": "check the model's name and the base URL",
    "context_length": "send fewer or shorter messages, or take a model that reads more",
    "content_filter": "the provider refuses this content; change it",
}


@frozen
class ErrorText:
    """What an error body says, whatever its shape. `status` and the wait are those named in it."""

    message: str
    codes: tuple[str, ...] = ()
    status: int | None = None
    request_id: str | None = None
    retry_after_s: float | None = None


def read_error(body: object) -> ErrorText:
    """The error in a decoded JSON body, of any shape that providers send.

    >>> read_error({"error": {"message": "Slow down", "code": "rate_limit_exceeded"}}).codes
    ('rate_limit_exceeded',)
    >>> read_error({"detail": "Invalid API Key"}).message
    'Invalid API Key'
    """
    if isinstance(body, list) and body:  # Gemini's OpenAI endpoint wraps it in a list
        body = body[0]
    outer = body if isinstance(body, Mapping) else {"message": body}
    error = outer.get("error")
    inner = error if isinstance(error, Mapping) else outer
    text = (error if inner is outer else None) or inner.get("message") or inner.get("detail")
    upstream = _mapping(inner.get("metadata")).get("raw")  # OpenRouter: of the one behind it
    parts = [
        part if isinstance(part, str) else json.dumps(part) for part in (text, upstream) if part
    ]
    names = ("code", "type", "status", "error_type")
    labels = (*map(inner.get, names), outer.get("code"))
    request_id = outer.get("request_id")
    return ErrorText(
        message=": ".join(parts),
        codes=tuple(label.lower() for label in labels if isinstance(label, str)),
        status=_status(inner),
        request_id=request_id if isinstance(request_id, str) else None,
        retry_after_s=_retry_delay_s(inner.get("details")),
    )


def failure_in_answer(body: object) -> ModelFailure:
    """The error that a provider sends under status 200, whole or in the middle of a stream."""
    error = read_error(body)
    cause, retryable = _verdict(error, error.status)
    text = f"the provider broke off with an error: {error.message or 'it does not say which'}"
    return ModelFailure(cause, text, retryable, error.retry_after_s, status=error.status)


def shortened(message: str) -> str:
    """A message of bearable length: its beginning, and its end, where the advice is.

    Secrets are taken out before: of one that is cut in two nobody finds the first half.
    """
    if len(message) <= EXCERPT_CHARACTERS + END_CHARACTERS:
        return message
    return f"{message[:EXCERPT_CHARACTERS]}…{message[-END_CHARACTERS:]}"


def unfinished(what: str, *, cut_off: bool) -> ModelFailure:
    """An answer that ended without a reply: it was `cut_off`, or never held a `what`."""
    if cut_off:
        text = "the answer was cut off before the model had finished"
        return ModelFailure("cut_stream", text, retryable=True)
    return ModelFailure("bad_response", f"the answer holds no {what}; check the base URL")


def failure_of_status(
    status: int, headers: Mapping[str, str], body: bytes, unsent_key: str = ""
) -> ModelFailure:
    """What an answer with an error status means.

    Args:
        status: the HTTP status.
        headers: the response headers, found by lower-case name.
        body: the response body, of any type: it is read by content, never by its declared type.
        unsent_key: why no key was sent; "" where one was.
    """
    error = _read_body(body)
    if kind := headers.get("x-amzn-errortype"):  # AWS: its name, then ":" and where it comes from
        error = evolve(error, codes=(*error.codes, kind.partition(":")[0].lower()))
    cause, retryable = _verdict(error, status)
    advice = f" ({ADVICE[cause]})" if cause in ADVICE else ""
    if cause == "authentication" and unsent_key:
        advice = f" ({unsent_key})"
    should_retry = headers.get("x-should-retry")
    wait_s = retry_after_s(headers)
    return ModelFailure(
        cause,
        f"{status} {_phrase(status)}: {error.message or 'the answer has no text'}{advice}",
        retryable=should_retry == "true" if should_retry in {"true", "false"} else retryable,
        retry_after_s=error.retry_after_s if wait_s is None else wait_s,
        status=status,
        request_id=request_id(headers) or error.request_id,
    )


def request_id(headers: Mapping[str, str]) -> str | None:
    """The provider's name for the request, to quote to its support."""
    return next((headers[name] for name in REQUEST_ID_HEADERS if headers.get(name)), None)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """How long the provider asks to wait, in seconds, in any of the forms that it may say so.

    A retry-after that is a date is held against the answer's own date, so no clock is needed.
    Source: RFC 9110, 10.2.3.
    """
    from email.utils import parsedate_to_datetime  # few answers have one

    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if value.replace(".", "", 1).isdecimal():
            return float(value) * unit_s
    try:
        then = parsedate_to_datetime(headers.get("retry-after", ""))
        wait = then - parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, TypeError):
        return None
    return max(0.0, wait.total_seconds())


def _read_body(body: bytes) -> ErrorText:
    try:
        return read_error(json.loads(body))
    except (ValueError, RecursionError):
        return ErrorText(body.decode(errors="replace").strip())


def _verdict(error: ErrorText, status: int | None) -> Verdict:
    for code in error.codes:
        if code in BY_CODE:
            return BY_CODE[code]
    message = error.message.lower()
    for phrase, cause in BY_PHRASE:
        if phrase in message:
            return cause, False
    if status is None:
        known = (WITHOUT_STATUS[code] for code in error.codes if code in WITHOUT_STATUS)
        return next(known, ("server", True))
    if status in BY_STATUS:
        return BY_STATUS[status]
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "server", True
    return "bad_request", False


def _status(error: Mapping[str, object]) -> int | None:
    for key in ("raw_status_code", "status_code", "code"):
        value = str(error.get(key))
        if len(value) == 3 and value.isdecimal() and value >= "400":  # noqa: PLR2004 - of a status
            return int(value)
    return None


def _retry_delay_s(details: object) -> float | None:
    """The wait that Google asks for, such as "34s".

    Source: https://cloud.google.com/apis/design/errors#error_info
    """
    for detail in details if isinstance(details, list) else ():
        delay = str(_mapping(detail).get("retryDelay")).removesuffix("s")
        if delay.replace(".", "", 1).isdecimal():
            return float(delay)
    return None


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "(no standard status)"


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
