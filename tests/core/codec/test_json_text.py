"""Plain JSON: what every reader of JSON reads alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.core.codec.json_text import TAG, encode, is_finite, is_plain, read_json, rounding_faults
from detent.core.values.frozen import freeze

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT.filter(lambda name: name != TAG), inner),
    max_leaves=20,
)


@given(PLAIN)
def test_plain_values_are_written_as_they_are(value: Any) -> None:
    """Frozen values as well."""
    assert is_plain(value)
    assert is_plain(freeze(value))
    assert json.loads(encode(freeze(value))) == value


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


@pytest.mark.parametrize(
    "text", ["NaN", "[-Infinity]", '{"a": 1e999}', "-1e400", "[" * 100_000, ""]
)
def test_what_is_no_json_is_not_read(text: str) -> None:
    """Nor is a number beyond all floats, which Python would take for infinite."""
    with pytest.raises(ValueError, match=r"number|nested|Expecting"):
        read_json(text)


def test_json_from_outside_is_read_as_it_is() -> None:
    """From bytes as from a text."""
    assert read_json(b'{"a": [1.5, 1e308, -0.0, 10]}') == {"a": [1.5, 1e308, -0.0, 10]}
    assert read_json("null") is None


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_a_number_without_an_end_is_found_however_deep(number: float) -> None:
    """In objects and in lists; a whole number always has one."""
    assert not is_finite(number)
    assert not is_finite({"a": [1, ({"b": number},)]})
    assert is_finite({"a": [10**400, 1.5, "inf", None, ({},)]})


@pytest.mark.parametrize(
    ("sent", "shown", "count"),
    [
        ({"a": 2**53}, {"a": 2**53 + 1}, 1),
        ({"a": [2**53, 2**53]}, {"b": [2**53 + 1]}, 2),
        ({"a": None}, {"a": 10**400}, 1),
        ({"a": 2**53 + 1, "b": True, "c": "x"}, {"a": 2**53 + 1}, 0),
        ({"a": 2**53 + 4}, {"a": 2**53 + 1}, 0),
        ({"a": 5}, {"a": 6}, 0),
    ],
)
def test_a_number_that_may_be_a_rounded_one_is_told(
    sent: object, shown: object, count: int
) -> None:
    """Wherever it stands; what was not great, or is as it was, is not."""
    assert len(rounding_faults(sent, shown)) == count
