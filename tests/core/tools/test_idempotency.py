"""Idempotency: the key of a call, and who sees it."""

from __future__ import annotations

import pytest

from detent import Tool, ToolDefinitionError, create_tool_from_function
from detent.core.tools.idempotency import NEVER_RAN, IdempotencyKey


def test_a_key_names_one_call_of_one_run() -> None:
    """And nothing else, so that every attempt has the same."""
    assert IdempotencyKey("run/2/1") == "run/2/1"
    assert repr(NEVER_RAN) == "NEVER_RAN"


def test_no_model_sees_the_key() -> None:
    """It is no parameter of what the model calls."""

    def pay(amount: int, key: IdempotencyKey) -> str:
        return f"{amount} {key}"

    tool = create_tool_from_function(pay, on_unknown="rerun")

    assert "key" not in repr(tool.spec.parameters)
    assert tool.hidden == {"key"}


def test_a_declaration_that_means_nothing_is_refused() -> None:
    """There are three words, or a function."""
    with pytest.raises(ToolDefinitionError, match="on_unknown must be 'ask', 'rerun', 'fail' or"):
        Tool("pay", "", {"type": "object"}, print, on_unknown="retry")  # type: ignore[arg-type]  # wrong
