"""Where a request to Ollama goes, and who gets a key."""

from __future__ import annotations

import json

import pytest

from detent.adapters.providers.ollama.chat import OllamaChatGenerator
from detent.core.chat.messages import ChatMessage
from detent.ports.chat import StreamingChunk
from tests.adapters.providers.http.wires import Wire

QUESTION = [ChatMessage.from_user("Say hello")]
HELLO = {"message": {"content": "hello"}, "done": True, "done_reason": "stop"}


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    monkeypatch.delenv("OLLAMA_API_KEY", raising=False)


def test_a_callback_asks_for_a_stream_of_lines() -> None:
    """Without one Ollama has to be told not to stream."""
    first = {"message": {"content": "hel"}, "done": False}
    wire = Wire(f"{json.dumps(first)}\n{json.dumps(HELLO)}\n")
    shown: list[StreamingChunk] = []
    with wire.client() as client:
        generator = OllamaChatGenerator("m", http_client=client)
        generator.run(QUESTION, streaming_callback=shown.append)
        generator.run(QUESTION)
    assert [json.loads(one.content)["stream"] for one in wire.requests] == [True, False]
    assert [piece.content for piece in shown] == ["hel", "hello", ""]


@pytest.mark.parametrize(
    ("environment", "base", "url", "sent"),
    [
        ({"OLLAMA_HOST": "box:1"}, None, "http://box:1/api/chat", None),
        ({"OLLAMA_HOST": "https://box/o/"}, None, "https://box/o/api/chat", None),
        ({"OLLAMA_HOST": "box:1"}, "http://other:2", "http://other:2/api/chat", None),
        (
            {"OLLAMA_HOST": "https://box", "OLLAMA_API_KEY": "o-1"},
            None,
            "https://box/api/chat",
            "Bearer o-1",
        ),
        ({"OLLAMA_API_KEY": "o-1"}, "https://other", "https://other/api/chat", None),
    ],
)
def test_the_environment_names_the_server_and_its_key(
    environment: dict[str, str],
    base: str | None,
    url: str,
    sent: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As Ollama's own tools read it; a server that the code names gets no key from there."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    wire = Wire(HELLO)
    with wire.client() as client:
        OllamaChatGenerator("m", api_base_url=base, http_client=client).run(QUESTION)
    assert str(wire.requests[0].url) == url
    assert wire.requests[0].headers.get("authorization") == sent
