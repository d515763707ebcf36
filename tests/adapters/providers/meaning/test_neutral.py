"""Options that every provider takes in one form."""

from __future__ import annotations

import json

import pytest

from detent.adapters.providers.meaning.neutral import (
    JsonSchema,
    decided_reason,
    encoded_body,
    named_tool,
    wanted_schema,
)
from detent.core.chat.replies import FinishReason
from detent.ports.chat import ChatGeneratorError

SCHEMA = {"type": "object"}


@pytest.mark.parametrize(
    ("response_format", "wanted"),
    [
        (None, None),
        ({"type": "text"}, None),
        (
            {"type": "json_schema", "json_schema": {"name": "city", "schema": SCHEMA}},
            JsonSchema("city", SCHEMA),
        ),
        (
            {
                "type": "json_schema",
                "json_schema": {"schema": SCHEMA, "description": "A city", "strict": True},
            },
            JsonSchema("answer", SCHEMA, "A city", strict=True),
        ),
    ],
)
def test_a_wanted_schema_is_read(response_format: object, wanted: JsonSchema | None) -> None:
    """Without a name it gets one: some providers demand it."""
    assert wanted_schema(response_format, "the API") == wanted


@pytest.mark.parametrize(
    "response_format", [{"type": "json_object"}, {"type": "json_schema"}, "json", SCHEMA]
)
def test_another_form_is_refused_with_the_right_one(response_format: object) -> None:
    """Rather than ignored: the answer would have any form."""
    with pytest.raises(ChatGeneratorError, match=r'the API takes no .*"json_schema": \{"schema"'):
        wanted_schema(response_format, "the API")


@pytest.mark.parametrize(
    ("choice", "name"),
    [
        ("add", "add"),
        ({"type": "function", "function": {"name": "add"}}, "add"),
        ({"type": "function", "name": "add"}, "add"),
        ("auto", None),
        ("none", None),
        ("required", None),
        ({"type": "tool", "name": "add"}, None),
        (None, None),
    ],
)
def test_a_tool_is_chosen_by_its_name(choice: object, name: str | None) -> None:
    """Bare, or in the form of either of OpenAI's APIs."""
    assert named_tool(choice) == name


@pytest.mark.parametrize(
    ("reason", "calls", "decided"),
    [
        ("stop", False, "stop"),
        ("stop", True, "tool_calls"),
        ("other", True, "tool_calls"),
        ("tool_calls", False, "other"),
        ("length", True, "length"),
        ("content_filter", True, "content_filter"),
        ("refusal", True, "refusal"),
    ],
)
def test_a_reason_is_decided_on_what_came(
    reason: FinishReason, decided: FinishReason, *, calls: bool
) -> None:
    """Unless the model was broken off."""
    assert decided_reason(reason, calls=calls) == decided


def test_what_is_empty_is_not_sent() -> None:
    """Nothing, false and no text at all are values."""
    body: dict[str, object] = {
        "a": None,
        "b": [],
        "c": {},
        "d": 0,
        "e": False,
        "f": "",
        "g": [None],
    }
    assert json.loads(encoded_body(body, "the API")) == {"d": 0, "e": False, "f": "", "g": [None]}


def test_what_is_not_json_is_a_bad_request() -> None:
    """The message names the API."""
    with pytest.raises(ChatGeneratorError, match="the API takes no value that is not JSON"):
        encoded_body({"a": object()}, "the API")
