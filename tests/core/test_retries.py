"""How often a tool is tried again, and when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.core.retries import Retries, retries_of


def test_the_pause_doubles_up_to_a_limit() -> None:
    """Without chance it is exact."""
    retries = Retries(5, backoff_s=2, backoff_max_s=9)
    assert [retries.pause_s(attempt, 0) for attempt in (1, 2, 3, 4)] == [2, 4, 8, 9]


@given(st.integers(1, 2000), st.floats(0, 1))
def test_chance_takes_off_up_to_half(attempt: int, chance: float) -> None:
    """So that calls that failed together do not come back together."""
    longest = Retries(9).pause_s(attempt, 0)
    assert longest / 2 <= Retries(9).pause_s(attempt, chance) <= longest <= 60


def test_a_number_is_a_number_of_attempts() -> None:
    """The usual case is short to write."""
    assert retries_of(3) == Retries(3)
    assert retries_of(Retries(3, backoff_s=0)) == Retries(3, backoff_s=0)


@pytest.mark.parametrize("wrong", [{"times": -1}, {"times": 1, "backoff_s": -1}])
def test_there_are_no_negative_numbers(wrong: dict[str, int]) -> None:
    """Of attempts or of seconds."""
    with pytest.raises(ValueError, match="must be >= 0"):
        Retries(**wrong)  # type: ignore[arg-type]  # the mistake
