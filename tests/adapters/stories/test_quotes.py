"""Quotes: a call of the run stays as it is, and what only looks like one does not."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from detent.adapters.stories.quotes import without_quotes

SECRETS = {"pin": ("hush-hush",)}


def call_of(to: str) -> dict[str, Any]:
    return {"$type": "ToolCall", "tool_name": "pay", "role": to, "arguments": {"to": to}}


def around(path: str, inner: object) -> object:
    """Data in which something stands under these names, each an object in a list."""
    return reduce(lambda part, name: {name: [part]}, reversed(path.split()), inner)


def in_state(path: str, inner: object) -> object:
    """A run's first entry with something at a path in its state."""
    return {"run": {"state": {"version": 1, "data": around(path, inner)}}}


@pytest.mark.parametrize("path", ["log", "log messages", "log state data messages", "arguments"])
def test_what_looks_like_a_call_in_a_state_is_cleaned_as_any_other_text(path: str) -> None:
    """Anything may be called there as ours is."""
    found = without_quotes(in_state(path, call_of("hush-hush")), SECRETS)
    assert found == in_state(path, call_of("<pin>"))


@pytest.mark.parametrize(
    "path", ["result writes", "message meta", "extra", "output", "revealed", "outcome answer"]
)
def test_so_is_what_others_add(path: str) -> None:
    """To a message, to a state, as an answer; or what people have seen of a state."""
    found = without_quotes(around(path, call_of("hush-hush")), SECRETS)
    assert found == around(path, call_of("<pin>"))


def test_a_call_of_the_run_stays_as_it_was_made() -> None:
    """Wherever it stands: it is what was approved, and what ran."""
    call = call_of("hush-hush")
    for data in (
        in_state("messages content", call),
        around("reply message content", call),
        around("event reply message content", call),
        around("decisions call", call),
    ):
        assert without_quotes(data, SECRETS) == data
