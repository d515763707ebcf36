"""The generator's own part: where a request goes, what it carries, and who gets the key."""

from __future__ import annotations

import pytest

from detent.adapters.providers.anthropic.chat import AnthropicChatGenerator
from detent.core.chat.messages import ChatMessage
from detent.ports.chat import ChatGeneratorError
from tests.adapters.providers.http.wires import Wire

QUESTION = [ChatMessage.from_user("Say hello")]
HELLO = {
    "type": "message",
    "content": [{"type": "text", "text": "hello"}],
    "stop_reason": "end_turn",
}


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes to Anthropic, not to a server that the code names."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-e")
    wire = Wire(HELLO)
    with wire.client() as client:
        AnthropicChatGenerator("m", http_client=client).run(QUESTION)
        AnthropicChatGenerator("m", api_base_url="https://a.org", http_client=client).run(QUESTION)
    home, other = wire.requests
    assert home.headers["x-api-key"] == "sk-e"
    assert str(other.url) == "https://a.org/v1/messages"
    assert "x-api-key" not in other.headers


def test_without_a_key_the_call_says_what_to_do() -> None:
    """The generator can be made without one."""
    generator = AnthropicChatGenerator("m")
    with pytest.raises(ChatGeneratorError, match="ANTHROPIC_API_KEY is not set") as caught:
        generator.run(QUESTION)
    assert caught.value.failure.cause == "authentication"


def test_betas_are_asked_for_in_a_header() -> None:
    """The version is that of this adapter unless another one is given."""
    wire = Wire(HELLO)
    headers = {"anthropic-beta": "files-api-2025-04-14"}
    with wire.client() as client:
        generator = AnthropicChatGenerator("m", api_key="k", headers=headers, http_client=client)
        generator.run(QUESTION)
    assert wire.requests[0].headers["anthropic-beta"] == "files-api-2025-04-14"
    assert wire.requests[0].headers["anthropic-version"] == "2023-06-01"


def test_options_reach_the_body() -> None:
    """Those of the generator, of the call, and the prompt cache."""
    wire = Wire(HELLO)
    with wire.client() as client:
        generator = AnthropicChatGenerator(
            "m",
            api_key="k",
            prompt_cache="1h",
            generation_kwargs={"max_tokens": 5, "top_k": 3},
            http_client=client,
        )
        generator.run(QUESTION, generation_kwargs={"max_tokens": 6, "top_k": None})
    body = wire.requests[0].content
    assert b'"max_tokens":6' in body
    assert b"top_k" not in body
    assert b'"cache_control":{"type":"ephemeral","ttl":"1h"}' in body
