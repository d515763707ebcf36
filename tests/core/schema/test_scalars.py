"""What JSON has for dates, durations, bytes and the like."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.core.schema.scalars import SCALARS, duration, duration_text


@given(st.timedeltas())
def test_every_duration_comes_back_exactly(span: timedelta) -> None:
    """To the microsecond, also the longest one and those below nothing."""
    assert duration(duration_text(span)) == span


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("P1DT12H30M5S", timedelta(days=1, hours=12, minutes=30, seconds=5)),
        ("P2W", timedelta(weeks=2)),
        ("PT90M", timedelta(minutes=90)),
        ("-PT0.5S", timedelta(seconds=-0.5)),
        ("PT0.000001S", timedelta(microseconds=1)),
    ],
)
def test_a_duration_is_read_in_all_its_units(text: str, span: timedelta) -> None:
    """As ISO 8601 has them."""
    assert duration(text) == span


@pytest.mark.parametrize(
    "text",
    ["", "P", "PT", "P1Y", "P1M", "1D", "PT1", "P1DT", "PT1.5M", "PT0.0000001S", "P1D ", "PT٣S"],
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    """Years and months have no length that one could tell."""
    with pytest.raises(ValueError, match=r"is no duration as in P1DT12H30M5S"):
        duration(text)


@pytest.mark.parametrize("text", ["P1000000000D", f"PT{'9' * 5000}S"])
def test_what_is_longer_than_python_can_say_is_refused(text: str) -> None:
    """As a fault of the text: whoever reads a model's arguments knows no other."""
    with pytest.raises(ValueError, match=r"longer than a timedelta can be|integer string"):
        duration(text)


@pytest.mark.parametrize("kind", SCALARS)
def test_what_no_scalar_can_be_read_from_is_a_value_error(kind: type) -> None:
    """One kind of error for all of them."""
    with pytest.raises(ValueError, match=r"\w"):
        SCALARS[kind].read("?")
