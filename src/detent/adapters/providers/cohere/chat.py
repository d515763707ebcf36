"""The chat generator for Cohere."""

from __future__ import annotations

from typing import Unpack

from detent.adapters.providers.cohere.decode import ChatFold
from detent.adapters.providers.cohere.encode import request_body
from detent.adapters.providers.http.adapter import (
    Endpoint,
    HttpApi,
    HttpChatGenerator,
    HttpOptions,
    Secret,
)
from detent.adapters.providers.http.listing import ModelList

COHERE = HttpApi(
    Endpoint("https://api.cohere.com/v2", ("CO_API_KEY", "COHERE_API_KEY"), "CO_API_URL"),
    "/chat",
    request_body,
    lambda _: ChatFold(),
    schema_mode="without_tools",
    listing=ModelList(query="page_size=1000", version="v1"),
)


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

    def __init__(
        self,
        model: str,
        *,
        api_base_url: str | None = None,
        api_key: str | Secret | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        super().__init__(model, COHERE, api_base_url=api_base_url, api_key=api_key, **options)
