"""Replies: the counting of tokens, and failures as values."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent import ChatMessage
from detent.models import ChatReply, ModelFailure, Usage

TOKENS = st.integers(0, 10**6)


@given(st.lists(st.builds(Usage, TOKENS, TOKENS, TOKENS, TOKENS)))
def test_usage_adds_up_field_by_field(spent: list[Usage]) -> None:
    """The sum of many is the sum of each kind of token."""
    total = reduce(add, spent, Usage())

    assert total.input_tokens == sum(one.input_tokens for one in spent)
    assert total.output_tokens == sum(one.output_tokens for one in spent)
    assert total.cached_tokens == sum(one.cached_tokens for one in spent)
    assert total.reasoning_tokens == sum(one.reasoning_tokens for one in spent)


def test_cached_and_reasoning_tokens_are_not_counted_twice() -> None:
    """They are part of what was read and written."""
    assert Usage(10, 5, cached_tokens=8, reasoning_tokens=3).total_tokens == 15


def test_equal_failures_are_one_key() -> None:
    """A failure is a value: it can be compared, hashed and stored."""
    assert {ModelFailure("timeout", "too slow"): 1}[ModelFailure("timeout", "too slow")] == 1


def test_a_reply_keeps_the_providers_data_unchangeable() -> None:
    """What the caller later does to its own dict does not reach the reply."""
    extra: dict[str, object] = {"id": "r1"}
    reply = ChatReply(ChatMessage.from_assistant("hi"), extra=extra)

    extra["id"] = "r2"

    assert reply.extra == {"id": "r1"}


@pytest.mark.parametrize(
    ("cause", "text"),
    [("overload", "'overload'; did you mean 'overloaded'?"), ("", "''"), (429, "429")],
)
def test_a_failure_has_one_of_the_causes(cause: Any, text: str) -> None:
    """What is worth another try hangs on it."""
    with pytest.raises(
        ValueError, match="'cause' of ModelFailure is one of 'authentication'"
    ) as no:
        ModelFailure(cause, "away")
    assert str(no.value).endswith(f"got {text}")
