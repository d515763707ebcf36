"""Conversations, tools and options as the body of a request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from detent.adapters.providers.http.api import ChatRequest
from detent.adapters.providers.openai.encode import request_body, wire_messages
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

ADD = ToolCall("add", {"a": 1, "b": [2, {"c": None}]}, id="c1")
ADD_WIRE = {
    "id": "c1",
    "type": "function",
    "function": {"name": "add", "arguments": '{"a":1,"b":[2,{"c":null}]}'},
}
PNG = ImageContent("aGk=", "image/png")
PNG_WIRE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
TOOL = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
TOOL_WIRE = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds.",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
    },
}


def assistant(**members: object) -> dict[str, object]:
    """An assistant message on the wire."""
    return {"role": "assistant", **members}


def thought(**extra: object) -> ReasoningContent:
    """Reasoning with the provider's own data."""
    return ReasoningContent("hm", extra)


MESSAGES: dict[str, tuple[ChatMessage, dict[str, object]]] = {
    "system": (ChatMessage.from_system("Be kind"), {"role": "system", "content": "Be kind"}),
    "user": (ChatMessage.from_user("Hi"), {"role": "user", "content": "Hi"}),
    "named": (
        ChatMessage.from_user("Hi", name="Ann"),
        {"role": "user", "content": "Hi", "name": "Ann"},
    ),
    "image": (
        ChatMessage.from_user(content_parts=["Look", PNG]),
        {"role": "user", "content": [{"type": "text", "text": "Look"}, PNG_WIRE]},
    ),
    "image elsewhere": (
        ChatMessage.from_user(
            content_parts=[ImageContent("", meta={"openai": {"url": "https://a.org/b.png"}})]
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
    "file": (
        ChatMessage.from_user(content_parts=[FileContent("aGk=", "application/pdf", "a.pdf")]),
        {
            "role": "user",
            "content": [
                {
                    "type": "file",
                    "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="},
                }
            ],
        },
    ),
    "file without a name": (
        ChatMessage.from_user(content_parts=[FileContent("aGk=", "application/pdf")]),
        {
            "role": "user",
            "content": [
                {
                    "type": "file",
                    "file": {
                        "filename": "file.pdf",
                        "file_data": "data:application/pdf;base64,aGk=",
                    },
                }
            ],
        },
    ),
    "audio": (
        ChatMessage.from_user(content_parts=[FileContent("aGk=", "audio/mpeg")]),
        {
            "role": "user",
            "content": [{"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}}],
        },
    ),
    "answer": (ChatMessage.from_assistant("Hello"), assistant(content="Hello")),
    "empty answer": (ChatMessage.from_assistant(), assistant(content="")),
    "calls": (
        ChatMessage.from_assistant(tool_calls=[ADD]),
        assistant(content=None, tool_calls=[ADD_WIRE]),
    ),
    "text and calls": (
        ChatMessage.from_assistant("Sure", tool_calls=[ADD]),
        assistant(content="Sure", tool_calls=[ADD_WIRE]),
    ),
    "unreadable call": (
        ChatMessage.from_assistant(tool_calls=[ToolCall("add", id="c1", unreadable='{"a": ')]),
        assistant(
            content=None,
            tool_calls=[
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "add", "arguments": '{"unreadable":"{\\"a\\": "}'},
                }
            ],
        ),
    ),
    "custom call": (
        ChatMessage.from_assistant(
            tool_calls=[ToolCall("exp", {}, "c1", {"type": "custom"}, unreadable="4 + 4")]
        ),
        assistant(
            content=None,
            tool_calls=[
                {"id": "c1", "type": "custom", "custom": {"name": "exp", "input": "4 + 4"}}
            ],
        ),
    ),
    "call with a thought signature": (
        ChatMessage.from_assistant(
            tool_calls=[ToolCall("add", {}, "c1", {"extra_content": {"google": 1}, "caller": 2})]
        ),
        assistant(
            content=None,
            tool_calls=[
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "add", "arguments": "{}"},
                    "extra_content": {"google": 1},
                }
            ],
        ),
    ),
    "foreign reasoning": (
        ChatMessage.from_assistant("Hi", reasoning=thought(signature="s", field="role")),
        assistant(content="Hi"),
    ),
    "reasoning_content": (
        ChatMessage.from_assistant("Hi", reasoning=thought(field="reasoning_content")),
        assistant(content="Hi", reasoning_content="hm"),
    ),
    "reasoning with details": (
        ChatMessage.from_assistant(
            "Hi", reasoning=thought(field="reasoning", reasoning_details=[{"data": "x"}])
        ),
        assistant(content="Hi", reasoning="hm", reasoning_details=[{"data": "x"}]),
    ),
    "reasoning in the content": (
        ChatMessage.from_assistant("Hi", reasoning=thought(field="content")),
        assistant(
            content=[
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "text", "text": "Hi"},
            ]
        ),
    ),
    "result": (
        ChatMessage.from_tool("3", ADD),
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
    ),
    "error": (
        ChatMessage.from_tool("no such file", ADD, error=True),
        {"role": "tool", "tool_call_id": "c1", "content": "no such file"},
    ),
    "result in parts": (
        ChatMessage.from_tool([TextContent("3"), TextContent("4")], ADD),
        {"role": "tool", "tool_call_id": "c1", "content": "3\n4"},
    ),
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_each_kind_of_message_has_its_form(kind: str) -> None:
    """Checked as JSON, as the server sees it."""
    message, wire = MESSAGES[kind]
    assert json.loads(json.dumps([*wire_messages([message])])) == [wire]


def test_images_in_tool_results_follow_the_last_result() -> None:
    """Nothing may stand between the results of one turn, and a tool message holds no image."""
    other = ToolCall("shoot", {}, id="c2")
    messages = [
        ChatMessage.from_assistant(tool_calls=[other, ADD]),
        ChatMessage.from_tool([TextContent("done"), PNG], other),
        ChatMessage.from_tool("3", ADD),
        ChatMessage.from_user("And?"),
    ]
    _, first, second, images, user = wire_messages(messages)
    assert first == {"role": "tool", "tool_call_id": "c2", "content": "done"}
    assert second == {"role": "tool", "tool_call_id": "c1", "content": "3"}
    label = {"type": "text", "text": "Attached to the result of tool shoot (c2):"}
    assert images == {"role": "user", "content": [label, PNG_WIRE]}
    assert user == {"role": "user", "content": "And?"}
    assert [*wire_messages(messages[:3])][-1] == images


def body_of(
    tools: list[ToolSpec] | None = None, *, stream: bool = False, **options: object
) -> dict[str, Any]:
    """The body of a request with one message."""
    body: dict[str, Any] = json.loads(
        request_body(
            ChatRequest("m", [ChatMessage.from_user("Hi")], tools or [], options, stream=stream)
        )
    )
    return body


FORCED = {"type": "function", "function": {"name": "add"}}
BODIES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": (body_of(), {}),
    "tools": (body_of([TOOL]), {"tools": [TOOL_WIRE]}),
    "stream": (body_of(stream=True), {"stream": True, "stream_options": {"include_usage": True}}),
    "stream without usage": (body_of(stream=True, stream_options=None), {"stream": True}),
    "options": (body_of(temperature=0, seed=None), {"temperature": 0}),
    "another model": (body_of(model="other"), {"model": "other"}),
    "choice without tools": (body_of(tool_choice="auto", parallel_tool_calls=False), {}),
    "choice": (
        body_of([TOOL], tool_choice="required", parallel_tool_calls=False),
        {"tools": [TOOL_WIRE], "tool_choice": "required", "parallel_tool_calls": False},
    ),
    "choice of a tool": (
        body_of([TOOL], tool_choice="add"),
        {"tools": [TOOL_WIRE], "tool_choice": FORCED},
    ),
    "choice as the API names it": (
        body_of([TOOL], tool_choice=FORCED),
        {"tools": [TOOL_WIRE], "tool_choice": FORCED},
    ),
    "response format": (
        body_of(response_format={"type": "json_object"}),
        {"response_format": {"type": "json_object"}},
    ),
}


@pytest.mark.parametrize("kind", BODIES)
def test_the_body_holds_what_was_asked_for(kind: str) -> None:
    """Options stand beside model and messages and win; None takes a member out."""
    made, members = BODIES[kind]
    assert made == {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **members}


@pytest.mark.parametrize(
    ("message", "options", "text"),
    [
        (ChatMessage.from_assistant(tool_calls=[ToolCall("add")]), {}, "without an id"),
        (ChatMessage.from_tool("3", ToolCall("add")), {}, "without an id"),
        (ChatMessage("user", [ADD]), {}, "ToolCall in a message of a system or a user"),
        (ChatMessage.from_user("Hi"), {"temperature": float("nan")}, "not JSON"),
        (ChatMessage.from_user("Hi"), {"stop": object()}, "not JSON"),
    ],
    ids=["call without id", "result without id", "call of a user", "nan", "object"],
)
def test_what_cannot_be_sent_is_a_bad_request(
    message: ChatMessage, options: dict[str, object], text: str
) -> None:
    """It is found before anything is sent."""
    with pytest.raises(ChatGeneratorError, match=text) as caught:
        request_body(ChatRequest("m", [message], [], options))
    assert caught.value.failure.cause == "bad_request"


def test_text_that_is_no_unicode_is_sent_all_the_same() -> None:
    """A lone surrogate comes out of a broken file name, say."""
    body = request_body(ChatRequest("m", [ChatMessage.from_user("\ud800")], [], {}))
    assert json.loads(body)["messages"][0]["content"] == "\ud800"
