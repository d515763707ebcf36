"""The handlers that merge an update into what a key holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent import merge_lists, replace_values

LISTS = st.lists(st.integers())


def test_replacing_takes_the_update() -> None:
    """None too."""
    assert replace_values(1, 2) == 2
    assert replace_values(1, None) is None


@pytest.mark.parametrize(
    ("current", "update", "merged"),
    [
        ([1], [2, 3], [1, 2, 3]),
        ([1], (2, 3), [1, 2, 3]),
        (None, [1], [1]),
        ([1], None, [1]),
        ([1], 2, [1, 2]),
        ("a", "b", ["a", "b"]),
    ],
)
def test_lists_are_merged(current: Any, update: Any, merged: list[object]) -> None:
    """A list or tuple extends, None adds nothing, anything else is one item."""
    assert merge_lists(current, update) == merged


@given(LISTS, LISTS, LISTS)
def test_merging_lists_is_associative(a: list[int], b: list[int], c: list[int]) -> None:
    """And nothing is the empty list's share."""
    assert merge_lists(merge_lists(a, b), c) == merge_lists(a, [*b, *c])
    assert merge_lists(a, []) == merge_lists([], a) == a
