"""JSON values out of an answer of Converse, whole or streamed."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from detent.adapters.providers.bedrock.payloads import ConversePayloads
from tests.adapters.providers.bedrock.messages import message, stream


def values_of(data: bytes, size: int) -> tuple[list[Mapping[str, object]], bool]:
    """The values of an answer fed in pieces of `size` bytes, and whether it came to its end."""
    payloads = ConversePayloads()
    fed = [one for at in range(0, len(data), size) for one in payloads.feed(data[at : at + size])]
    return [*fed, *payloads.close()], payloads.ended


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_each_event_comes_out_under_its_name(size: int) -> None:
    """A message that the end cuts in two is dropped."""
    data = stream(
        {"messageStart": {"role": "assistant"}}, {"messageStop": {"stopReason": "end_turn"}}
    )
    values = [{"messageStart": {"role": "assistant"}}, {"messageStop": {"stopReason": "end_turn"}}]
    assert values_of(data, size) == (values, False)
    assert values_of(data[:-1], size) == (values[:1], False)


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_whole_body_is_one_value(size: int) -> None:
    """It says of itself that it is none of the other kind."""
    body = {"output": {}, "stopReason": "end_turn"}
    assert values_of(json.dumps(body).encode(), size) == ([body], True)


def test_an_answer_without_bytes_has_no_values() -> None:
    """And has not ended."""
    assert values_of(b"", 1) == ([], False)


@pytest.mark.parametrize(
    ("headers", "said", "error"),
    [
        (
            {":message-type": "exception", ":exception-type": "throttlingException"},
            {"message": "slower"},
            {"type": "throttlingException", "code": 429, "message": "slower"},
        ),
        (
            {":message-type": "exception", ":exception-type": "newException"},
            {},
            {"type": "newException", "code": None, "message": "newException"},
        ),
        (
            {":message-type": "error", ":error-code": "Internal", ":error-message": "broke"},
            None,
            {"type": "Internal", "code": None, "message": "broke"},
        ),
    ],
)
def test_exceptions_and_errors_come_out_as_errors(
    headers: dict[str, str], said: object, error: dict[str, object]
) -> None:
    """With the status that each would have as an answer of its own."""
    assert values_of(message(headers, said), 7) == ([{"error": error}], False)


def test_an_event_that_is_not_json_is_refused() -> None:
    """As a whole body is."""
    data = message({":event-type": "metadata"}, None, payload=b"oops")
    with pytest.raises(ValueError, match="Expecting value"):
        values_of(data, 1000)
