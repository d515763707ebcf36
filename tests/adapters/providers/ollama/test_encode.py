"""Conversations, tools and options as the body of a request to Ollama."""

from __future__ import annotations

import json
from typing import Any

import pytest

from detent.adapters.providers.http.api import ChatRequest
from detent.adapters.providers.ollama.encode import request_body, wire_messages
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
PDF = FileContent("aGk=", "application/pdf")
ADD = ToolCall("add", {"a": 1}, "c1")
ADD_WIRE = {"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}
NAMED = ToolCall("add", {"a": 1}, "o1", {"ollama": {"id": "o1"}})
TOOL = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
TOOL_WIRE = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds.",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
    },
}


def assistant(content: str = "", **members: object) -> Json:
    """An assistant message on the wire."""
    return {"role": "assistant", "content": content, **members}


def result(content: str, **members: object) -> Json:
    """A result on the wire."""
    return {"role": "tool", "tool_name": "add", "content": content, **members}


MESSAGES: dict[str, tuple[ChatMessage, Json]] = {
    "system": (ChatMessage.from_system("Be kind"), {"role": "system", "content": "Be kind"}),
    "user": (ChatMessage.from_user("Hi"), {"role": "user", "content": "Hi"}),
    "image": (
        ChatMessage.from_user(content_parts=["Look", PNG, " here"]),
        {"role": "user", "content": "Look here", "images": ["aGk="]},
    ),
    "answer": (ChatMessage.from_assistant("Hello"), assistant("Hello")),
    "empty answer": (ChatMessage.from_assistant(), assistant()),
    "calls": (
        ChatMessage.from_assistant("Sure", tool_calls=[ADD, NAMED]),
        assistant("Sure", tool_calls=[ADD_WIRE, ADD_WIRE | {"id": "o1"}]),
    ),
    "unreadable call": (
        ChatMessage.from_assistant(tool_calls=[ToolCall("add", {}, "c1", unreadable='{"a": ')]),
        assistant(
            tool_calls=[
                {
                    "type": "function",
                    "function": {"name": "add", "arguments": {"unreadable": '{"a": '}},
                }
            ]
        ),
    ),
    "thought": (
        ChatMessage.from_assistant("Hi", reasoning=ReasoningContent("hm", {"ollama": {}})),
        assistant("Hi", thinking="hm"),
    ),
    "thought of another provider": (
        ChatMessage.from_assistant("Hi", reasoning=ReasoningContent("hm", {"signature": "x"})),
        assistant("Hi"),
    ),
    "result": (ChatMessage.from_tool("3", ADD), result("3")),
    "result by id": (ChatMessage.from_tool("3", NAMED), result("3", tool_call_id="o1")),
    "error": (ChatMessage.from_tool("no", ADD, error=True), result("no")),
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_each_kind_of_message_has_its_form(kind: str) -> None:
    """Checked as JSON, as the server sees it."""
    message, wire = MESSAGES[kind]
    assert json.loads(json.dumps([*wire_messages([message])])) == [wire]


def test_images_in_tool_results_follow_the_last_result() -> None:
    """Models see none in the message of a tool."""
    messages = [
        ChatMessage.from_tool([TextContent("done"), PNG], ADD),
        ChatMessage.from_tool("3", ADD),
        ChatMessage.from_user("And?"),
    ]
    text = "Attached to the results of the tools:"
    attached = {"role": "user", "content": text, "images": ["aGk="]}
    user = {"role": "user", "content": "And?"}
    assert [*wire_messages(messages)] == [result("done"), result("3"), attached, user]
    assert [*wire_messages(messages[:2])] == [result("done"), result("3"), attached]


def body_of(
    given: list[ToolSpec] | None = None, /, *, stream: bool = False, **options: object
) -> Json:
    """The body of a request with one message."""
    message = ChatMessage.from_user("Hi")
    body: Json = json.loads(
        request_body(ChatRequest("m", [message], given or [], options, stream=stream))
    )
    assert (body.pop("model"), body.pop("messages")) == ("m", [{"role": "user", "content": "Hi"}])
    return body


SCHEMA = {"type": "object"}
FORM = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}
BODIES: dict[str, tuple[Json, Json]] = {
    "plain": (body_of(), {"stream": False}),
    "stream": (body_of(stream=True), {"stream": True}),
    "tools": (
        body_of([TOOL], tool_choice="auto", parallel_tool_calls=True),
        {"stream": False, "tools": [TOOL_WIRE]},
    ),
    "no tool": (body_of([TOOL], tool_choice="none"), {"stream": False}),
    "options that all providers have": (
        body_of(temperature=0, max_tokens=5, top_p=0.5, stop=["x"], seed=None),
        {
            "stream": False,
            "options": {"temperature": 0, "num_predict": 5, "top_p": 0.5, "stop": ["x"]},
        },
    ),
    "options as the API names them": (
        body_of(temperature=0, options={"temperature": 1, "num_ctx": 2}, think=True, keep_alive=0),
        {
            "stream": False,
            "options": {"temperature": 1, "num_ctx": 2},
            "think": True,
            "keep_alive": 0,
        },
    ),
    "JSON": (
        body_of(response_format={"type": "json_object"}),
        {"stream": False, "format": "json"},
    ),
    "JSON of a schema": (body_of(response_format=FORM), {"stream": False, "format": SCHEMA}),
}


@pytest.mark.parametrize("kind", BODIES)
def test_the_body_holds_what_was_asked_for(kind: str) -> None:
    """Common options find their place; None takes one out."""
    made, members = BODIES[kind]
    assert made == members


@pytest.mark.parametrize(
    ("message", "options", "text"),
    [
        (ChatMessage.from_user(content_parts=[PDF]), {}, "FileContent in a message"),
        (ChatMessage.from_tool([PDF], ADD), {}, "FileContent in the result of a tool"),
        (ChatMessage.from_user("Hi"), {"tool_choice": "required"}, "tool_choice 'required'"),
        (ChatMessage.from_user("Hi"), {"tool_choice": {"name": "add"}}, "tool_choice"),
        (ChatMessage.from_user("Hi"), {"response_format": {"type": "xml"}}, "response_format"),
        (ChatMessage.from_user("Hi"), {"seed": float("nan")}, "not JSON"),
    ],
)
def test_what_cannot_be_sent_is_a_bad_request(
    message: ChatMessage, options: Json, text: str
) -> None:
    """It is found before anything is sent."""
    with pytest.raises(ChatGeneratorError, match=text) as caught:
        request_body(ChatRequest("m", [message], [TOOL], options))
    assert caught.value.failure.cause == "bad_request"
