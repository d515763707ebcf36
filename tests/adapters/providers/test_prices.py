"""Prices: what a reply costs by a list."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

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


SEARCHING = Prices(
    {
        "free": Price(input=0, output=0),
        "m": Price(input=1, output=2, server_tools={"web_search": 0.01, "code_execution": 0}),
    }
)


@pytest.mark.parametrize(
    ("model", "uses", "cost"),
    [
        ("m", {"web_search": 3, "code_execution": 7}, 2.03),
        ("m", {"x_search": 2}, 2.02),
        ("m", None, 2.0),
        ("free", {"web_search": 3}, 0),
        ("renamed", {"web_search": 3}, 2.03),
    ],
)
def test_tools_of_the_provider_cost_by_the_use(
    model: str, uses: dict[str, int] | None, cost: float
) -> None:
    """One that is not in the list costs as much as the dearest that is, or nothing without any."""
    spent = Usage(input_tokens=1_000_000, output_tokens=500_000)
    told = {"server_tools": uses} if uses else {}
    answer = ChatReply(ChatMessage.from_assistant("hi"), usage=spent, model=model, extra=told)
    assert SEARCHING(answer) == pytest.approx(cost)


def test_a_price_of_a_tool_is_not_below_zero() -> None:
    """A limit would rise with each use."""
    with pytest.raises(ValueError, match="'web_search' costs is a number from 0 on"):
        Price(input=1, output=1, server_tools={"web_search": -1})


@pytest.mark.parametrize("wrong", ["1", None, True])
def test_a_price_is_a_number(wrong: Any) -> None:
    """A text, as a config file has it, is told with its name."""
    with pytest.raises(TypeError, match=r"^Price: input, the price of a million tokens, is a num"):
        Price(input=wrong, output=1)
    with pytest.raises(ValueError, match=r"number from 0 on, got nan$"):
        Price(input=1, output=1, cached=float("nan"))
    half: Any = Fraction(1, 2)
    assert Price(input=half, output=1, cached=None).input == half
