"""A computer that the model operates: it says what to do, and sees a picture of what came of it."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from detent import Agent, Tool, chat_generator
from detent.adapters.providers.meaning.server_tools import computer_version
from detent.core.chat.messages import ChatMessage, ImageContent, TextContent, ToolCall
from detent.core.chat.replies import ChatReply
from detent.models import ComputerUse
from detent.ports.chat import ChatGeneratorError, StreamingChunk
from tests.adapters.providers.http.test_going_on import Script, response

SCREEN = ComputerUse(width=1024, height=768, environment="linux")
CHECKS = [{"id": "sc_1", "code": "malicious_instructions", "message": "Look out"}]
CLICK = {"type": "click", "button": "left", "x": 3, "y": 4}
ITEM = {"type": "computer_call", "id": "cu_1", "call_id": "c1", "status": "completed"}
ANSWERS = [
    ITEM | {"actions": [CLICK, {"type": "screenshot"}], "pending_safety_checks": CHECKS},
    ITEM | {"action": CLICK, "pending_safety_checks": []},
]
WANTED: list[dict[str, Any]] = [
    {"actions": [CLICK, {"type": "screenshot"}], "pending_safety_checks": CHECKS},
    {"action": CLICK},
]


class Screen:
    """A computer of ours."""

    def __init__(self, *, breaks: bool = False) -> None:
        self.asked: list[dict[str, Any]] = []
        self.breaks = breaks

    def tool(self) -> Tool:
        """Does what is asked for, whatever it is called."""
        return Tool(
            name="computer",
            description="A computer.",
            parameters={"type": "object"},
            function=self.operate,
            outputs_to_string={"raw_result": True},
        )

    def operate(self, **asked: Any) -> list[ImageContent | TextContent]:
        """Look."""
        self.asked.append(asked)
        if self.breaks:
            raise OSError("the screen is dark")
        return [ImageContent("aGk=", "image/png")]


def agent(name: str, script: Script, screen: Screen) -> Agent[Any]:
    """One that operates it."""
    model = chat_generator(
        name,
        api_key="k",
        http_client=httpx.Client(transport=script.transport),
        server_tools=[SCREEN],
    )
    return Agent(chat_generator=model, tools=[screen.tool()])


@pytest.mark.parametrize(("item", "wanted"), [*zip(ANSWERS, WANTED, strict=True)])
def test_openai_operates_a_computer(item: dict[str, Any], wanted: dict[str, Any]) -> None:
    """It gets the picture back, and that somebody saw what it had found unsafe."""
    script = Script(response("completed") | {"output": [item]}, response("completed", "Done."))
    screen = Screen()
    assert agent("openai-responses:gpt-5.4", script, screen).run("Click").text == "Done."
    assert screen.asked == [wanted]
    assert script.body(0)["tools"] == [{"type": "computer"}]
    _, call, result = script.body(1)["input"]
    assert call == item
    checks = item["pending_safety_checks"]
    assert result == {
        "type": "computer_call_output",
        "call_id": "c1",
        "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,aGk="},
    } | ({"acknowledged_safety_checks": checks} if checks else {})


def test_what_went_wrong_is_told_to_openai_in_words_of_the_user() -> None:
    """Its API takes a picture alone as a result."""
    done = response("completed", "Sorry.")
    script = Script(response("completed") | {"output": [ANSWERS[1]]}, done)
    assert agent("openai-responses:m", script, Screen(breaks=True)).run("Click").text == "Sorry."
    *_, result, words = script.body(1)["input"]
    assert result["output"]["image_url"].startswith("data:image/png;base64,iVBOR")
    assert words["role"] == "user"
    assert "the screen is dark" in words["content"]


def test_anthropic_operates_a_computer() -> None:
    """In its own words."""
    asked = {"action": "left_click", "coordinate": [3, 4]}
    use = {"type": "tool_use", "id": "t1", "name": "computer", "input": asked}
    script = Script(
        {"type": "message", "content": [use], "stop_reason": "tool_use"},
        {
            "type": "message",
            "content": [{"type": "text", "text": "Done."}],
            "stop_reason": "end_turn",
        },
    )
    screen = Screen()
    assert agent("anthropic:claude-opus-4-6", script, screen).run("Click").text == "Done."
    assert screen.asked == [asked]
    assert script.body(0)["tools"] == [
        {
            "type": "computer_20251124",
            "name": "computer",
            "display_width_px": 1024,
            "display_height_px": 768,
        }
    ]
    assert script.requests[0].headers["anthropic-beta"] == "computer-use-2025-11-24"
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    (result,) = script.body(1)["messages"][2]["content"]
    assert result["content"] == [{"type": "image", "source": source}]


@pytest.mark.parametrize(
    ("model", "date"),
    [
        ("claude-3-7-sonnet-20250219", "2025-01-24"),
        ("claude-sonnet-4-20250514", "2025-01-24"),
        ("claude-opus-4-1-20250805", "2025-01-24"),
        ("claude-haiku-4-5", "2025-01-24"),
        ("claude-opus-4-5-20251101", "2025-11-24"),
        ("claude-sonnet-4-6", "2025-11-24"),
    ],
)
def test_each_model_of_anthropic_has_its_form_of_a_computer(model: str, date: str) -> None:
    """And its beta."""
    assert computer_version(model)[1] == f"computer-use-{date}"


def test_the_model_of_openai_that_was_made_for_it_is_told_the_size() -> None:
    """Others see it."""
    script = Script(response("completed", "Hi."))
    agent("openai-responses:computer-use-preview", script, Screen()).run("Hi")
    size = {"display_width": 1024, "display_height": 768}
    told = {"type": "computer_use_preview", "environment": "linux", **size}
    assert script.body(0)["tools"] == [told]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gemini:m", "functions of Google's own names"),
        ("anthropic:m", "without a tool named 'computer'"),
        ("openai-responses:m", "without a tool named 'computer'"),
        ("mistral:m", "server_tools"),
    ],
)
def test_a_computer_that_cannot_be_operated_is_refused_before_anything_is_sent(
    name: str, why: str
) -> None:
    """By the provider, or because nobody does what it asks for."""
    model = chat_generator(name, api_key="k", server_tools=[SCREEN])
    tools = [Screen().tool()] if name == "gemini:m" else []
    with pytest.raises(ChatGeneratorError, match=why):
        model.run([ChatMessage.from_user("Hi")], tools=[tool.spec for tool in tools])


def test_a_call_of_the_computer_streams_like_any_other() -> None:
    """Its name, and what it asks for."""
    added = {"type": "response.output_item.added", "output_index": 0, "item": ITEM}
    done = {"type": "response.output_item.done", "output_index": 0, "item": ANSWERS[1]}
    whole = response("completed") | {"output": [ANSWERS[1]]}
    events = [added, done, {"type": "response.completed", "response": whole}]
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    transport = httpx.MockTransport(lambda _: httpx.Response(200, text=text))
    model = chat_generator(
        "openai-responses:m",
        api_key="k",
        http_client=httpx.Client(transport=transport),
        server_tools=[SCREEN],
    )
    pieces: list[StreamingChunk] = []
    reply: ChatReply = model.run(
        [ChatMessage.from_user("Click")],
        tools=[Screen().tool().spec],
        streaming_callback=pieces.append,
    )
    deltas = [delta for piece in pieces for delta in piece.tool_calls]
    assert deltas[0].tool_name == "computer"
    assert json.loads("".join(delta.arguments for delta in deltas)) == WANTED[1]
    (call,) = reply.message.tool_calls
    assert call == ToolCall("computer", WANTED[1], "c1", call.extra)
    assert not any(piece.server_tool for piece in pieces)
