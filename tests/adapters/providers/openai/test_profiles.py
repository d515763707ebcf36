"""How servers that speak Chat Completions differ, as data."""

from __future__ import annotations

import json
from typing import Any

import pytest

from detent.adapters.providers.http.api import ChatRequest
from detent.adapters.providers.openai.encode import request_body
from detent.adapters.providers.openai.profiles import (
    COMPATIBLE,
    DEEPSEEK,
    GROQ,
    LLAMA_CPP,
    MISTRAL,
    OLLAMA,
    OPENAI,
    OPENROUTER,
    TOGETHER,
    VLLM,
    XAI,
    Profile,
    azure,
)
from detent.core.chat.messages import (
    ChatMessage,
    FileContent,
    ImageContent,
    ReasoningContent,
    ToolCall,
)
from detent.ports.chat import ChatGeneratorError

Json = dict[str, Any]

ADD = ToolCall("add", {}, "call_0123456789")
OWN = ToolCall("add", {}, "g6fVbXS8K")


def body_of(profile: Profile, *messages: ChatMessage, **options: object) -> Json:
    """The body of a request to a server of this profile."""
    body: Json = json.loads(request_body(ChatRequest("m", messages, [], options), profile=profile))
    return body


def sent(profile: Profile, *messages: ChatMessage) -> list[Json]:
    """The messages of such a request."""
    wire: list[Json] = body_of(profile, *messages)["messages"]
    return wire


@pytest.mark.parametrize(
    ("profile", "options", "members"),
    [
        (OPENAI, {"max_tokens": 5}, {"max_completion_tokens": 5}),
        (COMPATIBLE, {"max_tokens": 5}, {"max_tokens": 5}),
        (MISTRAL, {"max_completion_tokens": 5, "seed": 1}, {"max_tokens": 5, "random_seed": 1}),
        (DEEPSEEK, {"max_completion_tokens": 5}, {"max_tokens": 5}),
        (GROQ, {"max_completion_tokens": 5}, {"max_completion_tokens": 5}),
    ],
)
def test_options_have_the_names_that_the_server_knows(
    profile: Profile, options: Json, members: Json
) -> None:
    """Strict servers refuse the others."""
    body = body_of(profile, **options)
    assert {name: body[name] for name in body if name not in {"model", "messages"}} == members


def thinking(field: str, **extra: object) -> ChatMessage:
    """An answer with a thought that came in this member."""
    return ChatMessage.from_assistant(
        "Hi", reasoning=ReasoningContent("hm", {"field": field, **extra})
    )


DETAILS = [{"type": "reasoning.text", "text": "hm", "signature": "s"}]
PARTS = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
    {"type": "text", "text": "Hi"},
]
REPLAYED: list[tuple[Profile, ChatMessage, Json]] = [
    (OPENAI, thinking("reasoning_content"), {"content": "Hi"}),
    (DEEPSEEK, thinking("reasoning_content"), {"content": "Hi", "reasoning_content": "hm"}),
    (DEEPSEEK, thinking("reasoning"), {"content": "Hi"}),
    (GROQ, thinking("reasoning"), {"content": "Hi", "reasoning": "hm"}),
    (GROQ, thinking("reasoning_content"), {"content": "Hi"}),
    (
        OPENROUTER,
        thinking("reasoning", reasoning_details=DETAILS),
        {"content": "Hi", "reasoning": "hm", "reasoning_details": DETAILS},
    ),
    (GROQ, thinking("reasoning", reasoning_details=DETAILS), {"content": "Hi", "reasoning": "hm"}),
    (MISTRAL, thinking("content"), {"content": PARTS}),
    (MISTRAL, thinking("reasoning_content"), {"content": "Hi"}),
    (GROQ, thinking("content"), {"content": "Hi"}),
]


@pytest.mark.parametrize(("profile", "message", "members"), REPLAYED)
def test_reasoning_is_given_back_in_members_that_the_server_knows(
    profile: Profile, message: ChatMessage, members: Json
) -> None:
    """Strict servers answer 400 or 422 to the others."""
    assert sent(profile, message) == [{"role": "assistant", **members}]


def test_mistral_gets_ids_of_nine_characters() -> None:
    """Its own stay; a call and its result have the same one."""
    messages = [
        ChatMessage.from_assistant(tool_calls=[ADD, OWN]),
        ChatMessage.from_tool("1", ADD),
        ChatMessage.from_tool("2", OWN),
    ]
    said, first, second = sent(MISTRAL, *messages)
    ids = [call["id"] for call in said["tool_calls"]]
    assert ids == [first["tool_call_id"], second["tool_call_id"]]
    assert ids[1] == "g6fVbXS8K"
    assert len(ids[0]) == 9
    assert ids[0].isalnum()


def test_mistral_hears_an_ok_between_a_result_and_a_user() -> None:
    """Most of its models refuse the order without one; between results there is none."""
    messages = [
        ChatMessage.from_assistant(tool_calls=[ADD, OWN]),
        ChatMessage.from_tool("1", ADD),
        ChatMessage.from_tool("2", OWN),
        ChatMessage.from_user("And?"),
        ChatMessage.from_user("Well?"),
    ]
    roles = [message["role"] for message in sent(MISTRAL, *messages)]
    assert roles == ["assistant", "tool", "tool", "assistant", "user", "user"]
    assert sent(MISTRAL, *messages)[3]["content"] == "OK"


def test_mistral_gets_documents_and_no_names() -> None:
    """It refuses both the form of files and names."""
    pdf = FileContent("aGk=", "application/pdf", "a.pdf")
    message = ChatMessage.from_user(content_parts=["Read", pdf, ImageContent("aGk=")], name="Ann")
    (wire,) = sent(MISTRAL, message)
    assert wire["role"] == "user"
    assert "name" not in wire
    assert wire["content"] == [
        {"type": "text", "text": "Read"},
        {"type": "document_url", "document_url": "data:application/pdf;base64,aGk="},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
    ]


PDF = FileContent("aGk=", "application/pdf", "a.pdf")
IMAGE = ImageContent("aGk=")


@pytest.mark.parametrize(
    ("profile", "part"),
    [
        *((one, PDF) for one in (DEEPSEEK, GROQ, LLAMA_CPP, OLLAMA, TOGETHER, VLLM, XAI)),
        (DEEPSEEK, IMAGE),
    ],
)
def test_what_a_server_never_takes_is_refused_at_once(
    profile: Profile, part: FileContent | ImageContent
) -> None:
    """Also in the result of a tool."""
    asked = ChatMessage.from_user(content_parts=["Read", part])
    told = ChatMessage.from_tool([part], ToolCall("look", {}, "1"))
    for message in (asked, told):
        with pytest.raises(ChatGeneratorError, match="this server takes no part of type"):
            sent(profile, message)
    sent(profile, ChatMessage.from_user(content_parts=["Read", "this"]))


@pytest.mark.parametrize(
    ("version", "member"),
    [
        ("", "max_completion_tokens"),
        ("2024-10-21", "max_completion_tokens"),
        ("2024-06-01", "max_tokens"),
    ],
)
def test_azure_hears_of_the_limit_in_the_words_of_its_version(version: str, member: str) -> None:
    """Its models that reason refuse the old name, and its old versions the new one."""
    profile = azure("https://a.openai.azure.com", "d", version)
    assert body_of(profile, ChatMessage.from_user("Hi"), max_tokens=5)[member] == 5


@pytest.mark.parametrize(
    ("version", "token", "base_url", "header"),
    [
        ("", False, "https://a.openai.azure.com/openai/v1", ("api-key", "")),
        (
            "2024-10-21",
            False,
            "https://a.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
            ("api-key", ""),
        ),
        ("", True, "https://a.openai.azure.com/openai/v1", ("authorization", "Bearer ")),
    ],
)
def test_azure_has_two_paths_and_two_kinds_of_keys(
    version: str, base_url: str, header: tuple[str, str], *, token: bool
) -> None:
    """A dated version has the deployment in the path."""
    profile = azure("https://a.openai.azure.com/", "d", version, token=token)
    assert (profile.endpoint.base_url, profile.endpoint.key_header) == (base_url, header)
