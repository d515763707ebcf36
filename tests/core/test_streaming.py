"""Streaming: what a run shows of its tools' results."""

from __future__ import annotations

from itertools import pairwise

from detent import (
    AgentSpec,
    CallRef,
    ChatMessage,
    ChatReply,
    Event,
    ModelReplied,
    State,
    StreamingChunk,
    Tool,
    ToolCall,
    ToolFault,
    ToolRaised,
    ToolResult,
    ToolReturned,
    replay,
    start,
)
from detent.core.streaming import tool_result_chunks
from detent.core.tools import by_name

SPEC = AgentSpec(State({}), by_name([Tool("note", "", {"type": "object"}, print)]))
START = start(SPEC, [ChatMessage.from_user("hello")], run_id="r")
CALLS = [ToolCall("note", {}, name) for name in ("a", "b")]
REPLIED = ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=CALLS)))
FIRST = ToolReturned(CallRef(1, 0), 1, ToolResult("one"))
SECOND = ToolRaised(CallRef(1, 1), 1, ToolFault("raised", "two"))


def shown(*events: Event) -> list[list[StreamingChunk]]:
    """What each event makes visible."""
    runs = [replay(SPEC, START, events[:count]) for count in range(len(events) + 1)]
    return [list(tool_result_chunks(before, after)) for before, after in pairwise(runs)]


def test_results_are_shown_in_the_models_order_when_the_turn_is_complete() -> None:
    """Whoever came first; then a mark that these were all."""
    asked, second, first = shown(REPLIED, SECOND, FIRST)

    assert (asked, second) == ([], [])
    assert [(c.tool_call_result.text, c.index) for c in first if c.tool_call_result] == [
        ("one", 0),
        ("two", 1),
    ]
    assert first[-1] == StreamingChunk(finish_reason="tool_call_results")


def test_calls_that_cannot_run_are_shown_as_well() -> None:
    """Their answers come with the reply itself."""
    unknown = ChatMessage.from_assistant(tool_calls=[ToolCall("nope", {}, "a")])

    ((chunk, end),) = shown(ModelReplied(1, 1, ChatReply(unknown)))

    assert chunk.tool_call_result is not None
    assert chunk.tool_call_result.error
    assert end.finish_reason == "tool_call_results"


def test_a_text_shows_no_results() -> None:
    """Neither does an event that changes nothing."""
    replied = ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant("hi")))

    assert shown(replied, replied) == [[], []]
