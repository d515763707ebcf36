"""The generator's own part: where a request goes, what it carries, and who gets the key."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from detent.adapters.providers.http.secrets import Secret
from detent.adapters.providers.openai.chat import OpenAIChatGenerator
from detent.core.chat.messages import ChatMessage
from detent.ports.chat import ChatGeneratorError
from tests.adapters.providers.http.wires import Wire

QUESTION = [ChatMessage.from_user("Say hello")]
HELLO = {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://localhost:8080/v1", "http://localhost:8080/v1/chat/completions"),
        ("http://localhost:8080/v1/", "http://localhost:8080/v1/chat/completions"),
        (
            "https://a.openai.azure.com/openai/deployments/d?api-version=1",
            "https://a.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
        ),
    ],
)
def test_the_endpoint_is_below_the_base_url(base: str, url: str) -> None:
    """A query stays at the end."""
    wire = Wire(HELLO)
    with wire.client() as client:
        OpenAIChatGenerator("m", api_base_url=base, http_client=client).run(QUESTION)
    assert str(wire.requests[0].url) == url


@pytest.mark.parametrize("base", ["ftp://example.org", "https://", "nonsense"])
def test_a_base_url_that_is_none_is_refused_at_once(base: str) -> None:
    """The error shows one that is."""
    with pytest.raises(ValueError, match=r"https://api\.openai\.com/v1"):
        OpenAIChatGenerator("m", api_base_url=base)


@pytest.mark.parametrize(
    ("environment", "base", "key", "sent"),
    [
        ({"OPENAI_API_KEY": "sk-e"}, None, None, "Bearer sk-e"),
        ({"OPENAI_API_KEY": "sk-e"}, None, "sk-1", "Bearer sk-1"),
        ({"OPENAI_API_KEY": "sk-e"}, "https://api.openai.com/v1/", None, "Bearer sk-e"),
        ({"OPENAI_API_KEY": "sk-e"}, "https://eu.api.openai.com/v1", None, "Bearer sk-e"),
        ({"OPENAI_API_KEY": "sk-e"}, "https://example.org/v1", None, None),
        ({"OPENAI_API_KEY": "sk-e"}, "https://api.openai.com.example.org/v1", None, None),
        ({"OPENAI_API_KEY": "sk-e"}, "https://not-api.openai.com/v1", None, None),
        ({"OPENAI_API_KEY": "sk-e"}, "https://example.org/v1", "sk-1", "Bearer sk-1"),
        ({"OPENAI_BASE_URL": "http://localhost/v1"}, None, None, None),
        (
            {"OPENAI_BASE_URL": "http://localhost/v1", "OPENAI_API_KEY": "sk-e"},
            None,
            None,
            "Bearer sk-e",
        ),
    ],
)
def test_the_key_goes_only_where_it_belongs(
    environment: dict[str, str],
    base: str | None,
    key: str | None,
    sent: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The environment's key goes to OpenAI and to the environment's server, to no other."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    wire = Wire(HELLO)
    with wire.client() as client:
        generator = OpenAIChatGenerator("m", api_base_url=base, api_key=key, http_client=client)
        generator.run(QUESTION)
    assert wire.requests[0].headers.get("authorization") == sent


def test_without_a_key_the_call_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The generator can be made without one: an agent may be imported where no key is."""
    generator = OpenAIChatGenerator("m", http_client=Wire(HELLO).client())
    with pytest.raises(ChatGeneratorError, match="OPENAI_API_KEY is not set") as caught:
        generator.run(QUESTION)
    assert caught.value.failure.cause == "authentication"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-late")
    assert generator.run(QUESTION).message.text == "hello"


def test_further_headers_may_be_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Azure's key is one."""
    monkeypatch.setenv("AZURE_KEY", "sk-azure")
    wire = Wire(HELLO)
    key = Secret.from_env_var("AZURE_KEY")
    headers: dict[str, str | Secret] = {"api-key": key, "OpenAI-Organization": "org"}
    with wire.client() as client:
        generator = OpenAIChatGenerator(
            "m", api_base_url="https://example.org", headers=headers, http_client=client
        )
        generator.run(QUESTION)
    assert wire.requests[0].headers["api-key"] == "sk-azure"
    assert wire.requests[0].headers["openai-organization"] == "org"


def test_no_key_is_in_messages_or_reprs() -> None:
    """Also when the server echoes it."""
    wire = Wire({"error": {"message": "wrong key sk-1, wrong header sk-2"}}, status=401)
    generator = OpenAIChatGenerator(
        "m",
        api_base_url="https://me:sk-3@example.org/v1?key=sk-4",
        api_key="sk-1",
        headers={"api-key": Secret("sk-2")},
        http_client=wire.client(),
    )
    with pytest.raises(ChatGeneratorError) as caught:
        generator.run(QUESTION)
    assert "wrong key ***, wrong header ***" in str(caught.value)
    assert "sk-" not in f"{caught.value} {generator!r} {caught.value.failure!r}"
    assert repr(generator) == "OpenAIChatGenerator('m' at example.org)"


def test_options_of_the_call_win_over_those_of_the_generator() -> None:
    """And None takes one out."""
    wire = Wire(HELLO)
    with wire.client() as client:
        generator = OpenAIChatGenerator(
            "m",
            api_key="sk-1",
            generation_kwargs={"temperature": 0, "seed": 1, "n": 1},
            http_client=client,
        )
        generator.run(QUESTION, generation_kwargs={"temperature": 1, "seed": None})
        generator.run(QUESTION)
    first, second = (json.loads(request.content) for request in wire.requests)
    assert (first["temperature"], first.get("seed"), first["n"]) == (1, None, 1)
    assert (second["temperature"], second["seed"], second["n"]) == (0, 1, 1)


def test_leaving_a_with_block_closes_what_was_opened() -> None:
    """In both colours; clients from outside stay open."""
    wire = Wire(HELLO)

    async def use() -> None:
        async with wire.async_client() as client:
            async with OpenAIChatGenerator("m", api_key="sk-1", async_http_client=client) as it:
                await it.run_async(QUESTION)
            assert not client.is_closed

    asyncio.run(use())
    with wire.client() as client:
        with OpenAIChatGenerator("m", api_key="sk-1", http_client=client) as generator:
            generator.run(QUESTION)
        assert not client.is_closed


@pytest.mark.parametrize(
    ("base", "member"),
    [
        (None, "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://example.org/v1", "max_tokens"),
    ],
)
def test_openai_and_those_who_speak_like_it_differ(base: str | None, member: str) -> None:
    """OpenAI's newer models refuse the old name of an option, other servers know no other."""
    wire = Wire(HELLO)
    with wire.client() as client:
        generator = OpenAIChatGenerator("m", api_base_url=base, api_key="k", http_client=client)
        generator.run(QUESTION, generation_kwargs={"max_tokens": 5})
    assert json.loads(wire.requests[0].content)[member] == 5


def test_an_option_that_there_is_not_is_refused() -> None:
    """A misspelt address must not send the conversation somewhere else."""
    wrong: Any = {"base_url": "http://127.0.0.1:9/v1"}

    with pytest.raises(TypeError, match="has no option 'base_url'"):
        OpenAIChatGenerator("m", **wrong)
