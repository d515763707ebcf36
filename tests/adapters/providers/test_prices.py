"""Prices: what a reply costs by a list."""

from __future__ import annotations

import pytest

from detent import ChatMessage, Price, Prices
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
