"""Values are shown short enough to be read."""

from __future__ import annotations

import pytest

from detent.core.values.copies import protect
from detent.core.values.frozen import FrozenDict, FrozenSet, freeze
from detent.core.values.shared_list import SharedList
from detent.core.values.short_repr import short_repr


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("short", "'short'"),
        (SharedList([1, 2, 3, 4]), "[1, 2, 3, 4]"),
        (SharedList(range(12_345)), "[0, 1, 2, 3, … 12,341 more]"),
        (freeze([[1]] * 6), "[[1], [1], [1], [1], … 2 more]"),
        (FrozenDict({"a": 1}), "{'a': 1}"),
        (FrozenSet({1}), "{1}"),
        (dict.fromkeys("abcdef", 0), "{'a': 0, 'b': 0, 'c': 0, 'd': 0, ...}"),
        (protect([bytearray(b"x")]), "[bytearray(b'x')]"),
        ([], "[]"),
        (-7, "-7"),
    ],
)
def test_a_value_is_shown_as_its_repr_with_the_rest_left_out(value: object, expected: str) -> None:
    """Long lists say how much is left out."""
    assert short_repr(value) == expected


@pytest.mark.parametrize(
    "value", ["x" * 10_000, SharedList(["x" * 10_000] * 100), {"a": ["y" * 500] * 9}]
)
def test_nothing_is_shown_at_length(value: object) -> None:
    """Whatever it is."""
    assert len(short_repr(value)) < 500


def test_a_number_that_python_does_not_write_down_is_described() -> None:
    """An error about it is to be raised, and not one about its digits."""
    assert short_repr([10**5000]) == "[a number of 16,610 bits]"


def test_what_is_nested_deep_is_not_shown() -> None:
    """A few levels say enough."""
    value: list[object] = []
    for _ in range(20):
        value = [value]
    assert short_repr(value) == "[[[[[[[…]]]]]]]"
