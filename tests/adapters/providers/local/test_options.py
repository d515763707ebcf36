"""Which options the local model has."""

from __future__ import annotations

import pytest

from detent.adapters.providers.local.options import Options, read_options

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


def test_none_stands_for_the_default() -> None:
    """As it does for every other chat generator."""
    assert read_options({"temperature": None, "seed": 7}) == Options(temperature=0.0, seed=7)


def test_an_unknown_option_is_refused() -> None:
    """The message says which there are."""
    with pytest.raises(ValueError, match=r"no option max_token; it has temperature, max_tokens,"):
        read_options({"max_token": 5})


@pytest.mark.parametrize(
    ("wanted", "schema"),
    [
        (None, None),
        ({"type": "text"}, None),
        ({"type": "json_object"}, {"type": "object"}),
        ({"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}, SCHEMA),
    ],
)
def test_a_response_format_says_what_the_answer_is_held_to(wanted: object, schema: object) -> None:
    """In the words of OpenAI's API."""
    assert read_options({"response_format": wanted}).answer_schema == schema


@pytest.mark.parametrize(
    "wanted",
    [{"type": "xml"}, {"type": "json_schema"}, {"type": "json_schema", "schema": {}}, "json"],
)
def test_another_response_format_is_refused(wanted: object) -> None:
    """Rather than passed over."""
    with pytest.raises(ValueError, match="response_format must be"):
        read_options({"response_format": wanted})
