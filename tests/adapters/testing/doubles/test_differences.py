"""The first difference is found, and shown where it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.adapters.testing.doubles.differences import first_difference

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("xy", max_size=2), inner),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("recorded", "asked", "at", "told"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b", "  recorded: 1\n  asked:    2"),
        ({"a": 1, "b": 1}, {"b": 2, "a": 1}, "b", "  recorded: 1\n  asked:    2"),
        ({"a": 1}, {"a": 1, "b": 2}, "b", "  recorded: nothing\n  asked:    2"),
        ({"a": [1, 2]}, {"a": [1]}, "a[1]", "  recorded: 2\n  asked:    nothing"),
        ([1], {"a": 1}, "", "  recorded: [1]\n  asked:    {'a': 1}"),
        (["x"], ["y"], "[0]", "  recorded: 'x'\n  asked:    'y'"),
        (None, "x", "", "  recorded: None\n  asked:    'x'"),
    ],
)
def test_a_difference_has_a_place(recorded: Any, asked: Any, at: str, told: str) -> None:
    """In lists, in objects, and where one is longer than the other."""
    assert first_difference(recorded, asked) == (at, told)


def test_long_texts_are_shown_where_they_part() -> None:
    """Not from their beginning."""
    _, told = first_difference("a" * 100 + "b" * 500, "a" * 100 + "c" * 5)
    assert told == f"  recorded: …'{'a' * 40}{'b' * 120}'\n  asked:    …'{'a' * 40}ccccc'"


@given(JSON, JSON)
def test_whatever_differs_has_a_place(one: Any, other: Any) -> None:
    """And there the two differ indeed."""
    if one != other:
        at, told = first_difference(one, other)
        lines = [line.split(":", 1)[1].strip() for line in told.splitlines()]
        assert lines[0] != lines[1], at
