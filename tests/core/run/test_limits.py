"""Limits: what is spent, what it costs, and until when."""

from __future__ import annotations

from typing import Any

import pytest

from detent import ChatMessage, Limits, Price, Prices
from detent.core.run.limits import limits_of
from detent.models import ChatReply, Usage

PRICES = Prices(
    {
        "small": Price(input=1, output=2, cached=0.5),
        "small-pro": Price(input=10, output=20),
        "large": Price(input=100, output=0),
    }
)
USAGE = Usage(input_tokens=1_000_000, output_tokens=500_000, cached_tokens=400_000)


def reply(model: str) -> ChatReply:
    return ChatReply(ChatMessage.from_assistant("hi"), usage=USAGE, model=model)


@pytest.mark.parametrize(
    ("model", "cost"),
    [
        ("small-2026-01-01", 0.6 + 0.2 + 1),
        ("small-pro", 20),
        ("small-pro-2026", 20),
        ("large", 100),
        ("renamed", 100),
    ],
)
def test_a_reply_costs_what_the_price_list_says(model: str, cost: float) -> None:
    """The longest name that fits counts; an unknown model costs as much as the dearest."""
    assert PRICES(reply(model)) == pytest.approx(cost)


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
    limits = Limits(2, max_tokens=100, max_cost=2.0, price=PRICES)
    assert limits.spent(turn, Usage(tokens - 9, 9), cost) == limit
    assert Limits().spent(99, Usage(10**9), 10**9) is None


def test_the_time_counts_from_where_it_is_known() -> None:
    """Without a clock, or without a limit, there is no end."""
    assert Limits(max_seconds=60).deadline(100) == 160
    assert Limits(max_seconds=60).deadline(None) is None
    assert Limits().deadline(100) is None


def test_two_limits_have_short_names() -> None:
    """What is said by them counts, what is not said stays."""
    own = Limits(5, 2, max_tokens=7)
    assert limits_of(own, None, None) == own
    assert limits_of(own, 9, 3) == Limits(9, 3, max_tokens=7)
    assert limits_of(None, None, None) == Limits(100, 32)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"max_cost": 1.0}, "needs to know what a reply costs"),
        ({"max_tokens": -1}, "must be >= 0"),
        ({"max_seconds": -1}, "must be >= 0"),
        ({"parallel_tool_calls": 0}, "must be >= 1"),
    ],
)
def test_limits_that_are_none_are_refused(wrong: dict[str, Any], text: str) -> None:
    """When they are written, not when they are reached."""
    with pytest.raises(ValueError, match=text):
        Limits(**wrong)
