"""Function calls that come argument by argument."""

from __future__ import annotations

from typing import Any

import pytest

from detent.adapters.providers.gemini.calls import Call, steps_of, whole, with_value

PATHS: list[tuple[str, list[str | int]]] = [
    ("$", []),
    ("$.city", ["city"]),
    ("$.sites[0].name", ["sites", 0, "name"]),
    ("$['a.b'][2][\"c\"]", ["a.b", 2, "c"]),
]


@pytest.mark.parametrize(("path", "steps"), PATHS)
def test_a_path_has_steps(path: str, steps: list[str | int]) -> None:
    """In both of its spellings."""
    assert steps_of(path) == steps


@pytest.mark.parametrize(
    ("node", "steps", "value", "made"),
    [
        ({}, ["a"], 1, {"a": 1}),
        ({"a": 1}, ["b", "c"], True, {"a": 1, "b": {"c": True}}),
        ({"a": "Bos"}, ["a"], "ton", {"a": "Boston"}),
        ({"a": "x"}, ["a"], None, {"a": None}),
        ({}, ["a", 0], "x", {"a": ["x"]}),
        ({"a": ["x"]}, ["a", 1], "y", {"a": ["x", "y"]}),
        ({"a": ["x"]}, ["a", 0], "y", {"a": ["xy"]}),
        ({"a": []}, ["a", 10**9], "x", {"a": ["x"]}),
    ],
)
def test_a_value_finds_its_place(
    node: dict[str, Any], steps: list[str | int], value: object, made: dict[str, Any]
) -> None:
    """A text goes on; a place far beyond the end is the end."""
    assert whole(with_value(node, steps, value)) == made


def test_a_call_that_has_not_ended_is_never_run() -> None:
    """Its arguments may be a part of those that were meant."""
    call = Call(0, "add", {})
    call.take({"name": "add", "willContinue": True})
    call.take({"partialArgs": [{"jsonPath": "$.a", "numberValue": 4}], "willContinue": True})
    assert (call.reply_part().arguments, call.reply_part().unreadable) == ({}, '{"a": 4}')
    call.take({})
    assert (call.reply_part().arguments, call.reply_part().unreadable) == ({"a": 4}, None)


def test_a_piece_without_a_place_is_passed_over() -> None:
    """It says nothing."""
    call = Call(0, "add", {})
    call.take({"name": "add", "partialArgs": [{"numberValue": 1}]})
    assert call.reply_part().arguments == {}
