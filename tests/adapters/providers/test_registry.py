"""Chat generators by name."""

from __future__ import annotations

import os
import subprocess
import sys

import httpx
import pytest
from attrs import frozen

from detent import Agent, OpenAIChatGenerator, chat_generator, tool
from detent.adapters.providers.http.generator import HttpChatGenerator
from detent.adapters.providers.registry import PROVIDERS
from detent.models import LocalChatGenerator

NEEDED = {
    "AWS_REGION": "eu-central-1",
    "AZURE_OPENAI_ENDPOINT": "https://example.openai.azure.com",
    "GOOGLE_CLOUD_PROJECT": "p",
    "SNOWFLAKE_ACCOUNT": "a",
}


@tool
def double(n: int) -> int:
    """Double a number."""
    return 2 * n


def test_a_name_says_provider_and_model() -> None:
    """What follows the first colon is the model, further colons and all; options are passed on."""
    generator = chat_generator("openai:ft:gpt-x")

    assert isinstance(generator, OpenAIChatGenerator)
    assert generator.model == "ft:gpt-x"
    with pytest.raises(ValueError, match="nowhere"):
        chat_generator("openai:gpt-x", api_base_url="nowhere")


@pytest.mark.parametrize("provider", sorted(PROVIDERS.keys() - {"local"}))
def test_every_provider_is_there(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its generator can be made without a key; one is sought when it is used."""
    for name, value in NEEDED.items():
        monkeypatch.setenv(name, value)

    generator = chat_generator(f"{provider}:some-model", timeout=1)

    assert isinstance(generator, HttpChatGenerator)
    assert generator.model == "some-model"


def test_making_a_generator_loads_nothing_that_a_call_needs() -> None:
    """Neither httpx nor asyncio, nor the machine that a run needs."""
    heavy = {"asyncio", "cattrs", "httpx", "ssl", "subprocess", "typeguard"}
    run = {"detent.core.run.run", "detent.core.run.output_type", "detent.core.machine.step"}
    names = sorted(PROVIDERS.keys() - {"local"})
    code = f"""
import sys
from detent import Agent, State, chat_generator, tool
for name in {names}:
    chat_generator(name + ":some-model")
print(*sorted({heavy | run} & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **NEEDED},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == []


def test_the_embedded_model_needs_no_name() -> None:
    """It has a default; nothing is loaded before it is asked."""
    assert isinstance(chat_generator("local"), LocalChatGenerator)


@pytest.mark.parametrize("name", ["", "my-model", "nobody:model"])
def test_what_names_no_model_is_refused(name: str) -> None:
    """The message says how to write it and which providers there are."""
    with pytest.raises(ValueError, match=r"write provider:model.* local, mistral, .* openai, "):
        chat_generator(name)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mistrall:m", "did you mean 'mistral:m'"),
        ("antropic:m", "did you mean 'anthropic:m'"),
        ("grok:m", "did you mean 'groq:m'"),
        ("gpt-5-mini", "did you mean 'openai:gpt-5-mini'"),
        ("claude-x", "did you mean 'anthropic:claude-x'"),
        ("openai", "say which model of it: 'openai:MODEL'"),
        ("openai:", "say which model of it: 'openai:MODEL'"),
    ],
)
def test_what_may_have_been_meant_is_named(name: str, hint: str) -> None:
    """Where a provider is written nearly so, or left out before a model that tells its maker."""
    with pytest.raises(ValueError, match=hint):
        chat_generator(name)


def test_only_a_text_names_a_model() -> None:
    """None, as of a variable of the environment that is not set, is told."""
    with pytest.raises(TypeError, match="named by a text, 'provider:model', got None"):
        chat_generator(None)  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("azure:d", "AZURE_OPENAI_ENDPOINT"),
        ("snowflake:m", "SNOWFLAKE_ACCOUNT"),
        ("vertex:m", "GOOGLE_CLOUD_PROJECT"),
    ],
)
def test_what_a_provider_needs_beside_a_key_is_named(
    name: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place of a server that is somebody's own."""
    monkeypatch.delenv(missing, raising=False)
    with pytest.raises(ValueError, match=missing):
        chat_generator(name)


ANSWERS: dict[str, str] = {
    "anthropic": '{"type": "message", "content": [{"type": "text", "text": "4"}]}',
    "bedrock": '{"output": {"message": {"content": [{"text": "4"}]}}, "stopReason": "end_turn"}',
    "cohere": '{"message": {"content": [{"text": "4"}]}, "finish_reason": "COMPLETE"}',
    "gemini": '{"candidates": [{"content": {"parts": [{"text": "4"}]}, "finishReason": "STOP"}]}',
    "ollama": '{"message": {"content": "4"}, "done": true}',
    "openai-responses": (
        '{"status": "completed", "output": '
        '[{"type": "message", "content": [{"type": "output_text", "text": "4"}]}]}'
    ),
}
ANSWERS["vertex"] = ANSWERS["gemini"]
ANSWERS["bedrock-anthropic"] = ANSWERS["vertex-anthropic"] = ANSWERS["anthropic"]
LIKE_OPENAI = '{"choices": [{"message": {"content": "4"}, "finish_reason": "stop"}]}'


@pytest.mark.parametrize("provider", sorted(PROVIDERS.keys() - {"local"}))
def test_one_agent_runs_on_every_provider_by_a_change_of_one_word(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of the provider; tools, options and the result stay what they are."""
    for name, value in NEEDED.items():
        monkeypatch.setenv(name, value)
    answer = ANSWERS.get(provider, LIKE_OPENAI)
    wire = httpx.MockTransport(lambda _: httpx.Response(200, content=answer))

    with httpx.Client(transport=wire) as client:
        model = chat_generator(f"{provider}:some-model", api_key="k", http_client=client)
        agent = Agent(chat_generator=model, tools=[double], generation_kwargs={"max_tokens": 99})
        assert agent.run("What is 2 + 2?").text == "4"


@frozen
class Sum:
    """An answer."""

    total: int


ANSWERS_BY_TOOL = "Give your final answer."


@pytest.mark.parametrize("with_tool", [False, True], ids=["without tools", "with a tool"])
@pytest.mark.parametrize("provider", sorted(PROVIDERS.keys() - {"local"}))
def test_every_provider_gives_an_answer_of_a_type(
    provider: str, monkeypatch: pytest.MonkeyPatch, *, with_tool: bool
) -> None:
    """Held to its schema where the provider can do that, by a tool to answer by elsewhere."""
    for name, value in NEEDED.items():
        monkeypatch.setenv(name, value)
    answer = ANSWERS.get(provider, LIKE_OPENAI).replace('"4"', r'"{\"total\": 4}"')
    bodies: list[str] = []

    def play(request: httpx.Request) -> httpx.Response:
        bodies.append(request.content.decode())
        return httpx.Response(200, content=answer)

    with httpx.Client(transport=httpx.MockTransport(play)) as client:
        model = chat_generator(f"{provider}:some-model", api_key="k", http_client=client)
        tools = [double] if with_tool else []
        result = Agent(chat_generator=model, tools=tools, output_type=Sum).run("What is 2 + 2?")
    assert result.output == Sum(4)
    is_held = model.schema_mode == "always" or (model.schema_mode == "without_tools" and not tools)
    assert '"total"' in bodies[0]
    assert (ANSWERS_BY_TOOL in bodies[0]) is not is_held
