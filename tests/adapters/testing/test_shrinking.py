"""Shrinking finds what matters."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from detent.adapters.testing.shrinking import fewest


@given(st.sets(st.integers(0, 60), max_size=5))
def test_what_matters_is_left(wanted: set[int]) -> None:
    """All of what makes it fail, in order, and nothing else."""
    assert fewest(range(61), lambda items: wanted <= set(items)) == tuple(sorted(wanted))


def test_no_single_item_can_be_left_out() -> None:
    """Also where what matters is not the same in every part."""

    def fails(items: Sequence[int]) -> bool:
        return sum(items) >= 10

    left = fewest([1, 2, 3, 4, 5, 6], fails)

    assert fails(left)
    assert not any(fails(left[:at] + left[at + 1 :]) for at in range(len(left)))
