"""Where a request to Gemini goes, what it carries, and who gets the key."""

from __future__ import annotations

import json

import pytest

from detent.adapters.providers.gemini.chat import GeminiChatGenerator, VertexChatGenerator
from detent.adapters.providers.http.secrets import Secret
from detent.core.chat.messages import ChatMessage
from detent.ports.chat import ChatGeneratorError, StreamingChunk
from tests.adapters.providers.http.wires import Wire

QUESTION = [ChatMessage.from_user("Say hello")]
HELLO = {"candidates": [{"content": {"parts": [{"text": "hello"}]}, "finishReason": "STOP"}]}
STREAM = f"data: {json.dumps(HELLO)}\r\n\r\n"
STUDIO = "https://generativelanguage.googleapis.com/v1beta/models/m"


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_OAUTH_ACCESS_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_PROJECT", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_a_callback_asks_for_a_stream_of_events() -> None:
    """Without `alt=sse` Google would send a list, at the end."""
    wire = Wire(STREAM)
    shown: list[StreamingChunk] = []
    with wire.client() as client:
        generator = GeminiChatGenerator("m", api_key="g-1", http_client=client)
        generator.run(QUESTION, streaming_callback=shown.append)
    assert str(wire.requests[0].url) == f"{STUDIO}:streamGenerateContent?alt=sse"
    assert [piece.content for piece in shown] == ["hello", ""]


def test_a_tuned_model_is_named_by_its_path() -> None:
    """It is not among Google's."""
    wire = Wire(HELLO)
    with wire.client() as client:
        GeminiChatGenerator("tunedModels/my-own", api_key="g-1", http_client=client).run(QUESTION)
    assert wire.requests[0].url.path == "/v1beta/tunedModels/my-own:generateContent"


@pytest.mark.parametrize(
    ("location", "url"),
    [
        (None, "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global"),
        (
            "europe-west4",
            "https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/p/locations/europe-west4",
        ),
    ],
)
def test_with_a_project_it_speaks_to_vertex_ai(
    location: str | None, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a token that is asked for at each call."""
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    tokens = iter(["t-1", "t-2"])
    wire = Wire(HELLO)
    with wire.client() as client:
        generator = VertexChatGenerator(
            "m", location=location, api_key=Secret(lambda: next(tokens)), http_client=client
        )
        generator.run(QUESTION)
        generator.run(QUESTION)
    assert str(wire.requests[0].url) == f"{url}/publishers/google/models/m:generateContent"
    assert [one.headers["authorization"] for one in wire.requests] == ["Bearer t-1", "Bearer t-2"]


@pytest.mark.parametrize("name", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
def test_the_key_is_in_either_of_two_variables(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are in use; it may be set later than the generator is made."""
    wire = Wire(HELLO)
    generator = GeminiChatGenerator("m", http_client=wire.client())
    with pytest.raises(ChatGeneratorError, match="GEMINI_API_KEY or GOOGLE_API_KEY is not set"):
        generator.run(QUESTION)
    monkeypatch.setenv(name, "g-1")
    generator.run(QUESTION)
    assert wire.requests[0].headers["x-goog-api-key"] == "g-1"


def test_the_environments_key_goes_to_google_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that the code names gets one only if the code says so."""
    monkeypatch.setenv("GEMINI_API_KEY", "g-1")
    wire = Wire(HELLO)
    with wire.client() as client:
        base = "https://example.org/v1beta"
        GeminiChatGenerator("m", api_base_url=base, http_client=client).run(QUESTION)
    assert str(wire.requests[0].url) == f"{base}/models/m:generateContent"
    assert "x-goog-api-key" not in wire.requests[0].headers


def test_options_of_the_call_win_over_those_of_the_generator() -> None:
    """As with every provider."""
    wire = Wire(HELLO)
    with wire.client() as client:
        generator = GeminiChatGenerator(
            "m", api_key="g-1", generation_kwargs={"temperature": 0, "seed": 1}, http_client=client
        )
        generator.run(QUESTION, generation_kwargs={"temperature": 1, "seed": None})
    assert json.loads(wire.requests[0].content)["generationConfig"] == {"temperature": 1}


def test_an_error_says_what_to_do_and_when_to_try_again() -> None:
    """And not the key."""
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]
    error = {"code": 429, "message": "quota of g-1", "status": "X", "details": details}
    with pytest.raises(ChatGeneratorError) as caught:
        GeminiChatGenerator(
            "m", api_key="g-1", http_client=Wire({"error": error}, 429).client()
        ).run(QUESTION)
    failure = caught.value.failure
    assert (failure.cause, failure.retryable, failure.retry_after_s) == ("rate_limit", True, 34.5)
    assert "quota of ***" in failure.message
