"""Chat generators for servers that speak Chat Completions, each by its name.

Each is an `OpenAIChatGenerator` with a profile; where a server is not among them, one with
``api_base_url=`` will do.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Unpack

from detent.adapters.providers.http.adapter import HttpOptions, Secret
from detent.adapters.providers.openai.chat import OpenAIChatGenerator
from detent.adapters.providers.openai.profiles import (
    CEREBRAS,
    DEEPSEEK,
    FIREWORKS,
    GITHUB,
    GROQ,
    HUGGING_FACE,
    LITELLM,
    LLAMA_CPP,
    MISTRAL,
    MOONSHOT,
    OLLAMA,
    OPENROUTER,
    PERPLEXITY,
    TOGETHER,
    VERCEL,
    VLLM,
    XAI,
    ZAI,
    azure,
    snowflake,
)

DeepSeekChatGenerator = partial(OpenAIChatGenerator, profile=DEEPSEEK)
"""DeepSeek; the key is in the environment's DEEPSEEK_API_KEY."""

GroqChatGenerator = partial(OpenAIChatGenerator, profile=GROQ)
"""Groq; the key is in the environment's GROQ_API_KEY."""

LlamaCppChatGenerator = partial(OpenAIChatGenerator, profile=LLAMA_CPP)
"""A llama.cpp server, by default on this machine at port 8080, or at LLAMA_BASE_URL."""

MistralChatGenerator = partial(OpenAIChatGenerator, profile=MISTRAL)
"""Mistral; the key is in the environment's MISTRAL_API_KEY."""

OllamaV1ChatGenerator = partial(OpenAIChatGenerator, profile=OLLAMA)
"""Ollama through its /v1, by default on this machine at port 11434, or at OLLAMA_BASE_URL."""

OpenRouterChatGenerator = partial(OpenAIChatGenerator, profile=OPENROUTER)
"""OpenRouter; the key is in the environment's OPENROUTER_API_KEY."""

TogetherChatGenerator = partial(OpenAIChatGenerator, profile=TOGETHER)
"""Together; the key is in the environment's TOGETHER_API_KEY."""

VLLMChatGenerator = partial(OpenAIChatGenerator, profile=VLLM)
"""A vLLM server, by default on this machine at port 8000, or at VLLM_BASE_URL."""

XAIChatGenerator = partial(OpenAIChatGenerator, profile=XAI)
"""xAI; the key is in the environment's XAI_API_KEY."""

CerebrasChatGenerator = partial(OpenAIChatGenerator, profile=CEREBRAS)
"""Cerebras; the key is in the environment's CEREBRAS_API_KEY."""

FireworksChatGenerator = partial(OpenAIChatGenerator, profile=FIREWORKS)
"""Fireworks; the key is in the environment's FIREWORKS_API_KEY."""

GitHubModelsChatGenerator = partial(OpenAIChatGenerator, profile=GITHUB)
"""GitHub Models; the token is in the environment's GITHUB_TOKEN."""

HuggingFaceChatGenerator = partial(OpenAIChatGenerator, profile=HUGGING_FACE)
"""Hugging Face's router; the token is in the environment's HF_TOKEN."""

LiteLLMChatGenerator = partial(OpenAIChatGenerator, profile=LITELLM)
"""A LiteLLM proxy, by default on this machine at port 4000, or at LITELLM_PROXY_API_BASE."""

MoonshotChatGenerator = partial(OpenAIChatGenerator, profile=MOONSHOT)
"""Moonshot; the key is in the environment's MOONSHOT_API_KEY."""

PerplexityChatGenerator = partial(OpenAIChatGenerator, profile=PERPLEXITY)
"""Perplexity; the key is in the environment's PERPLEXITY_API_KEY."""

VercelChatGenerator = partial(OpenAIChatGenerator, profile=VERCEL)
"""Vercel's AI Gateway; the key is in the environment's AI_GATEWAY_API_KEY."""

ZAIChatGenerator = partial(OpenAIChatGenerator, profile=ZAI)
"""Z.AI; the key is in the environment's ZAI_API_KEY."""


def SnowflakeChatGenerator(  # noqa: N802 - it reads like the others
    model: str,
    *,
    account: str | None = None,
    api_key: str | Secret | None = None,
    **options: Unpack[HttpOptions],
) -> OpenAIChatGenerator:
    """A model of Snowflake's Cortex.

    Args:
        model: its name.
        account: the account's identifier, by default the environment's SNOWFLAKE_ACCOUNT.
        api_key: a programmatic access token, by default the environment's SNOWFLAKE_PAT.
        options: see `HttpOptions`.

    Raises:
        ValueError: there is no account.
    """
    named = account or os.environ.get("SNOWFLAKE_ACCOUNT")
    if not named:
        raise ValueError("Snowflake needs account=, or SNOWFLAKE_ACCOUNT to be set")
    return OpenAIChatGenerator(model, api_key=api_key, profile=snowflake(named), **options)


def AzureOpenAIChatGenerator(  # noqa: N802 - it reads like the others
    deployment: str,
    *,
    azure_endpoint: str | None = None,
    api_version: str | None = None,
    api_key: str | Secret | None = None,
    azure_ad_token: str | Secret | None = None,
    **options: Unpack[HttpOptions],
) -> OpenAIChatGenerator:
    """A deployment of Azure OpenAI.

    Args:
        deployment: its name.
        azure_endpoint: the resource, such as ``https://NAME.openai.azure.com``. By default the
            environment's AZURE_OPENAI_ENDPOINT.
        api_version: a dated version of the API. By default the environment's OPENAI_API_VERSION;
            where that is not set either, the API's v1.
        api_key: the key, by default the environment's AZURE_OPENAI_API_KEY.
        azure_ad_token: a token of Microsoft Entra ID in place of a key; tokens expire, so best a
            `Secret` made from a function.
        options: see `HttpOptions`.

    Raises:
        ValueError: there is no endpoint, or it is no HTTP URL.
    """
    endpoint = azure_endpoint or os.environ.get("AZURE_OPENAI_ENDPOINT")
    if not endpoint:
        raise ValueError("Azure OpenAI needs azure_endpoint=, or AZURE_OPENAI_ENDPOINT to be set")
    version = api_version or os.environ.get("OPENAI_API_VERSION") or ""
    profile = azure(endpoint, deployment, version, token=azure_ad_token is not None)
    key = azure_ad_token if azure_ad_token is not None else api_key
    return OpenAIChatGenerator(deployment, api_key=key, profile=profile, **options)
