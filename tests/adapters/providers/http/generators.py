"""Every kind of chat generator over HTTP, made for a server of ours, by the file of its records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from detent.adapters.providers.anthropic.chat import AnthropicChatGenerator
from detent.adapters.providers.bedrock.chat import BedrockChatGenerator
from detent.adapters.providers.cohere.chat import CohereChatGenerator
from detent.adapters.providers.gemini.chat import GeminiChatGenerator
from detent.adapters.providers.http.generator import HttpChatGenerator
from detent.adapters.providers.ollama.chat import OllamaChatGenerator
from detent.adapters.providers.openai.chat import OpenAIChatGenerator
from detent.adapters.providers.openai_responses.chat import OpenAIResponsesChatGenerator
from tests.adapters.providers.anthropic import recorded as anthropic
from tests.adapters.providers.bedrock import recorded as bedrock
from tests.adapters.providers.cohere import recorded as cohere
from tests.adapters.providers.gemini import recorded as gemini
from tests.adapters.providers.http.recorded import Reader
from tests.adapters.providers.http.replayed import Api
from tests.adapters.providers.ollama import recorded as ollama
from tests.adapters.providers.openai import recorded as openai
from tests.adapters.providers.openai.recorded import PROFILES
from tests.adapters.providers.openai_responses import recorded as openai_responses

READERS: Mapping[str, Reader] = {
    **dict.fromkeys(PROFILES, openai.READER),
    "anthropic": anthropic.READER,
    "bedrock_converse": bedrock.READER,
    "cohere": cohere.READER,
    "gemini": gemini.READER,
    "ollama": ollama.READER,
    "openai_responses": openai_responses.READER,
}
APIS: Mapping[str, Api] = {
    **{name: openai.api(profile) for name, profile in PROFILES.items()},
    "anthropic": anthropic.API,
    "bedrock_converse": bedrock.API,
    "cohere": cohere.API,
    "gemini": gemini.API,
    "ollama": ollama.API,
    "openai_responses": openai_responses.API,
}
MAKERS: Mapping[str, Callable[..., HttpChatGenerator]] = {
    **{name: partial(OpenAIChatGenerator, profile=kind) for name, kind in PROFILES.items()},
    "anthropic": AnthropicChatGenerator,
    "bedrock_converse": partial(BedrockChatGenerator, region="us-east-1"),
    "cohere": CohereChatGenerator,
    "gemini": GeminiChatGenerator,
    "ollama": OllamaChatGenerator,
    "openai_responses": OpenAIResponsesChatGenerator,
}


def generator(name: str, url: str, play: str, **options: Any) -> HttpChatGenerator:
    """A generator that asks the server at `url` to play `play`."""
    make = MAKERS[name]
    return make("m", api_base_url=url, api_key="sk-secret", headers={"x-play": play}, **options)
