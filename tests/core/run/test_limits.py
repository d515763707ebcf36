"""Limits: what is spent, and until when."""

from __future__ import annotations

from typing import Any

import pytest

from detent import Limits
from detent.models import Usage


@pytest.mark.parametrize(
    ("turn", "tokens", "cost", "limit"),
    [
        (1, 99, 1.9, None),
        (2, 99, 1.9, "max_agent_steps"),
        (1, 100, 1.9, "max_tokens"),
        (1, 99, 2.0, "max_cost"),
        (2, 100, 2.0, "max_agent_steps"),
    ],
)
def test_a_limit_is_reached_by_what_is_spent(
    turn: int, tokens: int, cost: float, limit: str | None
) -> None:
    """The first of those that are reached is named."""
    limits = Limits(2, max_tokens=100, max_cost=2.0, price=lambda reply: 0.0)
    assert limits.spent(turn, Usage(tokens - 9, 9), cost) == limit
    assert Limits().spent(99, Usage(10**9), 10**9) is None


def test_the_time_counts_from_where_it_is_known() -> None:
    """Without a clock, or without a limit, there is no end."""
    assert Limits(max_seconds=60).deadline(100) == 160
    assert Limits(max_seconds=60).deadline(None) is None
    assert Limits().deadline(100) is None


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"max_cost": 1.0}, "needs to know what a reply costs"),
        ({"max_tokens": -1}, "a whole number, 0 or more, or None, got -1"),
        ({"max_seconds": -1}, "a number, 0 or more, or None, got -1"),
        ({"parallel_tool_calls": 0}, "a whole number, 1 or more, got 0"),
    ],
)
def test_limits_that_are_none_are_refused(wrong: dict[str, Any], text: str) -> None:
    """When they are written, not when they are reached."""
    with pytest.raises(ValueError, match=text):
        Limits(**wrong)
