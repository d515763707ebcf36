"""Sizes: which replies nobody reads in an event loop."""

from __future__ import annotations

from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest

from detent import ChatMessage, ChatRole, ToolCall, ToolCallResult
from detent.core.run.effects import RunTool
from detent.core.run.events import HappenedInside, ModelFailed, ModelReplied, ToolReturned
from detent.core.run.refs import CallRef
from detent.core.run.sizes import (
    EACH,
    FORMS,
    MANY,
    are_large,
    are_long,
    hide_much,
    hides_much,
    is_large,
    takes_long,
)
from detent.core.state.keys import Write
from detent.core.state.state import State, with_secret_keys
from detent.core.tools.result import ToolResult
from detent.core.tools.tool import Tool
from detent.core.values.frozen import freeze
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


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, False),
        ("paid", False),
        ("x" * 64 * MANY, True),
        (b"x" * 64 * MANY, True),
        ([{"id": 1}] * INNER, False),
        ([{"id": 1}] * MANY, True),
        ({"rows": ({"id": 1},) * MANY}, True),
        (freeze({"rows": [1] * MANY}), True),
        (object(), True),  # how much it holds only shows as it is read
        ([Decimal(1), None, object()], True),
    ],
)
def test_a_result_takes_long_by_its_parts_and_texts(value: object, *, expected: bool) -> None:
    """And so does a state that it is written to."""
    assert takes_long(value) is expected
    returned = ToolReturned(CallRef(1, 0), 1, ToolResult("told", (Write("rows", value),)))
    assert is_large(returned) is expected
    assert is_large(HappenedInside(CallRef(1, 0), "agent", returned)) is expected
    assert not is_large(ToolReturned(CallRef(1, 0), 1, ToolResult("x" * 64 * MANY)))


def test_what_holds_itself_takes_long() -> None:
    """Nobody looks for its end."""
    rows: list[object] = []
    rows.append(rows)
    assert takes_long(rows)


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
        (["1234"] * (MANY // FORMS + 1), "paid", True),
        (["1234"] * (MANY // FORMS // 2), "paid", False),
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


def test_what_is_written_to_a_secret_key_is_looked_for() -> None:
    """In whatever a tool gives whose call has no secret."""
    made = Tool("fetch", "", {"type": "object"}, print, outputs_to_state={"pin": {}})
    for names, expected in ((frozenset({"pin"}), True), (frozenset[str](), False)):
        state = with_secret_keys(State({"pin": {"type": str}}), names)
        effect = RunTool(CallRef(1, 0), 1, ToolCall("fetch", {}), made, state)
        assert hides_much(effect, {"pin": "1234"}) is expected
        assert not hides_much(effect, "1234")


@pytest.mark.parametrize(
    ("secrets", "text", "expected"),
    [
        (["1234"], "paid", False),
        (["1234"] * (MANY // FORMS // 2), "paid", False),
        (["1234"] * (MANY // FORMS + 1), "paid", True),
        (["1234"], "paid" * 16 * MANY, True),
    ],
)
def test_much_is_hidden_by_many_secrets_or_in_long_results(
    secrets: list[str], text: str, expected: object
) -> None:
    """Whether one call has them or many; nothing is where none is secret."""
    calls = [
        ToolCall("pay", {"pin": secrets, "to": 5}),
        *(ToolCall("pay", {"pin": one}) for one in secrets),
    ]
    one, *others = (ToolCallResult(text, call) for call in calls)
    for results in ([one], others):
        assert hide_much((result, ("pin",)) for result in results) is expected
        assert not hide_much((result, ()) for result in results)
    assert not hide_much([(None, ("pin",))] * MANY)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ([], False),
        (["a"], False),
        ([[*range(FEW)]], False),
        ([[*range(MANY)]], True),
        ([[{"a": n} for n in range(2 * MANY // EACH)]], True),
        ([[bytearray(1)] * (2 * MANY // EACH)], True),
        ([{"a": [*range(SOME)]}, {"a": [*range(SOME)]}], True),
    ],
)
def test_a_result_is_large_by_what_it_writes(written: list[Any], expected: object) -> None:
    """The state takes it in, and it is stored."""
    writes = tuple(Write("a", value) for value in written)
    event = ToolReturned(CallRef(1, 0), 1, ToolResult("done", writes))
    assert is_large(event) is expected
    assert is_large(HappenedInside(CallRef(1, 0), "agent", event)) is expected


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
def test_what_is_stored_is_long_by_its_text_or_its_parts(bodies: Any, is_it: bool) -> None:  # noqa: FBT001 - parametrised
    """As a store has it."""
    assert are_long(bodies) is is_it
