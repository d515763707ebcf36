"""The generator's own part: where a request goes, and what it leaves on the server."""

from __future__ import annotations

import json

import pytest

from detent.adapters.providers.openai_responses.chat import OpenAIResponsesChatGenerator
from detent.core.chat.messages import ChatMessage
from detent.ports.chat import ChatGeneratorError
from tests.adapters.providers.http.wires import Wire

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
