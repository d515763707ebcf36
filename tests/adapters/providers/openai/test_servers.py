"""Chat generators for well-known servers: where each sends its requests, and with which key."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import httpx
import pytest

from detent.adapters.providers.http.secrets import Secret
from detent.adapters.providers.openai import servers
from detent.adapters.providers.openai.chat import OpenAIChatGenerator
from detent.core.chat.messages import ChatMessage
from detent.ports.chat import ChatGeneratorError
from tests.adapters.providers.http.wires import Wire

QUESTION = [ChatMessage.from_user("Say hello")]
HELLO = {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}

Make = Callable[..., OpenAIChatGenerator]

ASKED: list[tuple[Make, str, str]] = [
    (servers.DeepSeekChatGenerator, "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    (servers.GroqChatGenerator, "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    (servers.LlamaCppChatGenerator, "http://localhost:8080/v1", "LLAMA_API_KEY"),
    (servers.MistralChatGenerator, "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    (servers.OllamaV1ChatGenerator, "http://localhost:11434/v1", "OLLAMA_API_KEY"),
    (servers.OpenRouterChatGenerator, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    (servers.TogetherChatGenerator, "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    (servers.VLLMChatGenerator, "http://localhost:8000/v1", "VLLM_API_KEY"),
    (servers.XAIChatGenerator, "https://api.x.ai/v1", "XAI_API_KEY"),
]


def request_of(make: Make, **options: object) -> httpx.Request:
    """The request that a generator sends."""
    wire = Wire(HELLO)
    with wire.client() as client:
        make("m", http_client=client, **options).run(QUESTION)
    return wire.requests[0]


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for _, _, name in ASKED:
        monkeypatch.delenv(name, raising=False)
    for name in ("VLLM_BASE_URL", "LLAMA_BASE_URL", "OLLAMA_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("make", "base_url", "name"), ASKED)
def test_each_has_its_server_and_its_key(
    make: Make, base_url: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key of OpenAI is sent to none of them."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    monkeypatch.setenv(name, "sk-own")
    request = request_of(make)
    assert str(request.url) == f"{base_url}/chat/completions"
    assert request.headers["authorization"] == "Bearer sk-own"


@pytest.mark.parametrize(("make", "base_url", "name"), ASKED)
def test_only_a_server_on_this_machine_is_asked_without_a_key(
    make: Make, base_url: str, name: str
) -> None:
    """The others say which variable is missing."""
    if "localhost" in base_url:
        assert "authorization" not in request_of(make).headers
        return
    with pytest.raises(ChatGeneratorError, match=f"{name} is not set"):
        request_of(make)


def test_the_environment_may_name_a_server_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """For those that have no home of theirs."""
    monkeypatch.setenv("VLLM_BASE_URL", "http://gpu:8000/v1")
    request = request_of(servers.VLLMChatGenerator)
    assert str(request.url) == "http://gpu:8000/v1/chat/completions"


AZURE = "https://a.openai.azure.com/openai"
DATED = f"{AZURE}/deployments/m/chat/completions?api-version=2024-10-21"


@pytest.mark.parametrize(
    ("environment", "options", "url", "header"),
    [
        ({"AZURE_OPENAI_API_KEY": "k"}, {}, f"{AZURE}/v1/chat/completions", ("api-key", "k")),
        ({}, {"api_key": "k"}, f"{AZURE}/v1/chat/completions", ("api-key", "k")),
        ({"OPENAI_API_VERSION": "2024-10-21"}, {"api_key": "k"}, DATED, ("api-key", "k")),
        ({}, {"api_key": "k", "api_version": "2024-10-21"}, DATED, ("api-key", "k")),
        (
            {"AZURE_OPENAI_API_KEY": "k"},
            {"azure_ad_token": Secret(lambda: "t")},
            f"{AZURE}/v1/chat/completions",
            ("authorization", "Bearer t"),
        ),
    ],
)
def test_azure_takes_a_key_or_a_token(
    environment: Mapping[str, str],
    options: Mapping[str, object],
    url: str,
    header: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each in its own header, and never both."""
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://a.openai.azure.com")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    request = request_of(servers.AzureOpenAIChatGenerator, **options)
    assert str(request.url) == url
    sent = {name: request.headers.get(name) for name in ("api-key", "authorization")}
    assert sent == {"api-key": None, "authorization": None} | dict([header])


def test_azure_without_a_place_is_refused_at_once() -> None:
    """The error says how to name it."""
    with pytest.raises(ValueError, match="AZURE_OPENAI_ENDPOINT"):
        servers.AzureOpenAIChatGenerator("m")
