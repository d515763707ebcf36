"""Claude in the clouds: other addresses, keys and frames around the same API."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from detent.adapters.providers.anthropic.clouds import (
    BedrockAnthropicChatGenerator,
    VertexAnthropicChatGenerator,
)
from detent.core.chat.messages import ChatMessage
from detent.ports.chat import ChatGeneratorError, StreamingChunk
from tests.adapters.providers.bedrock.messages import message, stream
from tests.adapters.providers.http.folds import events
from tests.adapters.providers.http.wires import Wire

QUESTION = [ChatMessage.from_user("Hi")]
WHOLE = {
    "type": "message",
    "content": [{"type": "text", "text": "Hello"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 2},
}
STREAM: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "Hello"},
    },
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]
HI = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
PLAIN = {"max_tokens": 8192, "messages": [HI]}


def framed(value: Mapping[str, object]) -> bytes:
    """An event in a frame of Bedrock."""
    chunk = {"bytes": b64encode(json.dumps(value).encode()).decode(), "p": "abc"}
    return stream({"chunk": chunk})


def ignore(_: StreamingChunk) -> None:
    """Ask for a stream."""


def test_on_vertex_the_address_names_the_model() -> None:
    """And the body the version."""
    wire = Wire(events(*STREAM).decode())
    with wire.client() as client:
        generator = VertexAnthropicChatGenerator(
            "claude-sonnet-4-5@20250929",
            project="p",
            location="europe-west1",
            api_key="t",
            http_client=client,
        )
        assert generator.run(QUESTION, streaming_callback=ignore).message.text == "Hello"
        generator.run(QUESTION)
    streamed, whole = wire.requests
    place = "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1"
    model = f"{place}/publishers/anthropic/models/claude-sonnet-4-5%4020250929"
    assert [str(one.url) for one in (streamed, whole)] == [
        f"{model}:streamRawPredict",
        f"{model}:rawPredict",
    ]
    assert streamed.headers["authorization"] == "Bearer t"
    version = {"anthropic_version": "vertex-2023-10-16"}
    assert json.loads(whole.content) == PLAIN | version
    assert json.loads(streamed.content) == PLAIN | version | {"stream": True}


def test_without_a_project_there_is_no_vertex(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what to set."""
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)
    with pytest.raises(ValueError, match="GOOGLE_CLOUD_PROJECT"):
        VertexAnthropicChatGenerator("m")


def bedrock(content: bytes, requests: list[httpx.Request]) -> BedrockAnthropicChatGenerator:
    """A generator whose requests are all answered so."""

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, content=content)

    client = httpx.Client(transport=httpx.MockTransport(answer))
    return BedrockAnthropicChatGenerator(
        "eu.anthropic.m-v1:0", region="eu-central-1", api_key="k", http_client=client
    )


def test_on_bedrock_a_whole_answer_is_read() -> None:
    """The address names the model."""
    requests: list[httpx.Request] = []
    reply = bedrock(json.dumps(WHOLE).encode(), requests).run(QUESTION)
    assert (reply.message.text, reply.usage.total_tokens) == ("Hello", 5)
    host = "https://bedrock-runtime.eu-central-1.amazonaws.com"
    assert str(requests[0].url) == f"{host}/model/eu.anthropic.m-v1%3A0/invoke"
    assert json.loads(requests[0].content) == PLAIN | {"anthropic_version": "bedrock-2023-05-31"}


def test_on_bedrock_a_stream_is_in_frames() -> None:
    """Each holds an event of Anthropic's."""
    requests: list[httpx.Request] = []
    shown: list[StreamingChunk] = []
    generator = bedrock(b"".join(map(framed, STREAM)), requests)
    reply = generator.run(QUESTION, streaming_callback=shown.append)
    assert (reply.message.text, reply.finish_reason) == ("Hello", "stop")
    assert [piece.content for piece in shown] == ["Hello", ""]
    assert str(requests[0].url).endswith("/invoke-with-response-stream")
    assert "stream" not in json.loads(requests[0].content)


SLOWER = {":message-type": "exception", ":exception-type": "throttlingException"}


@pytest.mark.parametrize(
    ("broken", "cause"),
    [(message(SLOWER, {"message": "slower"}), "rate_limit"), (framed(STREAM[1]), "cut_stream")],
)
def test_a_stream_that_breaks_off_is_a_failure(broken: bytes, cause: str) -> None:
    """With the words of Bedrock."""
    with pytest.raises(ChatGeneratorError) as caught:
        bedrock(framed(STREAM[0]) + broken, []).run(QUESTION, streaming_callback=ignore)
    assert (caught.value.failure.cause, caught.value.failure.retryable) == (cause, True)
