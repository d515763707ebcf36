"""The generator's own part: where a request goes, and who signs it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import httpx
import pytest

from detent.adapters.providers.bedrock.chat import AccessKey, BedrockChatGenerator
from detent.adapters.providers.bedrock.signing import Credentials, Scope, signed_headers
from detent.adapters.providers.http.secrets import Secret
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import ChatReply
from detent.ports.chat import ChatGeneratorError, StreamingChunk
from tests.adapters.providers.bedrock.messages import stream
from tests.adapters.providers.http.wires import Wire

QUESTION = [ChatMessage.from_user("Say hello")]
HELLO = {"output": {"message": {"content": [{"text": "hello"}]}}, "stopReason": "end_turn"}
MODEL = "us.amazon.nova-lite-v1:0"
VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")


def is_signed(request: httpx.Request, key: Credentials, region: str = "eu-west-1") -> bool:
    """Whether a request carries the signature of `key` for what it holds."""
    then = datetime.strptime(request.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    signed = signed_headers(
        "POST",
        str(request.url),
        {"content-type": request.headers["content-type"]},
        request.content,
        credentials=key,
        scope=Scope(region, "bedrock"),
        now=then,
    )
    return all(request.headers[name] == value for name, value in signed.items())


def test_a_request_is_sent_and_its_reply_read_in_both_colours() -> None:
    """The id of the model is encoded in the path, and the request is signed."""
    wire = Wire(HELLO)
    key = AccessKey("AKID", "sk-1")

    async def run_async() -> ChatReply:
        async with wire.async_client() as client:
            generator = BedrockChatGenerator(MODEL, access_key=key, async_http_client=client)
            return await generator.run_async(QUESTION)

    with wire.client() as client:
        reply = BedrockChatGenerator(MODEL, access_key=key, http_client=client).run(QUESTION)
    assert reply == asyncio.run(run_async())
    assert (reply.message.text, reply.model) == ("hello", MODEL)
    one, other = wire.requests
    assert one.content == other.content
    assert str(one.url) == (
        "https://bedrock-runtime.eu-west-1.amazonaws.com/model/us.amazon.nova-lite-v1%3A0/converse"
    )
    assert is_signed(one, Credentials("AKID", "sk-1"))
    assert is_signed(other, Credentials("AKID", "sk-1"))


def test_a_stream_has_a_path_and_a_framing_of_its_own() -> None:
    """It is asked for when there is somebody who watches."""
    data = stream(
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "hel"}}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "lo"}}},
        {"messageStop": {"stopReason": "end_turn"}},
    )

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.path.endswith("/model/m/converse-stream")
        return httpx.Response(200, content=data)

    shown: list[StreamingChunk] = []
    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        generator = BedrockChatGenerator("m", api_key="k", http_client=client)
        reply = generator.run(QUESTION, streaming_callback=shown.append)
    assert reply.message.text == "hello"
    assert [piece.content for piece in shown] == ["hel", "lo", ""]


def test_keys_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are looked up at each call; a session token is sent if there is one."""
    wire = Wire(HELLO)
    with wire.client() as client:
        generator = BedrockChatGenerator("m", http_client=client)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "sk-1")
        generator.run(QUESTION)
        monkeypatch.setenv("AWS_SESSION_TOKEN", "t")
        generator.run(QUESTION)
    lasting, expiring = wire.requests
    assert is_signed(lasting, Credentials("AKID", "sk-1"))
    assert is_signed(expiring, Credentials("AKID", "sk-1", "t"))
    assert "x-amz-security-token" not in lasting.headers


def test_an_api_key_is_sent_in_place_of_a_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the environment unless the code gives an access key."""
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "sk-e")
    wire = Wire(HELLO)
    with wire.client() as client:
        BedrockChatGenerator("m", http_client=client).run(QUESTION)
        BedrockChatGenerator("m", api_key="sk-2", http_client=client).run(QUESTION)
        key = AccessKey("AKID", Secret("sk-1"), "t")
        BedrockChatGenerator("m", access_key=key, http_client=client).run(QUESTION)
    of_environment, given, signed = wire.requests
    assert of_environment.headers["authorization"] == "Bearer sk-e"
    assert given.headers["authorization"] == "Bearer sk-2"
    assert "x-amz-date" not in given.headers
    assert is_signed(signed, Credentials("AKID", "sk-1", "t"))


def test_without_a_key_the_call_says_what_to_do() -> None:
    """The generator can be made without one."""
    generator = BedrockChatGenerator("m")
    with pytest.raises(ChatGeneratorError, match="AWS_ACCESS_KEY_ID is not set") as caught:
        generator.run(QUESTION)
    assert caught.value.failure.cause == "authentication"


def test_the_region_says_where_the_server_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given, or one of the environment's two; another server may be named."""
    wire = Wire(HELLO)
    key = AccessKey("AKID", "sk-1")
    with wire.client() as client:
        generator = BedrockChatGenerator(
            "m", region="us-east-1", access_key=key, http_client=client
        )
        generator.run(QUESTION)
        monkeypatch.delenv("AWS_REGION")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-south-1")
        BedrockChatGenerator("m", access_key=key, http_client=client).run(QUESTION)
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "https://vpc.example.org")
        BedrockChatGenerator("m", access_key=key, http_client=client).run(QUESTION)
    given, default, other = wire.requests
    assert given.url.host == "bedrock-runtime.us-east-1.amazonaws.com"
    assert is_signed(given, Credentials("AKID", "sk-1"), "us-east-1")
    assert default.url.host == "bedrock-runtime.ap-south-1.amazonaws.com"
    assert other.url.host == "vpc.example.org"
    assert is_signed(other, Credentials("AKID", "sk-1"), "ap-south-1")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(ValueError, match="set AWS_REGION, or pass region='us-east-1'"):
        BedrockChatGenerator("m")


def test_options_reach_the_body() -> None:
    """And the prompt cache is marked."""
    wire = Wire(HELLO)
    with wire.client() as client:
        generator = BedrockChatGenerator(
            "m",
            api_key="k",
            prompt_cache="5m",
            generation_kwargs={"max_tokens": 5},
            http_client=client,
        )
        generator.run(QUESTION, generation_kwargs={"max_tokens": 6})
    assert b'"inferenceConfig":{"maxTokens":6}' in wire.requests[0].content
    assert b'"cachePoint"' in wire.requests[0].content


KEY = AccessKey("AKID", "sk-1", "sk-2")


@pytest.mark.parametrize("bearer", [None, "sk-1"])
def test_no_key_is_in_messages_or_reprs(bearer: str | None) -> None:
    """Also when the server echoes it."""
    wire = Wire({"message": "wrong sk-1"}, status=403)
    key = None if bearer else KEY
    generator = BedrockChatGenerator("m", api_key=bearer, access_key=key, http_client=wire.client())
    with pytest.raises(ChatGeneratorError) as caught:
        generator.run(QUESTION)
    assert "wrong ***" in str(caught.value)
    assert "sk-" not in f"{caught.value} {generator!r} {caught.value.failure!r} {KEY!r}"
