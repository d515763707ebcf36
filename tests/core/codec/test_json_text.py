"""Plain JSON: what every reader of JSON reads alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.core.codec.json_text import encoded, is_plain
from detent.core.values.frozen import freeze

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=20,
)


@given(PLAIN)
def test_plain_values_are_written_as_they_are(value: Any) -> None:
    """Frozen values as well."""
    assert is_plain(value)
    assert is_plain(freeze(value))
    assert json.loads(encoded(freeze(value))) == value


@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), float("inf"), 2**63, -(2**63) - 1, "\ud800", (1,), {1}, b"x", len),
        *({"$type": "x"}, {1: 2}, {"a": [(1,)]}, {"\udfff": 1}, [[float("nan")]]),
    ],
    ids=repr,
)
def test_what_is_not_plain_is_told_apart(value: Any) -> None:
    """It has a form of its own."""
    assert not is_plain(value)
