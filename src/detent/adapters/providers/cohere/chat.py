"""The chat generator for Cohere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

from detent.adapters.providers.cohere.decode import ChatFold
from detent.adapters.providers.cohere.encode import request_body
from detent.adapters.providers.http.endpoints import Endpoint, below
from detent.adapters.providers.http.generator import HttpChatGenerator, HttpOptions
from detent.adapters.providers.http.secrets import Secret
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import SchemaMode
from detent.core.tools.tool import ToolSpec

COHERE = Endpoint("https://api.cohere.com/v2", ("CO_API_KEY", "COHERE_API_KEY"), "CO_API_URL")


class CohereChatGenerator(HttpChatGenerator):
    """Answers conversations through version 2 of Cohere's chat, blocking or as a coroutine.

    Args:
        model: the model's name, such as ``command-a-03-2025``.
        api_base_url: where ``/chat`` is. By default the environment's CO_API_URL, then Cohere.
        api_key: the key, best as a `Secret`. By default the environment's CO_API_KEY or
            COHERE_API_KEY, which goes to no server that `api_base_url` names.
        options: see `HttpOptions`. `generation_kwargs` are ``temperature``, ``max_tokens``,
            ``top_p``, ``stop``, ``seed``, ``tool_choice`` and ``response_format``, which mean the
            same for every provider, and members of the request, as the API names them
            (``thinking``, ``documents``, ``safety_mode`` …).

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
        super().__init__(model, COHERE, api_base_url, api_key, **options)

    def _url(self, *, stream: bool) -> str:
        return below(self._base_url, "/chat")

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
