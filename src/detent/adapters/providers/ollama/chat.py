"""The chat generator for Ollama's own API."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Unpack

from detent.adapters.providers.http.endpoints import Endpoint, below
from detent.adapters.providers.http.generator import HttpChatGenerator, HttpOptions
from detent.adapters.providers.http.secrets import Secret
from detent.adapters.providers.ollama.decode import ChatFold
from detent.adapters.providers.ollama.encode import request_body
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import SchemaMode
from detent.core.tools.tool import ToolSpec

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

    schema_mode: SchemaMode = "without_tools"

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
        home = Endpoint(base_url, ("OLLAMA_API_KEY",), needs_key=False)
        super().__init__(model, home, api_base_url, api_key, **options)

    def _url(self, *, stream: bool) -> str:
        return below(self._base_url, "/api/chat")

    def _body(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolSpec],
        options: Mapping[str, object],
        *,
        stream: bool,
    ) -> bytes:
        return request_body(self.model, messages, tools, options, stream=stream)

    def _fold(self) -> ChatFold:
        return ChatFold()
