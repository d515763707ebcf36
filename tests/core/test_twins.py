"""What is filled by way of a twin is what its class makes, and as frozen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import pytest

from detent import ChatMessage, ChatReply, ToolCall, ToolResult, create_tool_from_function
from detent.core.effects import AskModel, RunTool, new_ask_model, new_run_tool
from detent.core.events import (
    ModelReplied,
    ToolReturned,
    ToolStarted,
    new_replied,
    new_returned,
    new_started,
)
from detent.core.frozen import FrozenDict
from detent.core.idempotency import IdempotencyKey
from detent.core.invocation import Invocation, begun
from detent.core.keys import Write, new_write
from detent.core.messages import ToolCallResult, new_result, told
from detent.core.replies import StreamingChunk, Usage, new_chunk, new_usage
from detent.core.results import new_result as new_tool_result
from detent.core.run import Acting, Run, RunOptions, Thinking, evolve, new_acting
from detent.core.slots import READY, CallRef, Running, Slot, new_running, new_slot
from detent.core.state import State


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


RUN = Run("r", State({}), turn=3, misfits=1)
REF = CallRef(2, 1)
CALL = ToolCall("add", {"a": 1}, id="c")
REPLY = ChatReply(ChatMessage.from_assistant(tool_calls=[CALL]))
TOLD = ToolCallResult("text", CALL)
SLOT = Slot(REF, CALL, READY, "note")
SAID = (ChatMessage.from_user("go"),)
TOOL = create_tool_from_function(add)
KEY = IdempotencyKey("r/2/1")

MADE: list[tuple[Callable[..., object], Callable[..., object], tuple[object, ...]]] = [
    (new_acting, Acting, (REPLY, (SLOT,))),
    (new_running, Running, (2, 0.5)),
    (new_slot, Slot, (REF, CALL, READY, "note")),
    (new_result, ToolCallResult, ("text", CALL)),
    (told, lambda result: ChatMessage.from_tool(result.text, result.origin), (TOLD,)),
    (new_ask_model, AskModel, (2, 3, SAID, (TOOL.spec,), FrozenDict(seed=1))),
    (new_run_tool, RunTool, (REF, 2, CALL, TOOL, State({}), KEY)),
    (new_replied, ModelReplied, (2, 3, REPLY, 0.5)),
    (new_started, ToolStarted, (REF, 2, 0.5)),
    (new_returned, ToolReturned, (REF, 2, ToolResult("text"))),
    (partial(new_chunk, start=True), partial(StreamingChunk, start=True), ("text", "thought")),
    (new_tool_result, ToolResult, ("text", (), ("warning",))),
    (new_write, Write, ("items", [1, 2], None)),
    (new_usage, Usage, (4, 3, 2, 1)),
    (begun, Invocation, (TOOL, CALL, State({}), KEY)),
    (lambda run: evolve(run, turn=4), lambda run: attrs.evolve(run, turn=4), (RUN,)),
]


@pytest.mark.parametrize(("make", "kind", "given"), MADE, ids=[str(n) for n in range(len(MADE))])
def test_what_is_made_is_what_the_class_makes(
    make: Callable[..., object], kind: Callable[..., object], given: tuple[object, ...]
) -> None:
    """It has every field, is of the very class, and cannot be changed."""
    made: Any = make(*given)
    expected: Any = kind(*given)

    assert made == expected
    assert type(made) is type(expected)
    assert repr(made) == repr(expected)
    for field in attrs.fields(type(expected)):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(made, field.name, None)
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            delattr(made, field.name)
    assert not hasattr(made, "__dict__")


CHANGES: dict[str, object] = {
    "id": "s",
    "state": State({"n": {"type": int}}),
    "phase": Thinking(2),
    "turn": 4,
    "usage": Usage(1, 2),
    "tool_call_counts": FrozenDict(add=1),
    "options": RunOptions(("add",)),
    "misfits": 2,
    "cost": 0.5,
    "exhausted": "max_tokens",
    "deadline": 9.5,
    "decisions": (1,),
    "grants": (2,),
    "given_up": 3,
}


@pytest.mark.parametrize("name", [field.name for field in attrs.fields(Run)])
def test_a_run_is_evolved_as_attrs_does_it(name: str) -> None:
    """In each of its fields, and the one before stays as it is."""
    given: Any = {name: CHANGES[name]}
    before = attrs.evolve(RUN)

    evolved = evolve(RUN, **given)
    assert getattr(evolved, name) == CHANGES[name] != getattr(RUN, name)
    assert evolved == attrs.evolve(RUN, **given)
    assert before == RUN


def test_a_run_has_only_fields_that_can_be_copied() -> None:
    """No converter would run, and no field is made of others."""
    assert all(field.converter is None and field.init for field in attrs.fields(Run))
