"""Where a request to Cohere goes, what it carries, and who gets the key."""

from __future__ import annotations

import asyncio
import json

import pytest

from detent.adapters.cohere.chat import CohereChatGenerator
from detent.core.messages import ChatMessage
from detent.core.replies import ChatReply, StreamingChunk
from detent.ports.chat import AsyncChatGenerator, ChatGenerator, ChatGeneratorError
from tests.adapters.http.wires import Wire

QUESTION = [ChatMessage.from_user("Say hello")]
HELLO = {
    "message": {"content": [{"type": "text", "text": "hello"}]},
    "finish_reason": "COMPLETE",
}


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CO_API_KEY", "COHERE_API_KEY", "CO_API_URL"):
        monkeypatch.delenv(name, raising=False)


def test_a_request_is_sent_and_its_reply_read_in_both_colours() -> None:
    """The same request, the same reply."""
    wire = Wire(HELLO)

    async def run_async() -> ChatReply:
        async with wire.async_client() as client:
            generator = CohereChatGenerator("m", api_key="c-1", async_http_client=client)
            return await generator.run_async(QUESTION)

    with wire.client() as client:
        reply = CohereChatGenerator("m", api_key="c-1", http_client=client).run(QUESTION)
    assert reply == asyncio.run(run_async())
    assert reply.message.text == "hello"
    one, other = wire.requests
    assert one.content == other.content
    assert str(one.url) == str(other.url) == "https://api.cohere.com/v2/chat"
    assert one.headers["authorization"] == other.headers["authorization"] == "Bearer c-1"


def test_it_is_a_chat_generator_of_both_colours() -> None:
    """By structure; the type checkers read this line."""
    blocking: ChatGenerator = CohereChatGenerator("m")
    coroutine: AsyncChatGenerator = CohereChatGenerator("m")
    assert callable(blocking.run)
    assert callable(coroutine.run_async)


def test_a_callback_asks_for_a_stream() -> None:
    """And sees an answer that is none."""
    wire = Wire(HELLO)
    shown: list[StreamingChunk] = []
    with wire.client() as client:
        generator = CohereChatGenerator("m", api_key="c-1", http_client=client)
        generator.run(QUESTION, streaming_callback=shown.append)
    assert json.loads(wire.requests[0].content)["stream"] is True
    assert [piece.content for piece in shown] == ["hello", ""]


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
