"""The generator's own part: where a request goes, and what it leaves on the server."""

from __future__ import annotations

import asyncio
import json

import pytest

from detent.adapters.openai_responses.chat import OpenAIResponsesChatGenerator
from detent.core.messages import ChatMessage
from detent.core.replies import ChatReply, StreamingChunk
from detent.ports.chat import AsyncChatGenerator, ChatGenerator, ChatGeneratorError
from tests.adapters.http.wires import Wire

QUESTION = [ChatMessage.from_user("Say hello")]
HELLO = {
    "id": "resp_1",
    "status": "completed",
    "output": [{"type": "message", "content": [{"type": "output_text", "text": "hello"}]}],
}


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def test_a_request_is_sent_and_its_reply_read_in_both_colours() -> None:
    """The same request, the same reply."""
    wire = Wire(HELLO)

    async def run_async() -> ChatReply:
        async with wire.async_client() as client:
            generator = OpenAIResponsesChatGenerator("m", api_key="sk-1", async_http_client=client)
            return await generator.run_async(QUESTION)

    with wire.client() as client:
        reply = OpenAIResponsesChatGenerator("m", api_key="sk-1", http_client=client).run(QUESTION)
    assert reply == asyncio.run(run_async())
    assert reply.message.text == "hello"
    one, other = wire.requests
    assert one.content == other.content
    assert str(one.url) == str(other.url) == "https://api.openai.com/v1/responses"
    assert one.headers["authorization"] == other.headers["authorization"] == "Bearer sk-1"


def test_it_is_a_chat_generator_of_both_colours() -> None:
    """By structure; the type checkers read this line."""
    blocking: ChatGenerator = OpenAIResponsesChatGenerator("m")
    coroutine: AsyncChatGenerator = OpenAIResponsesChatGenerator("m")
    assert callable(blocking.run)
    assert callable(coroutine.run_async)


def test_another_server_gets_no_key_of_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query of its address is kept."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-e")
    wire = Wire(HELLO)
    with wire.client() as client:
        OpenAIResponsesChatGenerator("m", http_client=client).run(QUESTION)
        OpenAIResponsesChatGenerator(
            "m", api_base_url="https://a.org/openai/v1?api-version=1", http_client=client
        ).run(QUESTION)
    home, other = wire.requests
    assert home.headers["authorization"] == "Bearer sk-e"
    assert str(other.url) == "https://a.org/openai/v1/responses?api-version=1"
    assert "authorization" not in other.headers


def test_without_a_key_the_call_says_what_to_do() -> None:
    """The generator can be made without one."""
    with pytest.raises(ChatGeneratorError, match="OPENAI_API_KEY is not set") as caught:
        OpenAIResponsesChatGenerator("m").run(QUESTION)
    assert caught.value.failure.cause == "authentication"


def test_a_conversation_is_sent_whole_unless_it_is_chained() -> None:
    """Only then the server stores it."""
    wire = Wire(HELLO)
    with wire.client() as client:
        for chained in (False, True):
            generator = OpenAIResponsesChatGenerator(
                "m", api_key="k", chained=chained, http_client=client
            )
            reply = generator.run(QUESTION)
            generator.run([*QUESTION, reply.message, ChatMessage.from_user("And?")])
    bodies = [json.loads(request.content) for request in wire.requests]
    assert [body["store"] for body in bodies] == [False, False, True, True]
    assert [len(body["input"]) for body in bodies] == [1, 3, 1, 1]
    assert [body.get("previous_response_id") for body in bodies] == [None, None, None, "resp_1"]


def test_a_callback_asks_for_a_stream() -> None:
    """And sees the pieces of an answer that is none."""
    wire = Wire(HELLO)
    shown: list[StreamingChunk] = []
    with wire.client() as client:
        generator = OpenAIResponsesChatGenerator("m", api_key="k", http_client=client)
        generator.run(QUESTION, streaming_callback=shown.append)
    assert json.loads(wire.requests[0].content)["stream"] is True
    assert [piece.content for piece in shown] == ["hello", ""]


def test_no_key_is_in_messages_or_reprs() -> None:
    """Also when the server echoes it."""
    wire = Wire({"error": {"message": "wrong key sk-1"}}, status=401)
    generator = OpenAIResponsesChatGenerator("m", api_key="sk-1", http_client=wire.client())
    with pytest.raises(ChatGeneratorError) as caught:
        generator.run(QUESTION)
    assert "wrong key ***" in str(caught.value)
    assert "sk-" not in f"{caught.value} {generator!r} {caught.value.failure!r}"
    assert repr(generator) == "OpenAIResponsesChatGenerator('m' at api.openai.com)"
