"""The chat generator for Ollama's own API."""

from __future__ import annotations

import os
from typing import Unpack

from detent.adapters.providers.http.adapter import (
    Endpoint,
    HttpApi,
    HttpChatGenerator,
    HttpOptions,
    Secret,
)
from detent.adapters.providers.http.listing import ModelList
from detent.adapters.providers.ollama.decode import ChatFold
from detent.adapters.providers.ollama.encode import request_body

DEFAULT_HOST = "localhost:11434"


class OllamaChatGenerator(HttpChatGenerator):
    """Answers conversations through Ollama's /api/chat, blocking or as a coroutine.

    Args:
        model: the model's name, such as ``qwen3:4b``.
        api_base_url: where the server is. By default the environment's OLLAMA_HOST, then this
            machine at port 11434.
        api_key: a key, if the server wants one. By default the environment's OLLAMA_API_KEY,
            which goes to no server that `api_base_url` names.
        options: see `HttpOptions`. `generation_kwargs` are ``temperature``, ``max_tokens``,
            ``top_p``, ``stop``, ``seed``, ``tool_choice`` and ``response_format``, which mean the
            same for every provider, and members of the request, as the API names them
            (``options``, ``think``, ``keep_alive`` …).

    Raises:
        ValueError: `api_base_url` is no HTTP URL.
    """

    def __init__(
        self,
        model: str,
        *,
        api_base_url: str | None = None,
        api_key: str | Secret | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        host = os.environ.get("OLLAMA_HOST") or DEFAULT_HOST
        base_url = host if "://" in host else f"http://{host}"
        endpoint = Endpoint(base_url, ("OLLAMA_API_KEY",), needs_key=False)
        api = HttpApi(
            endpoint,
            "/api/chat",
            request_body,
            lambda _: ChatFold(),
            schema_mode="without_tools",
            listing=ModelList("/api/tags"),
        )
        super().__init__(model, api, api_base_url=api_base_url, api_key=api_key, **options)
