"""Sizes: which replies nobody reads in an event loop."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from detent import ChatMessage, ChatRole, ToolCall
from detent.core.run.effects import RunTool
from detent.core.run.events import HappenedInside, ModelFailed, ModelReplied
from detent.core.run.refs import CallRef
from detent.core.run.sizes import EACH, MANY, are_large, are_long, hides_much, is_large
from detent.core.state.state import State
from detent.core.tools.tool import Tool
from detent.models import ChatReply, ModelFailure

FEW, SOME, INNER = MANY // 5, MANY // 2 + 1, MANY // EACH // 4


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([], False),
        ([{}], False),
        ([{"role": ChatRole.USER}], False),
        ([{"text": "a" * 64 * FEW}], False),
        ([{"text": "a" * 64 * MANY + "a" * 64}], True),
        ([{"numbers": [*range(FEW)]}], False),
        ([{"numbers": [*range(MANY)]}], True),
        ([{"numbers": [*range(SOME)]}, {"numbers": [*range(SOME)]}], True),
        ([{"rows": [[] for _ in range(MANY)]}], True),
        ([{"rows": [{"a": (1, 2)} for _ in range(INNER)]}], False),
        ([{"rows": [{"a": MappingProxyType({"b": 1})} for _ in range(2 * INNER)]}], True),
        ([{"rows": [[[1, [2]]] for _ in range(2 * INNER)]}], True),
        ([{"rows": [{} for _ in range(INNER)]}] * 2, False),
        ([{"rows": [{} for _ in range(INNER)]}] * 4, True),
    ],
)
def test_calls_are_large_by_their_parts_and_texts(
    calls: list[dict[str, Any]], expected: object
) -> None:
    """However these are spread over calls and levels."""
    made = [ToolCall("take", arguments) for arguments in calls]
    reply = ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=made)))
    assert are_large(made) is expected
    assert is_large(reply) is expected
    assert is_large(HappenedInside(CallRef(1, 0), "agent", reply)) is expected


@pytest.mark.parametrize(("length", "expected"), [(FEW, False), (MANY + 1, True)])
def test_a_text_is_large_by_its_length(length: int, expected: object) -> None:
    """It may be an answer of the wanted type, which is read as its calls are."""
    message = ChatMessage.from_assistant("a" * 64 * length, reasoning="because", tool_calls=[])
    assert is_large(ModelReplied(1, 1, ChatReply(message))) is expected


def test_many_calls_are_large() -> None:
    """Whether anything stands in them or not."""
    assert not are_large([ToolCall("take")] * FEW)
    assert are_large([ToolCall("take")] * (MANY + 1))


def test_what_is_no_reply_is_not_large() -> None:
    """Whatever it is."""
    assert not is_large(None)
    assert not is_large(ModelFailed(1, 1, ModelFailure("bug", "a" * 64 * MANY)))


@pytest.mark.parametrize(
    ("secret", "value", "expected"),
    [
        ("1234", "paid", False),
        ("1234", 5, False),
        ("1234", "paid" * 16 * MANY, True),
        ("1234", {"paid": 5}, True),  # how much that is only shows as it is read
        (["1234"] * (MANY + 1), "paid", True),
    ],
)
def test_much_is_hidden_by_a_long_secret_or_in_a_long_result(
    secret: object, value: object, expected: object
) -> None:
    """And nothing where nothing is secret."""
    for pin, is_much in (({"writeOnly": True}, expected), ({}, False)):
        made = Tool("pay", "", {"type": "object", "properties": {"pin": pin}}, print)
        assert bool(made.masked) is bool(pin)
        effect = RunTool(CallRef(1, 0), 1, ToolCall("pay", {"pin": secret}), made, State({}))
        assert hides_much(effect, value) is is_much


@pytest.mark.parametrize(
    ("bodies", "is_it"),
    [
        ([], False),
        (["x" * MANY, {"a": "x" * MANY}], False),
        (["x" * 17 * MANY], True),
        (["x" * 9 * MANY] * 2, True),
        ([{"a": {"b": [*range(MANY)]}}], True),
        ([{"a": [[]] * (2 * INNER)}] * 2, True),
    ],
)
def test_what_is_stored_is_long_by_its_text_or_its_parts(bodies: Any, is_it: Any) -> None:
    """As a store has it."""
    assert are_long(bodies) is is_it
