"""Which models a server has, as its API lists them."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from detent import chat_generator
from detent.adapters.providers.http.generator import HttpChatGenerator
from detent.adapters.providers.registry import PROVIDERS
from detent.ports.chat import ChatGeneratorError
from tests.adapters.providers.test_thinking import NEEDED

DATA = {"object": "list", "data": [{"id": "b", "object": "model"}, {"id": "a"}]}
LISTS: dict[str, tuple[str, Any]] = {
    "anthropic": ("https://api.anthropic.com/v1/models?limit=1000", DATA | {"has_more": False}),
    "cohere": (
        "https://api.cohere.com/v1/models?page_size=1000",
        {"models": [{"name": "b"}, {"name": "a"}]},
    ),
    "gemini": (
        "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000",
        {"models": [{"name": "models/b", "displayName": "B"}, {"name": "models/a"}]},
    ),
    "groq": ("https://api.groq.com/openai/v1/models", DATA),
    "ollama": (
        "http://localhost:11434/api/tags",
        {"models": [{"name": "b", "model": "b", "size": 1}, {"model": "a"}]},
    ),
    "openai": ("https://api.openai.com/v1/models", DATA),
    "openai-responses": ("https://api.openai.com/v1/models", DATA),
    "together": ("https://api.together.xyz/v1/models", DATA["data"]),
}
HAVE_NONE = {
    "azure",
    "bedrock",
    "bedrock-anthropic",
    "github",
    "perplexity",
    "snowflake",
    "vertex",
    "vertex-anthropic",
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NEEDED.items():
        monkeypatch.setenv(name, value)
    for name in ("OLLAMA_HOST", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def listed(provider: str, *answer: httpx.Response) -> tuple[list[httpx.Request], list[str]]:
    """What was asked, and the names."""
    sent: list[httpx.Request] = []
    answers = [*answer]

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return answers.pop(0)

    with httpx.Client(transport=httpx.MockTransport(handle)) as client:
        made = chat_generator(f"{provider}:m", api_key="sk-secret", http_client=client)
        assert isinstance(made, HttpChatGenerator)
        return sent, made.list_models()


@pytest.mark.parametrize("provider", LISTS)
def test_a_server_is_asked_for_its_models(provider: str) -> None:
    """Where its API lists them, with the key, and in its order."""
    url, answer = LISTS[provider]
    (sent,), names = listed(provider, httpx.Response(200, json=answer))
    assert (sent.method, str(sent.url), sent.content) == ("GET", url, b"")
    assert "sk-secret" in str(sent.headers.raw)
    assert names == ["b", "a"]


def test_a_server_may_have_none() -> None:
    """That is no failure."""
    assert listed("openai", httpx.Response(200, json={"data": []}))[1] == []


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (httpx.Response(401, json={"error": {"message": "bad sk-secret"}}), "authentication"),
        (httpx.Response(404, text="not here"), "not_found"),
        (httpx.Response(200, text="<html>"), "bad_response"),
        (httpx.Response(200, json={"data": [{"size": 1}]}), "bad_response"),
        (httpx.Response(200, json={"data": 1}), "bad_response"),
        (httpx.Response(200, text=json.dumps(DATA)[:-9]), "cut_stream"),
        (httpx.Response(200), "cut_stream"),
        (httpx.Response(200, json={"error": {"message": "sk-secret"}}), "server"),
    ],
)
def test_what_is_no_list_is_a_typed_failure(answer: httpx.Response, cause: str) -> None:
    """Without the key in it."""
    with pytest.raises(ChatGeneratorError) as caught:
        listed("openai", answer)
    assert caught.value.failure.cause == cause
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize("provider", sorted(HAVE_NONE))
def test_a_provider_without_a_list_says_so_and_is_not_asked(provider: str) -> None:
    """Its API has none, or lists what cannot be called."""
    with pytest.raises(ChatGeneratorError, match="list of models"):
        listed(provider)


@pytest.mark.parametrize("provider", sorted(PROVIDERS.keys() - HAVE_NONE - {"local"}))
def test_all_others_have_one(provider: str) -> None:
    """Below their address."""
    assert listed(provider, httpx.Response(200, json=DATA))[1] == ["b", "a"]
