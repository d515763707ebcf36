"""Chat generators by name: one front door for every provider."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from detent.adapters.providers.http.generator import HttpChatGenerator
    from detent.adapters.providers.local.chat import LocalChatGenerator

PROVIDERS = {
    "anthropic": "anthropic.chat.AnthropicChatGenerator",
    "azure": "openai.servers.AzureOpenAIChatGenerator",
    "bedrock": "bedrock.chat.BedrockChatGenerator",
    "bedrock-anthropic": "anthropic.clouds.BedrockAnthropicChatGenerator",
    "cerebras": "openai.servers.CerebrasChatGenerator",
    "cohere": "cohere.chat.CohereChatGenerator",
    "deepseek": "openai.servers.DeepSeekChatGenerator",
    "fireworks": "openai.servers.FireworksChatGenerator",
    "gemini": "gemini.chat.GeminiChatGenerator",
    "github": "openai.servers.GitHubModelsChatGenerator",
    "groq": "openai.servers.GroqChatGenerator",
    "huggingface": "openai.servers.HuggingFaceChatGenerator",
    "litellm": "openai.servers.LiteLLMChatGenerator",
    "llamacpp": "openai.servers.LlamaCppChatGenerator",
    "local": "local.chat.LocalChatGenerator",
    "mistral": "openai.servers.MistralChatGenerator",
    "moonshot": "openai.servers.MoonshotChatGenerator",
    "ollama": "ollama.chat.OllamaChatGenerator",
    "ollama-v1": "openai.servers.OllamaV1ChatGenerator",
    "openai": "openai.chat.OpenAIChatGenerator",
    "openai-responses": "openai_responses.chat.OpenAIResponsesChatGenerator",
    "openrouter": "openai.servers.OpenRouterChatGenerator",
    "perplexity": "openai.servers.PerplexityChatGenerator",
    "snowflake": "openai.servers.SnowflakeChatGenerator",
    "together": "openai.servers.TogetherChatGenerator",
    "vercel": "openai.servers.VercelChatGenerator",
    "vertex": "gemini.chat.VertexChatGenerator",
    "vertex-anthropic": "anthropic.clouds.VertexAnthropicChatGenerator",
    "vllm": "openai.servers.VLLMChatGenerator",
    "xai": "openai.servers.XAIChatGenerator",
    "zai": "openai.servers.ZAIChatGenerator",
}
"""Where the generator of each provider is. It is loaded when it is asked for."""

MAKERS = {
    **dict.fromkeys(("gpt", "o1", "o3", "o4", "chatgpt"), "openai"),
    "claude": "anthropic",
    "gemini": "gemini",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "grok": "xai",
    "command": "cohere",
    "sonar": "perplexity",
    "llama": "ollama",
    "qwen": "ollama",
}
"""The provider that somebody means who writes the name of a model alone, by how it begins."""


def chat_generator(name: str, **options: Any) -> LocalChatGenerator | HttpChatGenerator:
    """The chat generator that ``"provider:model"`` names; `options` are its constructor's.

    ``"local:qwen2.5-coder-1.5b"`` runs in this process, and ``"local"`` alone has a default; all
    others call a server. ``"openai:MODEL"`` also serves any server that speaks OpenAI Chat
    Completions (``api_base_url=`` or the environment's OPENAI_BASE_URL says which). Keys come from
    each provider's usual environment variable.

    Raises:
        TypeError: `name` is no text, or an option is unknown.
        ValueError: there is no such provider, or no model is named.
    """
    if not isinstance(name, str):
        raise TypeError(f"a model is named by a text, 'provider:model', got {name!r:.80}")
    provider, _, model = name.partition(":")
    if provider not in PROVIDERS or not (model or provider == "local"):
        meant = _suggestion(provider, model) or (
            f"write provider:model, with one of the providers {', '.join(PROVIDERS)}"
        )
        raise ValueError(f"{name!r} names no model; {meant}")
    module, _, generator = PROVIDERS[provider].rpartition(".")
    make = getattr(import_module(f"detent.adapters.providers.{module}"), generator)
    made: LocalChatGenerator | HttpChatGenerator = make(*filter(None, (model,)), **options)
    return made


def _suggestion(provider: str, model: str) -> str:
    """What somebody who wrote `provider` may have meant."""
    if provider in PROVIDERS:
        return f"say which model of it: '{provider}:MODEL'"
    if not model:  # the name of a model alone
        found = [maker for word, maker in MAKERS.items() if provider.lower().startswith(word)]
        return f"did you mean '{found[0]}:{provider}'?" if found else ""
    close = get_close_matches(provider, PROVIDERS, n=1)
    return f"there is no provider {provider!r}, did you mean '{close[0]}:{model}'?" if close else ""


def described(generator: object) -> dict[str, Any]:
    """A generator as data, by which `from_description` makes it again.

    One that is none of the providers' has only the name of its class.

    Raises:
        SecretError: its key is a value, and not in the environment.
    """
    name = provider_of(generator)
    options = getattr(generator, "options_as_data", None)
    if name is None or options is None:
        return {"name": None, "class": type(generator).__name__}
    return {"name": f"{name}:{getattr(generator, 'model', '')}", **options()}


def from_description(description: dict[str, Any]) -> LocalChatGenerator | HttpChatGenerator:
    """The generator that `described` says. Keys are read from the environment.

    Raises:
        ValueError: there is no such provider.
        TypeError: it has no such option.
    """
    options = {name: value for name, value in description.items() if name != "name"}
    if "api_key" in options:
        from detent.adapters.providers.http.secrets import Secret

        options["api_key"] = Secret.from_env_var(*options["api_key"]["env_vars"])
    return chat_generator(description["name"], **options)


def provider_of(generator: object) -> str | None:
    """The name of the provider; one whose module is not loaded cannot be it."""
    for name, place in PROVIDERS.items():
        module, _, maker = place.rpartition(".")
        loaded = sys.modules.get(f"detent.adapters.providers.{module}")
        if loaded is None:
            continue
        make = getattr(loaded, maker)
        if isinstance(make, partial):
            kind, endpoints = make.func, [make.keywords["profile"].endpoint]
        else:
            values = [value for value in vars(loaded).values() if not isinstance(value, type)]
            found = [getattr(value, "endpoint", value) for value in values]
            kind, endpoints = (
                make,
                [candidate for candidate in found if hasattr(candidate, "key_vars")],
            )
        endpoint = getattr(generator, "endpoint", None)
        if kind is type(generator) and (endpoint in endpoints or not endpoints):
            return name
    return None
