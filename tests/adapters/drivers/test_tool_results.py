"""Streaming: what a run shows of its tools' results."""

from __future__ import annotations

from itertools import pairwise

from attrs import evolve

from detent import ChatMessage, State, StreamingChunk, Tool, ToolCall
from detent.adapters.drivers.callbacks import tool_result_chunks
from detent.core.machine.delegation import ANSWER, PARAMETERS
from detent.core.run.spec import Delegate
from detent.core.tools.masking import MASK
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentRef,
    AgentSpec,
    CallRef,
    CancelRequested,
    Event,
    ModelReplied,
    ToolFault,
    ToolRaised,
    ToolResult,
    ToolReturned,
    ToolStarted,
    Write,
    replay,
    start,
    wrap_event,
)
from detent.models import ChatReply

SPEC = AgentSpec(State({}), by_name([Tool("note", "", {"type": "object"}, print)]))
START = start(SPEC, [ChatMessage.from_user("hello")], run_id="r")
CALLS = [ToolCall("note", {}, name) for name in ("a", "b")]
REPLIED = ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=CALLS)))
FIRST = ToolReturned(CallRef(1, 0), 1, ToolResult("one"))
SECOND = ToolRaised(CallRef(1, 1), 1, ToolFault("raised", "two"))


def shown(*events: Event) -> list[list[StreamingChunk]]:
    """What each event makes visible."""
    runs = [replay(SPEC, START, events[:count]) for count in range(len(events) + 1)]
    return [list(tool_result_chunks(SPEC, before, after)) for before, after in pairwise(runs)]


END = StreamingChunk(finish_reason="tool_call_results")


def told(chunks: list[StreamingChunk]) -> list[tuple[str, int | None, bool]]:
    """The text, the place and the success of each result."""
    results = [(chunk.tool_call_result, chunk.index) for chunk in chunks]
    return [(one.text, index, one.error) for one, index in results if one is not None]


def test_a_result_is_shown_when_its_call_has_ended() -> None:
    """Whoever comes first, with its place among the calls; a mark says that these were all."""
    asked, second, started, first = shown(REPLIED, SECOND, ToolStarted(CallRef(1, 0), 1), FIRST)

    assert (asked, started) == ([], [])
    assert told(second) == [("two", 1, True)]
    assert told(first) == [("one", 0, False)]
    assert [chunk.start for chunk in first] == [True, False]
    assert END in first
    assert END not in second


def test_a_result_that_does_not_fit_the_state_is_shown_again() -> None:
    """As what the model is told, once that is known."""
    wrong = evolve(FIRST, result=ToolResult("one", (Write("nobody", 1),)))

    _, first, second = shown(REPLIED, wrong, SECOND)

    assert told(first) == [("one", 0, False)]
    assert [(index, failed) for _, index, failed in told(second)] == [(0, True), (1, True)]


def test_what_a_cancelled_turn_leaves_open_is_shown() -> None:
    """The model would be told so."""
    _, _, end = shown(REPLIED, FIRST, CancelRequested("enough"))

    assert told(end) == [("Tool 'note' was not run: the run was cancelled.", 1, True)]
    assert END in end


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


def test_a_secret_of_a_call_is_not_shown_with_its_result() -> None:
    """Its place is marked; what else the call has is there."""
    schema = {"type": "object", "properties": {"pin": {"writeOnly": True}}}
    spec = AgentSpec(State({}), by_name([Tool("note", "", schema, print)]))
    call = ToolCall("note", {"pin": "1234", "n": 1}, "a")
    events: list[Event] = [
        ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=[call]))),
        FIRST,
    ]
    before = replay(spec, START, events[:1])

    first, _ = tool_result_chunks(spec, before, replay(spec, START, events))

    assert first.tool_call_result is not None
    assert first.tool_call_result.origin.arguments == {"pin": MASK, "n": 1}


def test_the_results_of_an_agent_are_shown_under_its_name() -> None:
    """As they come."""
    agent = Delegate("ask", "", PARAMETERS, lambda task: {ANSWER: task}, agent=SPEC)
    spec = AgentSpec(State({}), by_name([agent]))
    at = (AgentRef(1, 0, "ask"),)
    asked = ModelReplied(
        1, 1, ChatReply(ChatMessage.from_assistant(tool_calls=[ToolCall("ask", {"task": "go"})]))
    )
    inside = [wrap_event(at, event) for event in (REPLIED, ToolStarted(CallRef(1, 0), 1), FIRST)]
    events: list[Event] = [asked, ToolStarted(CallRef(1, 0), 1), *inside]
    before, after = (replay(spec, START, some) for some in (events[:-1], events))

    chunks = list(tool_result_chunks(spec, before, after))

    assert {chunk.agents for chunk in chunks} == {("ask",)}
    assert [chunk.tool_call_result.text for chunk in chunks if chunk.tool_call_result] == ["one"]
