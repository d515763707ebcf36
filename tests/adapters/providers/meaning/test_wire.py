"""Values as they are on the wire."""

from __future__ import annotations

from typing import Any

import pytest

from detent.adapters.providers.meaning.wire import (
    first_choice,
    first_count,
    json_text,
    read_arguments,
)
from detent.ports.chat import ChatGeneratorError


def test_json_is_written_without_spaces() -> None:
    """And what JSON has no form for is refused, in the name of the API."""
    assert json_text({"a": [1, None]}, "Chat") == '{"a":[1,null]}'
    for value in (float("nan"), object()):
        with pytest.raises(ChatGeneratorError, match="Chat takes no value that is not JSON"):
            json_text(value, "Chat")


@pytest.mark.parametrize("text", ["", " ", "null", "{}"])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    """However a model writes them."""
    assert read_arguments(text, cut=False) == {}


DEEP = '{"a": ' * 101 + "1" + "}" * 101


@pytest.mark.parametrize(
    "text",
    [
        *('{"a": ', "[1]", '"x"', "4", "NaN", '{"a": NaN}', '{"a": [1e999]}', "oops"),
        *("[" * 100_000, DEEP),
    ],
)
def test_arguments_that_are_no_json_object_are_none(text: str) -> None:
    """Nor do they exhaust the stack."""
    assert read_arguments(text, cut=False) is None


def test_where_an_answer_was_cut_no_text_may_be_a_beginning() -> None:
    """But a whole object is whole."""
    assert read_arguments("", cut=True) is None
    assert read_arguments('{"a": 1}', cut=True) == {"a": 1}


def test_the_first_count_above_zero_is_taken() -> None:
    """What is no number is none."""
    assert (first_count(None, 0, "7", 3.0), first_count()) == (3, 0)


@pytest.mark.parametrize(
    ("choices", "chosen"),
    [
        (None, None),
        ([], None),
        ([{"a": 1}], {"a": 1}),
        ([{"index": 1}, {"index": 0}], {"index": 0}),
        ([{"index": 1}], None),
    ],
)
def test_a_run_goes_on_with_the_first_of_several_answers(
    choices: list[dict[str, Any]] | None, chosen: dict[str, Any] | None
) -> None:
    """Their pieces may come in any order."""
    assert first_choice(choices) == chosen
