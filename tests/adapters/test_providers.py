"""Chat generators by name."""

from __future__ import annotations

import pytest

from detent import LocalChatGenerator, OpenAIChatGenerator, chat_generator
from detent.adapters.http.generator import HttpChatGenerator
from detent.adapters.providers import PROVIDERS

NEEDED = {
    "AWS_REGION": "eu-central-1",
    "AZURE_OPENAI_ENDPOINT": "https://example.openai.azure.com",
    "GOOGLE_CLOUD_PROJECT": "p",
}


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


def test_the_embedded_model_needs_no_name() -> None:
    """It has a default; nothing is loaded before it is asked."""
    assert isinstance(chat_generator("local"), LocalChatGenerator)


@pytest.mark.parametrize("name", ["", "openai", "openai:", "gpt-x", "nobody:model"])
def test_what_names_no_model_is_refused(name: str) -> None:
    """The message says how to write it and which providers there are."""
    with pytest.raises(ValueError, match=r"write provider:model.* local, mistral, .* openai, "):
        chat_generator(name)


@pytest.mark.parametrize(
    ("name", "meant"), [("mistrall:m", "mistral"), ("antropic:m", "anthropic"), ("grok:m", "groq")]
)
def test_a_provider_that_may_have_been_meant_is_named(name: str, meant: str) -> None:
    """Where one is written nearly like it."""
    with pytest.raises(ValueError, match=f"did you mean {meant!r}"):
        chat_generator(name)


@pytest.mark.parametrize(
    ("name", "missing"),
    [("azure:d", "AZURE_OPENAI_ENDPOINT"), ("vertex:m", "GOOGLE_CLOUD_PROJECT")],
)
def test_what_a_provider_needs_beside_a_key_is_named(
    name: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place of a server that is somebody's own."""
    monkeypatch.delenv(missing, raising=False)
    with pytest.raises(ValueError, match=missing):
        chat_generator(name)
