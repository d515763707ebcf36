"""Conversations, tools and options as the body of a request to the Messages API."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from detent.adapters.providers.anthropic.encode import CacheTime, request_body
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
    UserPart,
)
from detent.core.tools.tool import ToolSpec
from detent.ports.chat import ChatGeneratorError

ADD = ToolCall("add", {"a": 1}, "c1")
ADD_WIRE = {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}
PNG = ImageContent("aGk=", "image/png")
PNG_WIRE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOL = ToolSpec("add", "Adds.", SCHEMA)
TOOL_WIRE = {"name": "add", "description": "Adds.", "input_schema": SCHEMA}


def text(said: str) -> dict[str, str]:
    """A block of text."""
    return {"type": "text", "text": said}


def body_of(
    *messages: ChatMessage,
    tools: Sequence[ToolSpec] = (),
    stream: bool = False,
    prompt_cache: CacheTime | None = None,
    options: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """The body of a request."""
    said = messages or (ChatMessage.from_user("Hi"),)
    body: dict[str, Any] = json.loads(
        request_body(
            ChatRequest("m", said, tools, options or {}, stream=stream), prompt_cache=prompt_cache
        )
    )
    return body


def blocks_of(message: ChatMessage) -> Any:
    """The blocks that a message becomes."""
    (wire,) = body_of(message)["messages"]
    return wire["content"]


def said(*parts: Part) -> ChatMessage:
    """What this provider's model said."""
    return assistant_message("anthropic", parts)


PARTS: dict[str, tuple[ChatMessage, list[Mapping[str, object]]]] = {
    "text": (ChatMessage.from_user("Hi"), [text("Hi")]),
    "blank text": (ChatMessage.from_user(content_parts=["Hi", " \n"]), [text("Hi")]),
    "image": (ChatMessage.from_user(content_parts=[PNG]), [PNG_WIRE]),
    "image at the provider": (
        ChatMessage.from_user(
            content_parts=[
                ImageContent("", meta={"anthropic": {"source": {"type": "file", "file_id": "f"}}})
            ]
        ),
        [{"type": "image", "source": {"type": "file", "file_id": "f"}}],
    ),
    "pdf": (
        ChatMessage.from_user(content_parts=[FileContent("aGk=", "application/pdf", "a.pdf")]),
        [
            {
                "type": "document",
                "title": "a.pdf",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="},
            }
        ],
    ),
    "text file to be cited": (
        ChatMessage.from_user(
            content_parts=[
                FileContent(
                    "aGk=", "text/csv", extra={"anthropic": {"citations": {"enabled": True}}}
                )
            ]
        ),
        [
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "hi"},
                "citations": {"enabled": True},
            }
        ],
    ),
    "call": (ChatMessage.from_assistant("Sure", tool_calls=[ADD]), [text("Sure"), ADD_WIRE]),
    "call with a caller": (
        said(ToolCall("add", {}, "c1", {"anthropic": {"caller": {"type": "direct"}}})),
        [{**ADD_WIRE, "input": {}, "caller": {"type": "direct"}}],
    ),
    "call of another provider": (
        said(ToolCall("add", {}, "c1", {"openai": {"status": "completed"}})),
        [{**ADD_WIRE, "input": {}}],
    ),
    "unreadable call": (
        said(ToolCall("add", {}, "c1", unreadable='{"a": ')),
        [{**ADD_WIRE, "input": {"unreadable": '{"a": '}}],
    ),
    "thought": (
        said(ReasoningContent("hm", {"anthropic": {"type": "thinking", "signature": "s="}})),
        [{"type": "thinking", "thinking": "hm", "signature": "s="}],
    ),
    "thought that is not shown": (
        said(ReasoningContent("", {"anthropic": {"type": "thinking", "signature": "s="}})),
        [{"type": "thinking", "thinking": "", "signature": "s="}],
    ),
    "redacted thought": (
        said(ReasoningContent("", {"anthropic": {"type": "redacted_thinking", "data": "x"}})),
        [{"type": "redacted_thinking", "data": "x"}],
    ),
    "thoughts that may not be sent": (
        said(
            ReasoningContent("hm"),
            ReasoningContent("hm", {"bedrock": {"signature": "s"}}),
            ReasoningContent("cut off", {"anthropic": {"type": "thinking"}}),
            Said("Hi"),
        ),
        [text("Hi")],
    ),
    "order of blocks": (
        said(
            Opaque({"type": "server_tool_use", "id": "s1"}),
            Opaque({"type": "web_search_tool_result", "tool_use_id": "s1"}),
            Said("So.", {"citations": [{"url": "u"}]}),
            ADD,
        ),
        [
            {"type": "server_tool_use", "id": "s1"},
            {"type": "web_search_tool_result", "tool_use_id": "s1"},
            {**text("So."), "citations": [{"url": "u"}]},
            ADD_WIRE,
        ],
    ),
    "result": (
        ChatMessage.from_tool("3", ADD),
        [{"type": "tool_result", "tool_use_id": "c1", "content": "3"}],
    ),
    "error": (
        ChatMessage.from_tool("broken", ADD, error=True),
        [{"type": "tool_result", "tool_use_id": "c1", "content": "broken", "is_error": True}],
    ),
    "result with an image": (
        ChatMessage.from_tool([TextContent("Look"), TextContent(""), PNG], ADD),
        [{"type": "tool_result", "tool_use_id": "c1", "content": [text("Look"), PNG_WIRE]}],
    ),
}


@pytest.mark.parametrize("kind", PARTS)
def test_each_kind_of_part_has_its_block(kind: str) -> None:
    """Checked as JSON, as the server sees it."""
    message, blocks = PARTS[kind]
    assert blocks_of(message) == blocks


def test_instructions_stand_apart_and_later_ones_in_their_place() -> None:
    """Models that take no system message in the middle say so."""
    body = body_of(
        ChatMessage.from_system("Be kind."),
        ChatMessage.from_system("Be brief."),
        ChatMessage.from_user("Hi"),
        ChatMessage.from_system("Speak Spanish."),
    )
    assert body["system"] == [text("Be kind."), text("Be brief.")]
    assert body["messages"] == [
        {"role": "user", "content": [text("Hi")]},
        {"role": "system", "content": [text("Speak Spanish.")]},
    ]


def test_all_results_of_a_turn_stand_in_one_message_before_all_else() -> None:
    """What the user says meanwhile follows them."""
    other = ToolCall("add", {}, "c2")
    _, turn = body_of(
        ChatMessage.from_assistant(tool_calls=[ADD, other]),
        ChatMessage.from_tool("3", ADD),
        ChatMessage.from_user("Quick!"),
        ChatMessage.from_tool("4", other),
    )["messages"]
    assert turn["role"] == "user"
    assert [block.get("tool_use_id") for block in turn["content"]] == ["c1", "c2", None]


def test_an_answer_without_content_is_not_sent_back() -> None:
    """The API refuses it; the messages around it become one."""
    body = body_of(
        ChatMessage.from_user("Hi"), ChatMessage.from_assistant(), ChatMessage.from_user("And?")
    )
    assert body["messages"] == [{"role": "user", "content": [text("Hi"), text("And?")]}]


CHOSEN: list[tuple[dict[str, object], dict[str, object] | None]] = [
    ({}, None),
    ({"tool_choice": "auto"}, {"type": "auto"}),
    ({"tool_choice": "none"}, {"type": "none"}),
    ({"tool_choice": "required"}, {"type": "any"}),
    ({"tool_choice": "add"}, {"type": "tool", "name": "add"}),
    (
        {"tool_choice": {"type": "function", "function": {"name": "add"}}},
        {"type": "tool", "name": "add"},
    ),
    ({"tool_choice": {"type": "any"}}, {"type": "any"}),
    ({"parallel_tool_calls": True}, None),
    ({"parallel_tool_calls": False}, {"type": "auto", "disable_parallel_tool_use": True}),
    (
        {"tool_choice": "required", "parallel_tool_calls": False},
        {"type": "any", "disable_parallel_tool_use": True},
    ),
    ({"tool_choice": "none", "parallel_tool_calls": False}, {"type": "none"}),
]


@pytest.mark.parametrize(("options", "wire"), CHOSEN)
def test_the_choice_of_a_tool_has_the_api_s_form(
    options: dict[str, object], wire: dict[str, object] | None
) -> None:
    """Given as for Chat Completions, or as the API names it."""
    body = body_of(tools=[TOOL], options=options)
    assert body.get("tool_choice") == wire
    assert "parallel_tool_calls" not in body
    assert "tool_choice" not in body_of(options=options)


def test_tools_of_the_provider_follow_those_of_the_agent() -> None:
    """They are given as the API names them."""
    search = {"type": "web_search_20250305", "name": "web_search"}
    assert body_of(tools=[TOOL], options={"tools": [search]})["tools"] == [TOOL_WIRE, search]
    assert "tools" not in body_of()


PLAIN = {
    "model": "m",
    "max_tokens": 8192,
    "messages": [{"role": "user", "content": [text("Hi")]}],
}
WANTED = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
FORMAT = {"type": "json_schema", "schema": SCHEMA}
OPTIONS: list[tuple[dict[str, object], dict[str, object]]] = [
    ({}, {}),
    ({"max_tokens": 5, "temperature": 0}, {"max_tokens": 5, "temperature": 0}),
    ({"max_completion_tokens": 5}, {"max_tokens": 5}),
    ({"stop": "END"}, {"stop_sequences": ["END"]}),
    ({"stop": ["A", "B"]}, {"stop_sequences": ["A", "B"]}),
    ({"top_p": None}, {}),
    ({"thinking": {"type": "adaptive"}}, {"thinking": {"type": "adaptive"}}),
    ({"system": "Be kind."}, {"system": "Be kind."}),
    ({"response_format": {"type": "text"}}, {}),
    ({"response_format": WANTED}, {"output_config": {"format": FORMAT}}),
    (
        {"response_format": WANTED, "output_config": {"effort": "low"}},
        {"output_config": {"effort": "low", "format": FORMAT}},
    ),
    ({"output_config": {"effort": "low"}}, {"output_config": {"effort": "low"}}),
]


@pytest.mark.parametrize(("options", "members"), OPTIONS)
def test_options_stand_in_the_body(options: dict[str, object], members: dict[str, object]) -> None:
    """They win over what is made here, and None takes one out."""
    assert body_of(options=options) == PLAIN | members


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ({"thinking": {"type": "enabled", "budget_tokens": 20_000}}, 28_192),
        ({"thinking": {"type": "enabled", "budget_tokens": 20_000}, "max_tokens": 30_000}, 30_000),
        ({"thinking": {"type": "adaptive"}}, 8192),
    ],
)
def test_the_usual_limit_is_for_what_comes_after_the_thinking(
    options: dict[str, object], limit: int
) -> None:
    """The API counts both, and refuses a limit that is within the budget for thinking."""
    assert body_of(options=options)["max_tokens"] == limit


def test_a_stream_is_asked_for() -> None:
    """Only when somebody watches."""
    assert body_of(stream=True) == PLAIN | {"stream": True}


@pytest.mark.parametrize(
    ("time", "control"),
    [("5m", {"type": "ephemeral"}), ("1h", {"type": "ephemeral", "ttl": "1h"})],
)
def test_the_prompt_cache_is_marked_where_the_next_request_is_the_same(
    time: CacheTime, control: dict[str, str]
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
    assert body["system"] == [{**text("Be kind."), "cache_control": control}]
    assert body["messages"][-1]["content"][-1]["cache_control"] == control
    assert json.dumps(body).count("cache_control") == 2


@pytest.mark.parametrize(
    "part", [PNG, FileContent("aGk=", "application/pdf"), TextContent("Hi")], ids=["i", "d", "t"]
)
def test_every_kind_of_block_of_a_user_can_be_marked(part: UserPart) -> None:
    """Pictures and documents, too."""
    body = body_of(ChatMessage.from_user(content_parts=[part]), prompt_cache="5m")
    assert "cache_control" in body["messages"][-1]["content"][-1]


def test_what_cannot_be_marked_for_the_cache_is_left_alone() -> None:
    """Instructions given as an option, and thoughts."""
    thought = ReasoningContent("", {"anthropic": {"type": "redacted_thinking", "data": "x"}})
    body = body_of(said(thought), prompt_cache="5m", options={"system": "Be kind."})
    assert "cache_control" not in json.dumps(body)


def test_code_goes_on_in_the_container_in_which_it_ran() -> None:
    """The last one that was told; an option wins."""
    talk = [
        assistant_message("anthropic", [Said("a")], {"container": "old"}),
        assistant_message("anthropic", [Said("b")], {"container": "new"}),
        ChatMessage.from_user("Hi"),
    ]
    assert body_of(*talk)["container"] == "new"
    assert "container" not in body_of(*talk, options={"container": None})
    assert "container" not in body_of()


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
        (
            ChatMessage.from_user(content_parts=[FileContent("", "audio/mpeg")]),
            {},
            "file of type audio/mpeg",
        ),
        (ChatMessage.from_user("Hi"), {"temperature": float("nan")}, "not JSON"),
        (
            ChatMessage.from_user("Hi"),
            {"response_format": {"type": "json_object"}},
            "response_format",
        ),
    ],
    ids=["id", "id of result", "call", "image", "audio", "nan", "format"],
)
def test_what_cannot_be_sent_is_a_bad_request(
    message: ChatMessage, options: dict[str, object], what: str
) -> None:
    """It is found before anything is sent, and says what this API does not take."""
    with pytest.raises(ChatGeneratorError, match=f"the Messages API takes no .*{what}") as caught:
        body_of(message, options=options)
    assert caught.value.failure.cause == "bad_request"
