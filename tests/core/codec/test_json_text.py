"""JSON text: the same values as by the standard library, and nothing that others read otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.core.codec.json_text import NotPlainError, encoded, plain_text
from detent.core.values.frozen import freeze

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(PLAIN)
def test_it_is_the_text_that_everybody_writes(value: Any) -> None:
    """Of frozen values as well."""
    assert plain_text(value) == plain_text(freeze(value)) == encoded(value)
    assert json.loads(plain_text(value)) == value


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
    with pytest.raises(NotPlainError):
        plain_text(value)
