"""Tokens of a request, counted by the provider before it is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from detent import chat_generator
from detent.core.chat.messages import ChatMessage
from detent.core.tools.tool import ToolSpec
from detent.ports.chat import ChatGeneratorError
from tests.adapters.providers.http.wires import Wire

QUESTION = [ChatMessage.from_system("Be kind"), ChatMessage.from_user("Hi")]
TOOLS = [ToolSpec("add", "Adds.", {"type": "object"})]
GOOGLE = "https://generativelanguage.googleapis.com/v1beta/models/m:countTokens"
VERTEX = "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global"

CASES: list[tuple[str, str, Mapping[str, Any], Sequence[str]]] = [
    (
        "anthropic",
        "https://api.anthropic.com/v1/messages/count_tokens",
        {"input_tokens": 12},
        ("messages", "model", "system", "tools"),
    ),
    ("gemini", GOOGLE, {"totalTokens": 12}, ("generateContentRequest",)),
    (
        "vertex",
        f"{VERTEX}/publishers/google/models/m:countTokens",
        {"totalTokens": 12, "totalBillableCharacters": 9},
        ("contents", "generationConfig", "systemInstruction", "tools"),
    ),
    (
        "openai-responses",
        "https://api.openai.com/v1/responses/input_tokens",
        {"object": "response.input_tokens", "input_tokens": 12},
        ("input", "model", "tools"),
    ),
]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("GOOGLE_CLOUD_LOCATION", raising=False)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")


@pytest.mark.parametrize(("provider", "url", "answer", "members"), CASES)
def test_tokens_are_counted_in_both_colours(
    provider: str, url: str, answer: Mapping[str, Any], members: Sequence[str]
) -> None:
    """With what counts of the request, and nothing else."""
    wire = Wire(answer)
    made: Any = chat_generator(
        f"{provider}:m",
        api_key="k",
        http_client=wire.client(),
        async_http_client=wire.async_client(),
        generation_kwargs={"max_tokens": 9},
    )
    assert made.count_tokens(QUESTION, tools=TOOLS) == 12
    assert asyncio.run(made.count_tokens_async(QUESTION, tools=TOOLS)) == 12
    one, other = wire.requests
    assert str(one.url) == url
    assert one.content == other.content
    assert sorted(json.loads(one.content)) == sorted(members)


def test_ai_studio_counts_a_whole_request() -> None:
    """Which names its model."""
    wire = Wire({"totalTokens": 3})
    made: Any = chat_generator("gemini:m", api_key="k", http_client=wire.client())
    made.count_tokens(QUESTION)
    asked = json.loads(wire.requests[0].content)["generateContentRequest"]
    assert asked["model"] == "models/m"
    assert asked.keys() == {"model", "contents", "systemInstruction"}


@pytest.mark.parametrize(
    ("answer", "cause"),
    [({"error": {"code": 429, "message": "slower"}}, "rate_limit"), ({}, "bad_response")],
)
def test_an_answer_without_a_count_is_a_failure(answer: Mapping[str, Any], cause: str) -> None:
    """As any other."""
    made: Any = chat_generator("anthropic:m", api_key="k", http_client=Wire(answer).client())
    with pytest.raises(ChatGeneratorError) as caught:
        made.count_tokens(QUESTION)
    assert caught.value.failure.cause == cause


def test_a_provider_that_does_not_count_says_so() -> None:
    """Before anything is sent."""
    made: Any = chat_generator("mistral:m", api_key="k", http_client=Wire({}).client())
    with pytest.raises(ChatGeneratorError, match="takes no request to count tokens"):
        made.count_tokens(QUESTION)
