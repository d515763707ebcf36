"""What is said to have a text has one: a store in memory may ask for it long after."""

from __future__ import annotations

import json
from datetime import date
from fractions import Fraction
from typing import Any

import pytest
from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from detent import ChatMessage, State, TextContent, ToolCall
from detent.core.machine.delegation import ANSWER, PARAMETERS
from detent.core.run.events import Event, HappenedInside
from detent.core.run.run import Acting, AwaitingDecision, RunOptions, Slot
from detent.core.run.spec import Delegate
from detent.core.state.handlers import replace_values
from detent.core.state.state import lists_in, with_messages
from detent.core.storage.checkpoints import Known, begun, begun_text, checkpoint, checkpoint_text
from detent.core.storage.journal import event_from_json, event_text
from detent.core.storage.storable import is_plain_run, is_plain_start, is_storable
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentSpec,
    CallRef,
    CancelRequested,
    ModelReplied,
    Run,
    ToolResult,
    ToolReturned,
    ToolStarted,
    Write,
    start,
)
from detent.models import ChatReply, Usage

SPEC = AgentSpec(
    State(
        {
            "any": {"type": Any},
            "day": {"type": date},
            "numbers": {"type": list[int]},
            "sum": {"type": list[int], "handler": lambda old, new: [*(old or []), *new]},
            "days": {"type": list[date]},
        }
    )
)


class Odd(str):
    """A text that is not quite one."""

    __slots__ = ()


scalars: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
)
others: st.SearchStrategy[Any] = st.sampled_from([b"x", date(2026, 1, 1), 1.5, [1], {"$type": 1}])
anything = scalars | others | st.text(st.characters(categories=["Cs"]), max_size=2)
calls = st.builds(
    ToolCall,
    st.sampled_from(["a", Odd("a")]),
    st.dictionaries(st.text(max_size=3) | st.just(Odd("n")), anything, max_size=2),
    id=st.sampled_from(["1", None, 5]),
    extra=st.sampled_from([{}, {"signature": "x"}]),
    unreadable=st.sampled_from([None, "{"]),
)
parts = calls | st.builds(TextContent, st.sampled_from(["said", Odd("said")]))
replies = st.builds(
    ChatReply,
    st.builds(
        ChatMessage,
        st.just("assistant"),
        st.lists(parts, max_size=2),
        name=st.sampled_from([None, "n"]),
        meta=st.sampled_from([{}, {"a": b""}]),
    ),
    st.sampled_from(["stop", "tool_calls", "unheard"]),
    st.sampled_from([Usage(), Usage(1, 2, 3, 4), Usage(1.5)]),  # type: ignore[arg-type]  # a careless model
    st.sampled_from(["m", 3]),
)
writes = st.builds(
    Write,
    st.sampled_from(["any", "day", "numbers", "days", "none such"]),
    anything | st.just(Odd("x")) | st.lists(anything, max_size=3),
    st.sampled_from([None, replace_values, len]),
)
results = st.builds(
    ToolResult,
    st.sampled_from(["x", Odd("x"), (TextContent("x"),)]),
    st.lists(writes, max_size=2).map(tuple),
    st.sampled_from([(), ("w",)]),
)
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(ModelReplied, st.just(1), st.just(1), replies, st.sampled_from([0.5, 1, True])),
    st.builds(ToolReturned, st.just(CallRef(1, 0)), st.just(1), results),
    st.just(ToolStarted(CallRef(1, 0), 1, 2.5)),
)


@given(events)
@example(ToolReturned(CallRef(1, 0), 1, ToolResult("x", (Write("any", ["\ud800\udc00"]),))))
def test_a_storable_event_has_a_text_and_comes_back(event: Event) -> None:
    """Whatever is in it. That others may have one as well does no harm."""
    if is_storable(SPEC, event):
        data = json.loads(event_text(SPEC, event))
        assert event_from_json(SPEC, data | {"$type": type(event).__name__}) == event


PLAIN = ChatMessage.from_assistant("said", tool_calls=[ToolCall("a", {"n": 1}, "c")])


def replied(message: ChatMessage = PLAIN, **fields: Any) -> ModelReplied:
    """The model gave a reply with these fields."""
    return ModelReplied(1, 1, ChatReply(message, **fields))


def returned(*writes: Write, content: Any = "x", warnings: tuple[str, ...] = ()) -> ToolReturned:
    """The first call gave a result."""
    return ToolReturned(CallRef(1, 0), 1, ToolResult(content, writes, warnings))


@pytest.mark.parametrize(
    ("event", "storable"),
    [
        (replied(), True),
        (replied(finish_reason="unheard"), False),
        (replied(usage=Usage(1.5)), False),  # type: ignore[arg-type]  # a careless model
        (replied(model=3), False),
        (replied(extra={"id": "x"}), False),
        (replied(ChatMessage.from_assistant("x", meta={"a": 1})), False),
        (replied(ChatMessage.from_assistant("x", name="n")), False),
        (replied(ChatMessage.from_assistant(tool_calls=[ToolCall("a", {"n": [1]})])), False),
        (replied(ChatMessage.from_assistant(tool_calls=[ToolCall("a", {}, 1)])), False),  # type: ignore[arg-type]  # as careless
        (replied(ChatMessage.from_assistant(tool_calls=[ToolCall("a", {Odd("n"): 1})])), False),
        (replied(ChatMessage.from_assistant(tool_calls=[ToolCall("a", {"n": 10**5000})])), False),
        (replied(usage=Usage(10**5000)), False),
        (evolve(replied(), cost=1), True),
        (evolve(replied(), cost=True), False),
        (evolve(replied(), cost=Fraction(1, 3)), False),  # type: ignore[arg-type]  # as careless
        (returned(Write("numbers", [10**5000])), False),
        (returned(), True),
        (returned(content=(TextContent("x"),)), False),
        (returned(warnings=("w",)), False),
        (returned(Write("numbers", [1, 2]), Write("any", 1)), True),
        (returned(Write("numbers", [date(2026, 1, 1)])), False),
        (returned(Write("day", "no day")), False),
        (returned(Write("numbers", [1], replace_values)), False),
        (ToolStarted(CallRef(1, 0), 1), True),
        (CancelRequested("enough"), False),
    ],
)
def test_what_is_seen_at_a_glance(event: Event, *, storable: bool) -> None:
    """The events of nearly every turn, and what makes them others; inside an agent as well."""
    inner = Delegate("inner", "", PARAMETERS, lambda task: {ANSWER: task}, agent=SPEC)
    outer = AgentSpec(State({}), by_name([inner]))

    assert is_storable(SPEC, event) == storable
    assert is_storable(outer, HappenedInside(CallRef(1, 0), "inner", event)) == storable


RUN = start(SPEC, [ChatMessage.from_user("hello")], run_id="r", state=[Write("numbers", [1])])
SLOT = Slot(CallRef(1, 0), ToolCall("a"), AwaitingDecision("d"))


@pytest.mark.parametrize(
    ("run", "plain"),
    [
        (RUN, True),
        (Run("r", RUN.state, phase=Acting(ChatReply(PLAIN), (SLOT,))), False),
        (Run("r", RUN.state.update([Write("any", 1)])), False),
        (Run("r", RUN.state.update([Write("sum", [1])])), False),
        (Run("r", RUN.state.update([Write("days", [date(2026, 1, 1)])])), False),
    ],
)
def test_a_run_of_lists_is_written_when_it_is_read(run: Run[State], *, plain: bool) -> None:
    """Then to the same text. Any other is written at once: a handler may make what has none."""
    known = Known(3, lists_in(RUN.state))
    text, rest = checkpoint_text(SPEC, run, known)

    body, counted = checkpoint(SPEC, run, known)

    assert is_plain_run(run) == plain
    assert (body() if callable(body) else body) == text
    assert callable(body) == plain
    assert counted == (0 if plain else rest)


@pytest.mark.parametrize(
    ("run", "plain"),
    [
        (RUN, True),
        (evolve(RUN, options=RunOptions(generation_kwargs={"stop": b"x"})), False),
        (Run("r", RUN.state.set("any", 1)), False),
        (Run("r", with_messages(RUN.state, [ChatMessage.from_user("x", meta={"a": b""})])), False),
        (Run("r", State({"seen": {"type": list}}, {"seen": [date(2026, 1, 1)]})), False),
    ],
)
def test_a_start_is_written_when_it_is_read(run: Run[State], *, plain: bool) -> None:
    """No event has brought what is in it, so that all of it is looked at."""
    spec = AgentSpec(State(run.state.schema))

    assert is_plain_start(run) == plain
    if plain:
        body = begun(spec, run)
        assert callable(body)
        assert body() == begun_text(spec, run)
