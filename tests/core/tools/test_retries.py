"""How often a tool is tried again, and when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.core.chat.replies import ModelFailure
from detent.core.tools.retries import Retries, retries_of


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
    with pytest.raises(ValueError, match="number, 0 or more, got -1"):
        Retries(**wrong)  # type: ignore[arg-type]  # the mistake


def busy(retry_after_s: float | None = None) -> ModelFailure:
    return ModelFailure("rate_limit", "slow down", retryable=True, retry_after_s=retry_after_s)


def test_a_model_is_left_alone_for_as_long_as_it_asks() -> None:
    """And then for the usual pause, so that not all come back in the same moment."""
    retries = Retries(3, backoff_s=2)
    assert [retries.model_pause_s(busy(), attempt, 0) for attempt in (1, 2, 3)] == [2, 4, 8]
    assert [retries.model_pause_s(busy(20), 1, chance) for chance in (0, 1)] == [22, 21]


@pytest.mark.parametrize(
    ("failure", "attempt"),
    [(ModelFailure("authentication", "no key"), 1), (busy(), 3), (busy(60.1), 1)],
    ids=["would fail again", "tried often enough", "asks for too long a pause"],
)
def test_a_model_is_not_asked_again_for_ever(failure: ModelFailure, attempt: int) -> None:
    """There is no pause then."""
    assert Retries(2).model_pause_s(failure, attempt, 0) is None
