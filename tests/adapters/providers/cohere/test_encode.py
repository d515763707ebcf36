"""Conversations, tools and options as the body of a request to Cohere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from detent.adapters.providers.cohere.encode import request_body, wire_messages
from detent.adapters.providers.http.api import ChatRequest
from detent.core.chat.messages import (
    ChatMessage,
    FileContent,
    ImageContent,
    ReasoningContent,
    TextContent,
    ToolCall,
)
from detent.core.tools.tool import ToolSpec
from detent.ports.chat import ChatGeneratorError

Json = dict[str, Any]

PNG = ImageContent("aGk=", "image/png")
PNG_WIRE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
PDF = FileContent("aGk=", "application/pdf")
ADD = ToolCall("add", {"a": 1}, "c1")
ADD_WIRE = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}


def tool(name: str) -> ToolSpec:
    """A tool of this name."""
    return ToolSpec(name, "Adds.", {"type": "object"})


def tool_wire(name: str) -> Json:
    """The same on the wire."""
    function = {"name": name, "description": "Adds.", "parameters": {"type": "object"}}
    return {"type": "function", "function": function}


def text(said: str) -> Json:
    """A text on the wire."""
    return {"type": "text", "text": said}


def assistant(**members: object) -> Json:
    """An assistant message on the wire."""
    return {"role": "assistant", **members}


def result(content: str) -> Json:
    """A result on the wire."""
    return {"role": "tool", "tool_call_id": "c1", "content": content}


MESSAGES: dict[str, tuple[ChatMessage, Json]] = {
    "system": (ChatMessage.from_system("Be kind"), {"role": "system", "content": "Be kind"}),
    "user": (ChatMessage.from_user("Hi"), {"role": "user", "content": "Hi"}),
    "image": (
        ChatMessage.from_user(content_parts=["Look", PNG]),
        {"role": "user", "content": [text("Look"), PNG_WIRE]},
    ),
    "image elsewhere": (
        ChatMessage.from_user(
            content_parts=[ImageContent("", meta={"cohere": {"url": "https://a.org/b.png"}})]
        ),
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "https://a.org/b.png"}}],
        },
    ),
    "image with detail": (
        ChatMessage.from_user(content_parts=[ImageContent("aGk=", "image/webp", "low")]),
        {
            "role": "user",
            "content": [
                {
                    "type": "image_url",
                    "image_url": {"url": "data:image/webp;base64,aGk=", "detail": "low"},
                }
            ],
        },
    ),
    "answer": (ChatMessage.from_assistant("Hello"), assistant(content=[text("Hello")])),
    "empty answer": (ChatMessage.from_assistant(), assistant(content="")),
    "calls": (
        ChatMessage.from_assistant(tool_calls=[ADD]),
        assistant(tool_calls=[ADD_WIRE]),
    ),
    "calls with their plan": (
        ChatMessage.from_assistant(tool_calls=[ADD], meta={"cohere": {"tool_plan": "I will add."}}),
        assistant(tool_calls=[ADD_WIRE], tool_plan="I will add."),
    ),
    "unreadable call": (
        ChatMessage.from_assistant(tool_calls=[ToolCall("add", {}, "c1", unreadable='{"a": ')]),
        assistant(
            tool_calls=[
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "add", "arguments": '{"unreadable":"{\\"a\\": "}'},
                }
            ]
        ),
    ),
    "thought": (
        ChatMessage.from_assistant("Hi", reasoning=ReasoningContent("hm", {"cohere": {}})),
        assistant(content=[{"type": "thinking", "thinking": "hm"}, text("Hi")]),
    ),
    "thought of another provider": (
        ChatMessage.from_assistant("Hi", reasoning=ReasoningContent("hm", {"signature": "x"})),
        assistant(content=[text("Hi")]),
    ),
    "result": (ChatMessage.from_tool("3", ADD), result("3")),
    "error": (ChatMessage.from_tool("no", ADD, error=True), result("no")),
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_each_kind_of_message_has_its_form(kind: str) -> None:
    """Checked as JSON, as the server sees it."""
    message, wire = MESSAGES[kind]
    assert json.loads(json.dumps([*wire_messages([message])])) == [wire]


def test_images_in_tool_results_follow_the_last_result() -> None:
    """The message of a tool holds no image."""
    messages = [
        ChatMessage.from_tool([TextContent("done"), PNG], ADD),
        ChatMessage.from_tool("3", ADD),
        ChatMessage.from_user("And?"),
    ]
    label = text("Attached to the result of tool add (c1):")
    attached = {"role": "user", "content": [label, PNG_WIRE]}
    user = {"role": "user", "content": "And?"}
    assert [*wire_messages(messages)] == [result("done"), result("3"), attached, user]
    assert [*wire_messages(messages[:2])] == [result("done"), result("3"), attached]


def body_of(*tools: ToolSpec, stream: bool = False, **options: object) -> Json:
    """The body of a request with one message."""
    message = ChatMessage.from_user("Hi")
    body: Json = json.loads(
        request_body(ChatRequest("m", [message], tools, options, stream=stream))
    )
    assert (body.pop("model"), body.pop("messages")) == ("m", [{"role": "user", "content": "Hi"}])
    return body


def offered(*names: str, **members: object) -> Json:
    """A body with these tools."""
    return {"stream": False, "tools": [tool_wire(name) for name in names], **members}


SCHEMA = {"type": "object"}
FORM = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}
BOTH = (tool("add"), tool("sub"))
BODIES: dict[str, tuple[Json, Json]] = {
    "plain": (body_of(), {"stream": False}),
    "stream": (body_of(stream=True), {"stream": True}),
    "tools": (body_of(tool("add")), offered("add")),
    "no choice": (body_of(tool("add"), tool_choice="auto"), offered("add")),
    "a tool demanded": (
        body_of(*BOTH, tool_choice="required"),
        offered("add", "sub", tool_choice="REQUIRED"),
    ),
    "as the API names it": (
        body_of(*BOTH, tool_choice="REQUIRED"),
        offered("add", "sub", tool_choice="REQUIRED"),
    ),
    "no tool": (body_of(tool("add"), tool_choice="none"), offered("add", tool_choice="NONE")),
    "this tool": (
        body_of(*BOTH, tool_choice="sub"),
        offered("sub", tool_choice="REQUIRED"),
    ),
    "choice without tools": (body_of(tool_choice="required"), {"stream": False}),
    "options that all providers have": (
        body_of(temperature=0, max_tokens=5, top_p=0.5, stop="x", seed=None),
        {
            "stream": False,
            "temperature": 0,
            "max_tokens": 5,
            "p": 0.5,
            "stop_sequences": ["x"],
        },
    ),
    "options as the API names them": (
        body_of(k=3, stop_sequences=["x"], thinking={"type": "disabled"}),
        {"stream": False, "k": 3, "stop_sequences": ["x"], "thinking": {"type": "disabled"}},
    ),
    "no such option": (body_of(tool("add"), parallel_tool_calls=False), offered("add")),
    "JSON": (
        body_of(response_format={"type": "json_object"}),
        {"stream": False, "response_format": {"type": "json_object"}},
    ),
    "JSON of a schema": (
        body_of(response_format=FORM),
        {"stream": False, "response_format": {"type": "json_object", "json_schema": SCHEMA}},
    ),
}


@pytest.mark.parametrize("kind", BODIES)
def test_the_body_holds_what_was_asked_for(kind: str) -> None:
    """Common options get their names here; a tool that is demanded is offered alone."""
    made, members = BODIES[kind]
    assert made == members


@pytest.mark.parametrize(
    ("message", "options", "said"),
    [
        (ChatMessage.from_user(content_parts=[PDF]), {}, "FileContent in a message"),
        (ChatMessage.from_assistant(tool_calls=[ToolCall("add")]), {}, "without an id"),
        (ChatMessage.from_tool("3", ToolCall("add")), {}, "without an id"),
        (ChatMessage.from_user("Hi"), {"tool_choice": {"any": {}}}, "tool_choice"),
        (ChatMessage.from_user("Hi"), {"response_format": {"type": "xml"}}, "response_format"),
        (ChatMessage.from_user("Hi"), {"seed": float("nan")}, "not JSON"),
    ],
)
def test_what_cannot_be_sent_is_a_bad_request(
    message: ChatMessage, options: Json, said: str
) -> None:
    """It is found before anything is sent."""
    with pytest.raises(ChatGeneratorError, match=said) as caught:
        request_body(ChatRequest("m", [message], BOTH, options))
    assert caught.value.failure.cause == "bad_request"
