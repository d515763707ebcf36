"""Conversations, tools and options as the body of a request to Converse."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from detent.adapters.providers.bedrock.encode import CacheTime, request_body
from detent.adapters.providers.http.api import ChatRequest
from detent.adapters.providers.meaning.parts import Opaque, Part, Said, assistant_message
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

ADD = ToolCall("add", {"a": 1}, "c1")
ADD_WIRE = {"toolUse": {"toolUseId": "c1", "name": "add", "input": {"a": 1}}}
PNG = ImageContent("aGk=", "image/png")
PNG_WIRE = {"image": {"format": "png", "source": {"bytes": "aGk="}}}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOL = ToolSpec("add", "Adds.", SCHEMA)
TOOL_WIRE = {"toolSpec": {"name": "add", "description": "Adds.", "inputSchema": {"json": SCHEMA}}}


def body_of(
    *messages: ChatMessage,
    tools: Sequence[ToolSpec] = (),
    prompt_cache: CacheTime | None = None,
    options: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """The body of a request."""
    talk = messages or (ChatMessage.from_user("Hi"),)
    made = request_body(ChatRequest("m", talk, tools, options or {}), prompt_cache=prompt_cache)
    body: dict[str, Any] = json.loads(made)
    return body


def said(*parts: Part) -> ChatMessage:
    """What a model at this provider said."""
    return assistant_message("bedrock", parts)


def file(mime_type: str, name: str | None = None, **own: object) -> ChatMessage:
    """A user's message with a file."""
    extra = {"bedrock": own} if own else {}
    return ChatMessage.from_user(content_parts=[FileContent("aGk=", mime_type, name, extra)])


def document(kind: str, name: str, **members: object) -> Mapping[str, object]:
    """A document on the wire."""
    return {"document": {"format": kind, "name": name, "source": {"bytes": "aGk="}, **members}}


PARTS: dict[str, tuple[ChatMessage, list[Mapping[str, object]]]] = {
    "text": (ChatMessage.from_user("Hi"), [{"text": "Hi"}]),
    "blank text": (ChatMessage.from_user(content_parts=["Hi", " \n"]), [{"text": "Hi"}]),
    "image": (ChatMessage.from_user(content_parts=[PNG]), [PNG_WIRE]),
    "jpeg by its other name": (
        ChatMessage.from_user(content_parts=[ImageContent("aGk=", "image/jpg")]),
        [{"image": {"format": "jpeg", "source": {"bytes": "aGk="}}}],
    ),
    "image at the provider": (
        ChatMessage.from_user(
            content_parts=[ImageContent("", meta={"bedrock": {"source": {"s3Location": {}}}})]
        ),
        [{"image": {"format": "png", "source": {"s3Location": {}}}}],
    ),
    "pdf": (file("application/pdf", "my report_1.pdf"), [document("pdf", "my report 1")]),
    "document without a name": (file("text/plain"), [document("txt", "document 96e3186a")]),
    "document with a name of no letters": (
        file("text/csv", "….csv"),
        [document("csv", "document 96e3186a")],
    ),
    "document to be cited": (
        file("text/markdown", "a.md", citations={"enabled": True}),
        [document("md", "a", citations={"enabled": True})],
    ),
    "video": (
        file("video/mp4"),
        [{"video": {"format": "mp4", "source": {"bytes": "aGk="}}}],
    ),
    "call": (ChatMessage.from_assistant("Sure", tool_calls=[ADD]), [{"text": "Sure"}, ADD_WIRE]),
    "unreadable call": (
        said(ToolCall("add", {}, "c1", unreadable='{"a": ')),
        [{"toolUse": {"toolUseId": "c1", "name": "add", "input": {"unreadable": '{"a": '}}}],
    ),
    "thought": (
        said(ReasoningContent("hm", {"bedrock": {"signature": "s="}})),
        [{"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s="}}}],
    ),
    "redacted thought": (
        said(ReasoningContent("", {"bedrock": {"redactedContent": "x"}})),
        [{"reasoningContent": {"redactedContent": "x"}}],
    ),
    "thoughts that may not be sent": (
        said(
            ReasoningContent("not signed"),
            ReasoningContent("hm", {"anthropic": {"signature": "s"}}),
            Said("Hi"),
            Said(" "),
        ),
        [{"text": "Hi"}],
    ),
    "order of blocks": (
        said(
            Opaque({"toolUse": {"toolUseId": "s1", "type": "server_tool_use"}}),
            Opaque({"toolResult": {"toolUseId": "s1"}}),
            Said("So.", {"citations": [{"title": "t"}]}),
            ADD,
        ),
        [
            {"toolUse": {"toolUseId": "s1", "type": "server_tool_use"}},
            {"toolResult": {"toolUseId": "s1"}},
            {"citationsContent": {"content": [{"text": "So."}], "citations": [{"title": "t"}]}},
            ADD_WIRE,
        ],
    ),
    "result": (
        ChatMessage.from_tool("3", ADD),
        [{"toolResult": {"toolUseId": "c1", "content": [{"text": "3"}]}}],
    ),
    "error": (
        ChatMessage.from_tool("broken", ADD, error=True),
        [{"toolResult": {"toolUseId": "c1", "content": [{"text": "broken"}], "status": "error"}}],
    ),
    "result with an image": (
        ChatMessage.from_tool([TextContent("Look"), TextContent(""), PNG], ADD),
        [{"toolResult": {"toolUseId": "c1", "content": [{"text": "Look"}, PNG_WIRE]}}],
    ),
}


@pytest.mark.parametrize("kind", PARTS)
def test_each_kind_of_part_has_its_block(kind: str) -> None:
    """Checked as JSON, as the server sees it."""
    message, blocks = PARTS[kind]
    (wire,) = body_of(message)["messages"]
    assert wire["content"] == blocks


def test_instructions_stand_apart_wherever_they_were_given() -> None:
    """The API has no other place for them."""
    body = body_of(
        ChatMessage.from_system("Be kind."),
        ChatMessage.from_user("Hi"),
        ChatMessage.from_system("Speak Spanish."),
    )
    assert body["system"] == [{"text": "Be kind."}, {"text": "Speak Spanish."}]
    assert body["messages"] == [{"role": "user", "content": [{"text": "Hi"}]}]


def test_the_roles_take_turns_and_results_come_first() -> None:
    """All results of a turn stand in one message; one without content is left out."""
    other = ToolCall("add", {}, "c2")
    body = body_of(
        ChatMessage.from_user("Hi"),
        ChatMessage.from_assistant(),
        ChatMessage.from_user("Well?"),
        ChatMessage.from_assistant(tool_calls=[ADD, other]),
        ChatMessage.from_tool("3", ADD),
        ChatMessage.from_user("Quick!"),
        ChatMessage.from_tool("4", other),
    )
    first, calls, turn = body["messages"]
    assert first == {"role": "user", "content": [{"text": "Hi"}, {"text": "Well?"}]}
    assert calls["role"] == "assistant"
    assert [next(iter(block)) for block in turn["content"]] == ["toolResult", "toolResult", "text"]


CHOSEN: list[tuple[dict[str, object], dict[str, object]]] = [
    ({}, {}),
    ({"tool_choice": "auto"}, {"toolChoice": {"auto": {}}}),
    ({"tool_choice": "required"}, {"toolChoice": {"any": {}}}),
    ({"tool_choice": "add"}, {"toolChoice": {"tool": {"name": "add"}}}),
    (
        {"tool_choice": {"type": "function", "function": {"name": "add"}}},
        {"toolChoice": {"tool": {"name": "add"}}},
    ),
    ({"tool_choice": {"any": {}}}, {"toolChoice": {"any": {}}}),
    ({"parallel_tool_calls": True}, {}),
]


@pytest.mark.parametrize(("options", "wire"), CHOSEN)
def test_the_choice_of_a_tool_has_the_api_s_form(
    options: dict[str, object], wire: dict[str, object]
) -> None:
    """Given as for Chat Completions, or as the API names it."""
    body = body_of(tools=[TOOL], options=options)
    assert body["toolConfig"] == {"tools": [TOOL_WIRE], **wire}
    assert "toolConfig" not in body_of(options=options)


def test_no_tool_is_to_be_called_if_none_is_told() -> None:
    """The API has no other way to say so, and none once tools were called."""
    assert "toolConfig" not in body_of(tools=[TOOL], options={"tool_choice": "none"})
    called = ChatMessage.from_assistant(tool_calls=[ADD])
    with pytest.raises(ChatGeneratorError, match='tool_choice="none"'):
        body_of(called, tools=[TOOL], options={"tool_choice": "none"})


def test_a_tool_without_description_has_none() -> None:
    """An empty one is refused."""
    (wire,) = body_of(tools=[ToolSpec("now", "", SCHEMA)])["toolConfig"]["tools"]
    assert wire == {"toolSpec": {"name": "now", "inputSchema": {"json": SCHEMA}}}


def test_tools_of_the_provider_follow_those_of_the_agent() -> None:
    """They are given as the API names them."""
    search = {"systemTool": {"name": "nova_grounding"}}
    body = body_of(tools=[TOOL], options={"tools": [search]})
    assert body["toolConfig"]["tools"] == [TOOL_WIRE, search]


PLAIN = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
WANTED = {
    "type": "json_schema",
    "json_schema": {"name": "n", "schema": SCHEMA, "description": "A city"},
}
OPTIONS: list[tuple[dict[str, object], dict[str, object]]] = [
    ({}, {}),
    (
        {"max_tokens": 5, "temperature": 0, "top_p": 1},
        {"inferenceConfig": {"maxTokens": 5, "temperature": 0, "topP": 1}},
    ),
    ({"max_completion_tokens": 5}, {"inferenceConfig": {"maxTokens": 5}}),
    ({"stop": "END"}, {"inferenceConfig": {"stopSequences": ["END"]}}),
    ({"stop_sequences": ["A", "B"]}, {"inferenceConfig": {"stopSequences": ["A", "B"]}}),
    (
        {"temperature": 0, "inferenceConfig": {"maxTokens": 5}},
        {"inferenceConfig": {"temperature": 0, "maxTokens": 5}},
    ),
    (
        {"additionalModelRequestFields": {"thinking": {"type": "adaptive"}}},
        {"additionalModelRequestFields": {"thinking": {"type": "adaptive"}}},
    ),
    ({"guardrailConfig": None, "response_format": {"type": "text"}}, {}),
    (
        {"response_format": WANTED},
        {
            "outputConfig": {
                "textFormat": {
                    "type": "json_schema",
                    "structure": {
                        "jsonSchema": {
                            "name": "n",
                            "schema": json.dumps(SCHEMA),
                            "description": "A city",
                        }
                    },
                }
            }
        },
    ),
]


@pytest.mark.parametrize(("options", "members"), OPTIONS)
def test_options_stand_in_the_body(options: dict[str, object], members: dict[str, object]) -> None:
    """They win over what is made here, and None takes one out."""
    assert body_of(options=options) == PLAIN | members


@pytest.mark.parametrize(
    ("time", "point"), [("5m", {"type": "default"}), ("1h", {"type": "default", "ttl": "1h"})]
)
def test_the_prompt_cache_is_marked_where_the_next_request_is_the_same(
    time: CacheTime, point: dict[str, str]
) -> None:
    """Behind the instructions, before which the tools stand, and behind the last message."""
    body = body_of(
        ChatMessage.from_system("Be kind."),
        ChatMessage.from_user("Hi"),
        ChatMessage.from_assistant(tool_calls=[ADD]),
        ChatMessage.from_tool("3", ADD),
        tools=[TOOL],
        prompt_cache=time,
    )
    assert body["system"][-1] == {"cachePoint": point}
    assert body["messages"][-1]["content"][-1] == {"cachePoint": point}
    assert json.dumps(body).count("cachePoint") == 2
    assert "system" not in body_of(prompt_cache=time)


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
        (file("audio/mpeg"), {}, "file of type audio/mpeg"),
        (ChatMessage.from_user("Hi"), {"temperature": float("nan")}, "not JSON"),
        (ChatMessage.from_user("Hi"), {"parallel_tool_calls": False}, "parallel_tool_calls=False"),
        (
            ChatMessage.from_user("Hi"),
            {"response_format": {"type": "json_object"}},
            "response_format",
        ),
    ],
    ids=["id", "id of result", "call", "image", "audio", "nan", "parallel", "format"],
)
def test_what_cannot_be_sent_is_a_bad_request(
    message: ChatMessage, options: dict[str, object], what: str
) -> None:
    """It is found before anything is sent, and says what this API does not take."""
    with pytest.raises(ChatGeneratorError, match=f"Converse takes no .*{what}") as caught:
        body_of(message, options=options)
    assert caught.value.failure.cause == "bad_request"
