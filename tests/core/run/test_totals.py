"""Totals of budgets are exact, and are stored as they are."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.core.codec.forms import MismatchError
from detent.core.run.totals import exact, total_from_json, total_to_json, with_change
from detent.core.values.frozen import FrozenDict

NO_RATIOS = ["1/0", "1/00", "-1/2", "1e9", "5", "1/" + "9" * 3000]
AMOUNTS = st.floats(min_value=0, max_value=1e300)


@given(spent=st.lists(AMOUNTS, max_size=5), refused=AMOUNTS)
def test_what_is_given_back_leaves_the_total_as_it_was(spent: list[float], refused: float) -> None:
    """However large it is beside what was spent."""
    totals = FrozenDict[str, Fraction]()
    for amount in spent:
        totals = with_change(totals, {}, {"amount": amount})

    waiting = with_change(totals, {}, {"amount": refused})

    assert with_change(waiting, {"amount": refused}, {}).get("amount", 0) == sum(map(exact, spent))


def test_ten_dimes_are_a_dollar() -> None:
    """An amount is what is written, and not what a float makes of it."""
    totals = FrozenDict[str, Fraction]()
    for _ in range(10):
        totals = with_change(totals, {}, {"amount": 0.1})

    assert totals == {"amount": 1}
    assert total_to_json(totals["amount"]) == 1.0


def test_a_run_that_says_too_little_of_itself_makes_no_room() -> None:
    """What is given back and was never spent leaves nothing, and not less."""
    assert with_change(FrozenDict(), {"amount": 5.0}, {}) == {"amount": 0}


@given(total=st.one_of(AMOUNTS.map(Fraction), st.fractions(min_value=0)))
def test_a_total_is_stored_as_it_is(total: Fraction) -> None:
    """As a number of JSON where that says all of it."""
    assert total_from_json(total_to_json(total)) == total


def test_a_total_may_be_more_than_any_float() -> None:
    """And is small where it is one."""
    assert total_to_json(Fraction(60)) == 60.0
    most = Fraction(10) ** 320
    assert total_from_json(total_to_json(most)) == most


@pytest.mark.parametrize(
    "data",
    ["1/0", "1/00", "-1/2", "1e9", "5", "1/" + "9" * 3000, float("nan"), float("inf"), None, True],
)
def test_what_is_no_total_is_refused(data: object) -> None:
    """Nothing of it is worked out."""
    with pytest.raises(MismatchError):
        total_from_json(data)
