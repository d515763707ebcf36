"""Conversations, tools and options as the body of a request to the Responses API."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from detent.adapters.providers.http.api import ChatRequest
from detent.adapters.providers.meaning.parts import Opaque, Part, Said, assistant_message
from detent.adapters.providers.openai_responses.encode import request_body
from detent.core.chat.messages import (
    ChatMessage,
    FileContent,
    ImageContent,
    ReasoningContent,
    TextContent,
    ToolCall,
    ToolCallResult,
)
from detent.core.tools.tool import ToolSpec
from detent.ports.chat import ChatGeneratorError

OWN = {"type": "function_call", "id": "fc_1", "status": "completed"}
ADD = ToolCall("add", {"a": 1}, "c1", {"openai_responses": OWN})
ADD_WIRE = {**OWN, "call_id": "c1", "name": "add", "arguments": '{"a":1}'}
PNG = ImageContent("aGk=", "image/png")
PNG_WIRE = {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOL = ToolSpec("add", "Adds.", SCHEMA)
TOOL_WIRE = {
    "type": "function",
    "name": "add",
    "description": "Adds.",
    "parameters": SCHEMA,
    "strict": False,
}


def body_of(
    *messages: ChatMessage,
    model: str = "m",
    tools: Sequence[ToolSpec] = (),
    stream: bool = False,
    chained: bool = False,
    options: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """The body of a request."""
    talk = messages or (ChatMessage.from_user("Hi"),)
    made = request_body(
        ChatRequest(model, talk, tools, options or {}, stream=stream), chained=chained
    )
    body: dict[str, Any] = json.loads(made)
    return body


def said(*parts: Part, **about: object) -> ChatMessage:
    """What a model of this API said."""
    return assistant_message("openai_responses", parts, about)


def text(written: str, message: str = "msg_1", kind: str = "output_text") -> Said:
    """A text that came in an item with an id."""
    item = {"type": "message", "id": message, "role": "assistant", "phase": "final_answer"}
    return Said(written, {"item": item, "part": {"type": kind, "annotations": []}})


def text_wire(*written: str, message: str = "msg_1") -> Mapping[str, object]:
    """The item of such texts."""
    parts = [{"type": "output_text", "annotations": [], "text": one} for one in written]
    item = {"type": "message", "id": message, "role": "assistant", "phase": "final_answer"}
    return {**item, "content": parts}


def thought(name: str) -> ReasoningContent:
    """A thought that this API's model had."""
    return ReasoningContent("hm", {"openai_responses": thought_wire(name)})


def thought_wire(name: str) -> Mapping[str, object]:
    """Its item."""
    return {"type": "reasoning", "id": name, "summary": [], "encrypted_content": "gAAA=="}


CUSTOM_OWN = {"type": "custom_tool_call", "id": "ct"}
CUSTOM = ToolCall("exp", {}, "c1", {"openai_responses": CUSTOM_OWN}, "4 + 4")
CALLER = {"type": "program", "caller_id": "p1"}
FROM_PROGRAM = ToolCall("add", {}, "c1", {"openai_responses": {"id": "f", "caller": CALLER}})

ITEMS: dict[str, tuple[ChatMessage, list[Mapping[str, object]]]] = {
    "system": (ChatMessage.from_system("Be kind"), [{"role": "system", "content": "Be kind"}]),
    "user": (ChatMessage.from_user("Hi"), [{"role": "user", "content": "Hi"}]),
    "image": (
        ChatMessage.from_user(content_parts=["Look", PNG]),
        [{"role": "user", "content": [{"type": "input_text", "text": "Look"}, PNG_WIRE]}],
    ),
    "image with detail": (
        ChatMessage.from_user(content_parts=[ImageContent("aGk=", "image/png", "low")]),
        [{"role": "user", "content": [{**PNG_WIRE, "detail": "low"}]}],
    ),
    "image at the provider": (
        ChatMessage.from_user(
            content_parts=[ImageContent("", meta={"openai_responses": {"file_id": "f"}})]
        ),
        [{"role": "user", "content": [{"type": "input_image", "detail": "auto", "file_id": "f"}]}],
    ),
    "file": (
        ChatMessage.from_user(content_parts=[FileContent("aGk=", "application/pdf", "a.pdf")]),
        [
            {
                "role": "user",
                "content": [
                    {
                        "type": "input_file",
                        "filename": "a.pdf",
                        "file_data": "data:application/pdf;base64,aGk=",
                    }
                ],
            }
        ],
    ),
    "file without a name": (
        ChatMessage.from_user(content_parts=[FileContent("aGk=", "application/pdf")]),
        [
            {
                "role": "user",
                "content": [
                    {
                        "type": "input_file",
                        "filename": "file.pdf",
                        "file_data": "data:application/pdf;base64,aGk=",
                    }
                ],
            }
        ],
    ),
    "file at an address": (
        ChatMessage.from_user(
            content_parts=[
                FileContent("", "application/pdf", extra={"openai_responses": {"file_url": "u"}})
            ]
        ),
        [{"role": "user", "content": [{"type": "input_file", "file_url": "u"}]}],
    ),
    "text of another provider": (
        ChatMessage.from_assistant("Hi"),
        [{"role": "assistant", "content": "Hi"}],
    ),
    "text": (said(text("Hi")), [text_wire("Hi")]),
    "texts of one item": (said(text("a"), text("b")), [text_wire("a", "b")]),
    "texts of two items": (
        said(text("a"), text("b", "msg_2")),
        [text_wire("a"), text_wire("b", message="msg_2")],
    ),
    "refusal": (
        said(text("No.", kind="refusal")),
        [
            {
                **text_wire(),
                "content": [{"type": "refusal", "annotations": [], "refusal": "No."}],
            }
        ],
    ),
    "thought and what follows it": (said(thought("r1"), ADD), [thought_wire("r1"), ADD_WIRE]),
    "thoughts that nothing follows": (
        said(text("a"), thought("r1"), thought("r2")),
        [text_wire("a")],
    ),
    "thought of another provider": (
        said(ReasoningContent("hm", {"anthropic": {"signature": "s"}}), text("a")),
        [text_wire("a")],
    ),
    "order of items": (
        said(thought("r1"), Opaque({"type": "web_search_call", "id": "w"}), text("a"), ADD),
        [thought_wire("r1"), {"type": "web_search_call", "id": "w"}, text_wire("a"), ADD_WIRE],
    ),
    "call of another provider": (
        said(ToolCall("add", {}, "toolu_1", {"anthropic": {"caller": 1}})),
        [{"type": "function_call", "call_id": "toolu_1", "name": "add", "arguments": "{}"}],
    ),
    "unreadable call": (
        said(ToolCall("add", {}, "c1", unreadable='{"a": ')),
        [
            {
                "type": "function_call",
                "call_id": "c1",
                "name": "add",
                "arguments": '{"unreadable":"{\\"a\\": "}',
            }
        ],
    ),
    "custom call": (
        said(CUSTOM),
        [
            {
                "type": "custom_tool_call",
                "id": "ct",
                "call_id": "c1",
                "name": "exp",
                "input": "4 + 4",
            }
        ],
    ),
    "result": (
        ChatMessage.from_tool("3", ADD),
        [{"type": "function_call_output", "call_id": "c1", "output": "3"}],
    ),
    "result with an image": (
        ChatMessage.from_tool([TextContent("Look"), PNG], ADD),
        [
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": [{"type": "input_text", "text": "Look"}, PNG_WIRE],
            }
        ],
    ),
    "result of a custom call": (
        ChatMessage.from_tool("8", CUSTOM),
        [{"type": "custom_tool_call_output", "call_id": "c1", "output": "8"}],
    ),
    "result for a program": (
        ChatMessage.from_tool("3", FROM_PROGRAM),
        [{"type": "function_call_output", "call_id": "c1", "caller": CALLER, "output": "3"}],
    ),
}


@pytest.mark.parametrize("kind", ITEMS)
def test_each_kind_of_part_has_its_item(kind: str) -> None:
    """Checked as JSON, as the server sees it."""
    message, items = ITEMS[kind]
    assert body_of(message)["input"] == items


PLAIN = {
    "model": "m",
    "input": [{"role": "user", "content": "Hi"}],
    "store": False,
    "include": ["reasoning.encrypted_content"],
}
WANTED = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA, "strict": True}}
FORMAT = {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True}
OPTIONS: list[tuple[dict[str, object], dict[str, object]]] = [
    ({}, {}),
    (
        {"temperature": 0, "reasoning": {"effort": "low"}},
        {"temperature": 0, "reasoning": {"effort": "low"}},
    ),
    ({"max_tokens": 5}, {"max_output_tokens": 5}),
    ({"max_completion_tokens": 5}, {"max_output_tokens": 5}),
    ({"store": True, "previous_response_id": "r"}, {"store": True, "previous_response_id": "r"}),
    ({"tool_choice": "auto", "parallel_tool_calls": False}, {}),
    ({"response_format": {"type": "text"}}, {}),
    ({"response_format": {"type": "json_object"}}, {"text": {"format": {"type": "json_object"}}}),
    ({"response_format": WANTED}, {"text": {"format": FORMAT}}),
    (
        {"response_format": WANTED, "text": {"verbosity": "low"}},
        {"text": {"verbosity": "low", "format": FORMAT}},
    ),
]


@pytest.mark.parametrize(("options", "members"), OPTIONS)
def test_options_stand_in_the_body(options: dict[str, object], members: dict[str, object]) -> None:
    """They win over what is made here."""
    assert body_of(options=options) == PLAIN | members


DOES_NOT_REASON = (
    "chatgpt-4o-latest",
    "ft:gpt-4o-mini:acme::abc",
    "gpt-3.5-turbo",
    "gpt-4.1-mini",
    "gpt-4o",
    "gpt-5-chat-latest",
)


@pytest.mark.parametrize("model", DOES_NOT_REASON)
def test_models_that_do_not_reason_are_not_asked_for_their_reasoning(model: str) -> None:
    """They refuse the question. None takes it out for others."""
    assert "include" not in body_of(model=model)
    assert "include" not in body_of(options={"include": None})
    assert "include" in body_of(model="gpt-5")
    assert "include" in body_of(model="ft:o4-mini:acme::abc")


def test_a_stream_is_asked_for() -> None:
    """Only when somebody watches."""
    assert body_of(stream=True) == PLAIN | {"stream": True}


CHOSEN: list[tuple[object, object]] = [
    ("auto", "auto"),
    ("none", "none"),
    ("required", "required"),
    ("add", {"type": "function", "name": "add"}),
    ({"type": "function", "function": {"name": "add"}}, {"type": "function", "name": "add"}),
    ({"type": "function", "name": "add"}, {"type": "function", "name": "add"}),
    ({"type": "web_search_preview"}, {"type": "web_search_preview"}),
]


@pytest.mark.parametrize(("choice", "wire"), CHOSEN)
def test_the_choice_of_a_tool_has_the_api_s_form(choice: object, wire: object) -> None:
    """Given as for Chat Completions, or as the API names it."""
    options = {"tool_choice": choice, "parallel_tool_calls": False}
    body = body_of(tools=[TOOL], options=options)
    assert body == PLAIN | {"tools": [TOOL_WIRE], "tool_choice": wire, "parallel_tool_calls": False}


def test_tools_of_the_provider_follow_those_of_the_agent() -> None:
    """They are given as the API names them, and may be the only ones."""
    search = {"type": "web_search"}
    assert body_of(tools=[TOOL], options={"tools": [search]})["tools"] == [TOOL_WIRE, search]
    alone = body_of(options={"tools": [search], "tool_choice": "auto"})
    assert (alone["tools"], alone["tool_choice"]) == ([search], "auto")


def test_a_chain_names_the_last_answer_and_sends_what_came_after_it() -> None:
    """The server keeps the rest."""
    talk = [
        ChatMessage.from_system("Be kind."),
        ChatMessage.from_user("Hi"),
        said(thought("r1"), ADD, id="resp_1"),
        ChatMessage.from_tool("3", ADD),
        said(text("3"), id="resp_2"),
        ChatMessage.from_user("And?"),
    ]
    body = body_of(*talk, chained=True)
    assert body["previous_response_id"] == "resp_2"
    assert body["input"] == [{"role": "user", "content": "And?"}]
    assert body["store"] is True
    whole = body_of(*talk)
    assert "previous_response_id" not in whole
    assert len(whole["input"]) == 7


def test_a_chain_begins_with_the_whole_conversation() -> None:
    """Answers of others, and those that the server did not keep, are sent."""
    body = body_of(
        ChatMessage.from_user("Hi"), said(text("a")), ChatMessage.from_user("And?"), chained=True
    )
    assert "previous_response_id" not in body
    assert len(body["input"]) == 3


@pytest.mark.parametrize(
    ("message", "options", "what"),
    [
        (ChatMessage.from_assistant(tool_calls=[ToolCall("add")]), {}, "without an id"),
        (ChatMessage.from_tool("3", ToolCall("add")), {}, "without an id"),
        (ChatMessage("user", [ADD]), {}, "ToolCall in a message of a system or a user"),
        (
            ChatMessage("assistant", [ToolCallResult("x", ADD)]),
            {},
            "ToolCallResult in a message of the assistant",
        ),
        (ChatMessage.from_user("Hi"), {"temperature": float("nan")}, "not JSON"),
        (ChatMessage.from_user("Hi"), {"response_format": {"type": "xml"}}, "response_format"),
    ],
    ids=["id", "id of result", "call", "image", "nan", "format"],
)
def test_what_cannot_be_sent_is_a_bad_request(
    message: ChatMessage, options: dict[str, object], what: str
) -> None:
    """It is found before anything is sent, and says what this API does not take."""
    with pytest.raises(ChatGeneratorError, match=f"the Responses API takes no .*{what}") as caught:
        body_of(message, options=options)
    assert caught.value.failure.cause == "bad_request"
