"""Where a request to Cohere goes, what it carries, and who gets the key."""

from __future__ import annotations

import pytest

from detent.adapters.providers.cohere.chat import CohereChatGenerator
from detent.core.chat.messages import ChatMessage
from detent.ports.chat import ChatGeneratorError
from tests.adapters.providers.http.wires import Wire

QUESTION = [ChatMessage.from_user("Say hello")]
HELLO = {
    "message": {"content": [{"type": "text", "text": "hello"}]},
    "finish_reason": "COMPLETE",
}


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CO_API_KEY", "COHERE_API_KEY", "CO_API_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("environment", "base", "url", "sent"),
    [
        ({"CO_API_KEY": "c-e"}, None, "https://api.cohere.com/v2/chat", "Bearer c-e"),
        ({"COHERE_API_KEY": "c-e"}, None, "https://api.cohere.com/v2/chat", "Bearer c-e"),
        ({"CO_API_KEY": "c-e"}, "https://box/v2", "https://box/v2/chat", None),
        (
            {"CO_API_KEY": "c-e", "CO_API_URL": "https://box"},
            None,
            "https://box/chat",
            "Bearer c-e",
        ),
    ],
)
def test_the_environments_key_goes_only_where_it_belongs(
    environment: dict[str, str],
    base: str | None,
    url: str,
    sent: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To Cohere and to the server that the environment names."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    wire = Wire(HELLO)
    with wire.client() as client:
        CohereChatGenerator("m", api_base_url=base, http_client=client).run(QUESTION)
    assert str(wire.requests[0].url) == url
    assert wire.requests[0].headers.get("authorization") == sent


def test_an_error_is_typed_and_holds_no_key() -> None:
    """Cohere's own kinds of error are known."""
    error = {"error_type": "TOO_MANY_TOKENS", "message": "c-1: too many"}
    generator = CohereChatGenerator("m", api_key="c-1", http_client=Wire(error, 400).client())
    with pytest.raises(ChatGeneratorError, match=r"\*\*\*: too many") as caught:
        generator.run(QUESTION)
    assert caught.value.failure.cause == "context_length"
