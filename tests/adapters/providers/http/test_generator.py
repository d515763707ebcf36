"""What every chat generator over HTTP does the same: requests, both colours, streams and keys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping

import pytest
from attrs import field, frozen

from detent.adapters.providers.anthropic.chat import AnthropicChatGenerator
from detent.adapters.providers.cohere.chat import CohereChatGenerator
from detent.adapters.providers.gemini.chat import GeminiChatGenerator
from detent.adapters.providers.http.generator import HttpChatGenerator
from detent.adapters.providers.ollama.chat import OllamaChatGenerator
from detent.adapters.providers.openai.chat import OpenAIChatGenerator
from detent.adapters.providers.openai_responses.chat import OpenAIResponsesChatGenerator
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import ChatReply
from detent.ports.chat import AsyncChatGenerator, ChatGenerator, ChatGeneratorError, StreamingChunk
from tests.adapters.providers.http.wires import Wire

QUESTION = [ChatMessage.from_user("Say hello")]
BEARER = {"authorization": "Bearer sk-1"}
HELLO = [{"type": "text", "text": "hello"}]
SAID = [{"type": "message", "content": [{"type": "output_text", "text": "hello"}]}]
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"


@frozen
class Case:
    """A generator, an answer that says hello, and where a request for it goes, with which key."""

    make: Callable[..., HttpChatGenerator]
    answer: Mapping[str, object]
    url: str
    key: Mapping[str, str] = field(default=BEARER)


CASES = {
    "anthropic": Case(
        AnthropicChatGenerator,
        {"type": "message", "content": HELLO, "stop_reason": "end_turn"},
        "https://api.anthropic.com/v1/messages",
        {"x-api-key": "sk-1", "anthropic-version": "2023-06-01"},
    ),
    "cohere": Case(
        CohereChatGenerator,
        {"message": {"content": HELLO}, "finish_reason": "COMPLETE"},
        "https://api.cohere.com/v2/chat",
    ),
    "gemini": Case(
        GeminiChatGenerator,
        {"candidates": [{"content": {"parts": [{"text": "hello"}]}, "finishReason": "STOP"}]},
        GEMINI,
        {"x-goog-api-key": "sk-1"},
    ),
    "ollama": Case(
        OllamaChatGenerator,
        {"message": {"content": "hello"}, "done": True},
        "http://localhost:11434/api/chat",
    ),
    "openai": Case(
        OpenAIChatGenerator,
        {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]},
        "https://api.openai.com/v1/chat/completions",
    ),
    "openai_responses": Case(
        OpenAIResponsesChatGenerator,
        {"id": "resp_1", "status": "completed", "output": SAID},
        "https://api.openai.com/v1/responses",
    ),
}
EACH = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_BASE_URL", "CO_API_URL", "OLLAMA_HOST", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("GOOGLE_GEMINI_BASE_URL", raising=False)


@EACH
def test_a_request_is_sent_and_its_reply_read_in_both_colours(case: Case) -> None:
    """The same request, the same reply."""
    wire = Wire(case.answer)

    async def run_async() -> ChatReply:
        async with wire.async_client() as client:
            coroutine: AsyncChatGenerator = case.make("m", api_key="sk-1", async_http_client=client)
            return await coroutine.run_async(QUESTION)

    with wire.client() as client:
        blocking: ChatGenerator = case.make("m", api_key="sk-1", http_client=client)
        reply = blocking.run(QUESTION)
    assert reply == asyncio.run(run_async())
    assert reply.message.text == "hello"
    one, other = wire.requests
    assert one.content == other.content
    assert str(one.url) == str(other.url) == case.url
    assert one.headers["content-type"] == "application/json"
    assert {name for name in one.headers if "sk-1" in one.headers[name]} <= case.key.keys()
    for request in (one, other):
        assert {name: request.headers[name] for name in case.key} == case.key


@EACH
def test_a_callback_asks_for_a_stream_and_sees_an_answer_that_is_none(case: Case) -> None:
    """Some servers answer in one body all the same."""
    wire = Wire(case.answer)
    shown: list[StreamingChunk] = []
    with wire.client() as client:
        generator = case.make("m", api_key="sk-1", http_client=client)
        generator.run(QUESTION, streaming_callback=shown.append)
    (request,) = wire.requests
    asked = json.loads(request.content).get("stream") or "stream" in str(request.url)
    assert asked is True
    assert [piece.content for piece in shown] == ["hello", ""]


@EACH
def test_no_key_is_in_messages_or_reprs(case: Case) -> None:
    """Also when the server echoes it."""
    wire = Wire({"error": {"message": "wrong key sk-1"}}, status=401)
    generator = case.make("m", api_key="sk-1", http_client=wire.client())
    with pytest.raises(ChatGeneratorError, match=r"wrong key \*\*\*") as caught:
        generator.run(QUESTION)
    assert "sk-" not in f"{caught.value} {generator!r} {caught.value.failure!r}"
    host = case.url.split("/")[2]
    assert repr(generator) == f"{case.make.__name__}('m' at {host})"
