"""One setting for how much a model thinks, in the words of every provider."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from detent import chat_generator
from detent.adapters.providers.capabilities import CAPABILITIES
from detent.adapters.providers.meaning.thinking import ThinkingLevel
from detent.adapters.providers.registry import PROVIDERS, described, from_description
from detent.core.chat.messages import ChatMessage
from detent.ports.chat import ChatGeneratorError
from tests.adapters.providers.http.recorded import needs_records, records

NEEDED = {
    "AWS_REGION": "eu-central-1",
    "AZURE_OPENAI_ENDPOINT": "https://example.openai.azure.com",
    "GOOGLE_CLOUD_PROJECT": "p",
    "SNOWFLAKE_ACCOUNT": "a",
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NEEDED.items():
        monkeypatch.setenv(name, value)


def body_of(
    model: str, level: ThinkingLevel | None, options: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The body of a request to a model."""
    bodies: list[dict[str, Any]] = []

    def keep(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(400)

    with httpx.Client(transport=httpx.MockTransport(keep)) as client:
        made = chat_generator(
            model, api_key="k", http_client=client, thinking=level, generation_kwargs=options
        )
        with pytest.raises(ChatGeneratorError) as caught:
            made.run([ChatMessage.from_user("Hi")])
    if not bodies:
        raise caught.value
    return bodies[0]


def budget(tokens: int) -> dict[str, object]:
    """A budget as Anthropic writes it."""
    return {"type": "enabled", "budget_tokens": tokens}


def gemini(**config: object) -> dict[str, object]:
    """Gemini's place for it."""
    return {"generationConfig": {"thinkingConfig": config}}


def bedrock(**members: object) -> dict[str, object]:
    """Bedrock's place for what is the model's own."""
    return {"additionalModelRequestFields": members}


def adaptive(level: str) -> dict[str, object]:
    """Of Anthropic's models that know themselves how long to think."""
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": level}}


WORDS: list[tuple[str, ThinkingLevel, Mapping[str, object]]] = [
    ("anthropic:claude-sonnet-4-5", "off", {"thinking": {"type": "disabled"}}),
    ("anthropic:claude-sonnet-4-5", "low", {"thinking": budget(2048), "max_tokens": 10_240}),
    ("anthropic:claude-opus-4-20250514", 500, {"thinking": budget(1024)}),
    ("anthropic:claude-3-7-sonnet-latest", 5000, {"thinking": budget(5000)}),
    ("anthropic:claude-opus-4-6", "high", adaptive("high")),
    ("anthropic:claude-opus-5", 3000, adaptive("medium")),
    ("bedrock:eu.anthropic.claude-sonnet-4-5-20250929-v1:0", 5000, bedrock(thinking=budget(5000))),
    ("bedrock:anthropic.claude-opus-4-6-v1", "low", bedrock(**adaptive("low"))),
    (
        "bedrock:amazon.nova-2-lite-v1:0",
        "low",
        bedrock(reasoningConfig={"type": "enabled", "maxReasoningEffort": "low"}),
    ),
    ("bedrock:amazon.nova-2-lite-v1:0", "off", bedrock(reasoningConfig={"type": "disabled"})),
    ("bedrock:openai.gpt-oss-120b-1:0", "high", bedrock(reasoning_effort="high")),
    ("cohere:command-a-reasoning-08-2025", "off", {"thinking": {"type": "disabled"}}),
    (
        "cohere:command-a-reasoning-08-2025",
        700,
        {"thinking": {"type": "enabled", "token_budget": 700}},
    ),
    ("gemini:gemini-2.5-flash", "off", gemini(thinkingBudget=0)),
    ("gemini:gemini-2.5-flash", "low", gemini(thinkingBudget=2048, includeThoughts=True)),
    ("vertex:gemini-3-pro", "low", gemini(thinkingLevel="low", includeThoughts=True)),
    ("gemini:gemini-3-flash", "off", gemini(thinkingLevel="minimal")),
    ("gemini:gemini-3-flash", 900, gemini(thinkingBudget=900, includeThoughts=True)),
    ("ollama:qwen3:4b", "low", {"think": True}),
    ("ollama:qwen3:4b", "off", {"think": False}),
    ("ollama:gpt-oss:20b", "medium", {"think": "medium"}),
    ("openai:gpt-5.1", "off", {"reasoning_effort": "none"}),
    ("openai:gpt-5-mini", "off", {"reasoning_effort": "minimal"}),
    ("openai:o3", 100, {"reasoning_effort": "low"}),
    ("openai-responses:gpt-5.1", "high", {"reasoning": {"effort": "high"}}),
    ("openrouter:a/b", "off", {"reasoning": {"enabled": False}}),
    ("openrouter:a/b", 900, {"reasoning": {"max_tokens": 900}}),
    ("vercel:a/b", "low", {"reasoning": {"effort": "low"}}),
    ("deepseek:m", "off", {"thinking": {"type": "disabled"}}),
    ("zai:glm-5", "high", {"thinking": {"type": "enabled"}}),
    ("moonshot:kimi-k2", "low", {"thinking": {"type": "enabled"}}),
    ("vllm:m", "off", {"chat_template_kwargs": {"enable_thinking": False}}),
    ("groq:m", "low", {"reasoning_effort": "low"}),
    ("perplexity:sonar", "low", {"reasoning_effort": "low"}),
]


@pytest.mark.parametrize(("model", "thinking", "members"), WORDS)
def test_a_level_is_said_in_the_words_of_the_provider(
    model: str, thinking: ThinkingLevel, members: Mapping[str, object]
) -> None:
    """As near as it has them."""
    body = body_of(model, thinking)
    assert {name: body.get(name) for name in members} == members


OWN: list[tuple[str, dict[str, Any]]] = [
    ("anthropic:claude-sonnet-4-5", {"thinking": budget(1111)}),
    ("openai:m", {"reasoning_effort": "medium"}),
    ("openai-responses:m", {"reasoning": {"effort": "medium", "summary": "auto"}}),
    ("gemini:gemini-3", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 7}}}),
    ("cohere:m", {"thinking": {"type": "enabled"}}),
    ("ollama:m", {"think": "low"}),
    ("bedrock:openai.m", {"additionalModelRequestFields": {"reasoning_effort": "low", "k": 5}}),
]


@pytest.mark.parametrize(("model", "own"), OWN)
def test_what_is_said_in_the_own_words_of_a_provider_wins(model: str, own: dict[str, Any]) -> None:
    """Whoever says it so knows the provider."""
    body = body_of(model, "high", own)
    assert {name: body.get(name) for name in own} == own


@pytest.mark.parametrize("provider", sorted(PROVIDERS.keys() - {"local"}))
def test_without_the_setting_nothing_is_said(provider: str) -> None:
    """The model's own habit holds."""
    words = {"thinking", "reasoning", "reasoning_effort", "think", "additionalModelRequestFields"}
    assert words.isdisjoint(body_of(f"{provider}:m", None))


@pytest.mark.parametrize(("model", "thinking"), [("openai:o3", "off"), ("bedrock:m", "low")])
def test_what_a_model_cannot_be_told_is_refused_before_it_is_sent(
    model: str, thinking: ThinkingLevel
) -> None:
    """Rather than left out."""
    with pytest.raises(ChatGeneratorError, match="takes no thinking"):
        body_of(model, thinking)


@pytest.mark.parametrize("wrong", ["much", 0, -1, True, 1.5])
def test_what_is_no_level_is_refused_at_once(wrong: Any) -> None:
    """When the generator is made."""
    with pytest.raises(ValueError, match="thinking must be 'off', 'low', 'medium', 'high' or"):
        chat_generator("openai:m", thinking=wrong)


def test_the_setting_is_data() -> None:
    """An agent that is written down keeps it."""
    data = described(chat_generator("openai:m", thinking="low"))
    assert data["thinking"] == "low"
    assert described(from_description(data)) == data


IN_RECORDS = {
    "gemini": {"google", "gemini"},
    "litellm": {"litellm-proxy"},
    "moonshot": {"moonshot", "moonshotai"},
    "ollama-v1": {"ollama-openai"},
    "openai-responses": {"openai"},
    "vercel": {"vercel-gateway"},
    "vertex": {"vertex"},
}


@needs_records
def test_what_is_said_to_be_held_against_recordings_is_recorded() -> None:
    """And what is not, is not."""
    files = set(map_of_files())
    for name, can in CAPABILITIES.items():
        assert can.recorded == bool(files & IN_RECORDS.get(name, {name})), name


def map_of_files() -> list[str]:
    """The provider of every record."""
    names = "anthropic bedrock_converse cohere gemini groq mistral ollama openai_chat"
    others = "openai_compatible openai_responses openrouter"
    return [record["provider"] for name in f"{names} {others}".split() for record in records(name)]


def test_every_provider_says_what_it_can() -> None:
    """The table has a row for each."""
    assert CAPABILITIES.keys() == PROVIDERS.keys() - {"local"}
