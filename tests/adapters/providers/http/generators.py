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
from tests.adapters.providers.anthropic.test_recorded import READER as ANTHROPIC
from tests.adapters.providers.bedrock.test_recorded import READER as BEDROCK
from tests.adapters.providers.cohere.test_recorded import READER as COHERE
from tests.adapters.providers.gemini.test_recorded import READER as GEMINI
from tests.adapters.providers.http.recorded import Reader
from tests.adapters.providers.ollama.test_recorded import READER as OLLAMA
from tests.adapters.providers.openai.test_recorded import PROFILES
from tests.adapters.providers.openai.test_recorded import READER as OPENAI
from tests.adapters.providers.openai_responses.test_recorded import READER as RESPONSES

READERS: Mapping[str, Reader] = {
    **dict.fromkeys(PROFILES, OPENAI),
    "anthropic": ANTHROPIC,
    "bedrock_converse": BEDROCK,
    "cohere": COHERE,
    "gemini": GEMINI,
    "ollama": OLLAMA,
    "openai_responses": RESPONSES,
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
