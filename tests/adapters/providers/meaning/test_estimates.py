"""What a call has spent where the provider does not say it."""

from __future__ import annotations

import pytest

from detent import Agent, Limits, tool
from detent.adapters.providers.meaning.estimates import counted
from detent.adapters.providers.openai.chat import OpenAIChatGenerator
from detent.core.chat.messages import (
    ChatMessage,
    ImageContent,
    ReasoningContent,
    TextContent,
    ToolCall,
)
from detent.core.chat.replies import ChatReply, Usage
from detent.core.tools.tool import ToolSpec
from detent.ports.chat import StreamingChunk
from tests.adapters.providers.http.folds import events
from tests.adapters.providers.http.wires import Wire

TOLD = ChatMessage.from_assistant("x" * 400)
CALL = ToolCall("add", {"a": 1})


def delta(finish: str | None = None, **members: object) -> dict[str, object]:
    """One value of a stream."""
    return {"choices": [{"delta": members, "finish_reason": finish}]}


def test_what_the_provider_counts_holds() -> None:
    """Nothing is estimated beside it."""
    reply = ChatReply(TOLD, usage=Usage(1, 2))
    assert counted(reply, [TOLD], []) is reply


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (ChatMessage.from_user("x" * 400), 101),
        (ChatMessage.from_assistant(reasoning=ReasoningContent("x" * 40)), 11),
        (ChatMessage.from_assistant(tool_calls=[ToolCall("add", {}, unreadable="x" * 37)]), 11),
        (ChatMessage.from_tool("x" * 400, CALL), 101),
        (ChatMessage.from_tool([TextContent("x" * 40), ImageContent("aGk=")], CALL), 1011),
        (ChatMessage.from_user(content_parts=[ImageContent("a" * 4_000_000)]), 1000),
    ],
)
def test_what_was_sent_and_said_is_estimated_by_its_length(
    message: ChatMessage, tokens: int
) -> None:
    """Of an attachment the bytes say nothing."""
    reply = counted(ChatReply(TOLD), [message], [])
    assert (reply.usage, reply.usage_estimated) == (Usage(tokens, 101), True)


def test_tools_are_read_too() -> None:
    """At every call."""
    described = ToolSpec("add", "x" * 400, {"type": "object"})
    assert counted(ChatReply(TOLD), [], [described]).usage.input_tokens > 100


def test_a_stream_cut_after_its_reason_still_counts_for_the_limits() -> None:
    """Its usage would have come behind; without it a run could spend without end."""
    call = {"id": "c1", "function": {"name": "look", "arguments": "{}"}}
    wire = Wire(events(delta("tool_calls", content="x" * 400, tool_calls=[call])).decode())

    @tool
    def look() -> str:
        """Look."""
        return "nothing"

    def ignore(_: StreamingChunk) -> None:
        """Ask for a stream."""

    with wire.client() as client:
        generator = OpenAIChatGenerator("m", api_key="k", http_client=client)
        agent = Agent(chat_generator=generator, tools=[look], limits=Limits(max_tokens=300))
        result = agent.run("Go on", ignore)
    assert result.exit_reason == "max_tokens"
    assert len(wire.requests) < 5
