"""Chat generators by name: one front door for every provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from detent.adapters.local.chat import LocalChatGenerator
    from detent.adapters.openai.chat import OpenAIChatGenerator

PROVIDERS = ("local", "openai")


def chat_generator(name: str, **options: Any) -> LocalChatGenerator | OpenAIChatGenerator:
    """The chat generator that ``"provider:model"`` names; `options` are its constructor's.

    ``"local:qwen2.5-coder-1.5b"`` runs in this process, ``"openai:MODEL"`` on any server that speaks
    OpenAI Chat Completions (``api_base_url=`` or the environment's OPENAI_BASE_URL says which).

    Raises:
        ValueError: there is no such provider.
    """
    provider, _, model = name.partition(":")
    if provider == "local":
        from detent.adapters.local.chat import LocalChatGenerator

        return LocalChatGenerator(model, **options) if model else LocalChatGenerator(**options)
    if provider == "openai" and model:
        from detent.adapters.openai.chat import OpenAIChatGenerator

        return OpenAIChatGenerator(model, **options)
    raise ValueError(
        f"{name!r} names no model; write provider:model, with one of the providers {', '.join(PROVIDERS)}"
    )
