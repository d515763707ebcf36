"""The chat generator for OpenAI and every server that speaks Chat Completions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Unpack

from detent.adapters.providers.http.adapter import (
    ChatRequest,
    HttpApi,
    HttpChatGenerator,
    HttpOptions,
    Secret,
)
from detent.adapters.providers.http.endpoints import is_at
from detent.adapters.providers.http.listing import ModelList
from detent.adapters.providers.openai.decode import ChatFold
from detent.adapters.providers.openai.encode import request_body
from detent.adapters.providers.openai.profiles import COMPATIBLE, OPENAI, Profile

DEFAULT_MODEL = "gpt-5-mini"
"""What answers where no model is named: small, and one that calls tools."""


class OpenAIChatGenerator(HttpChatGenerator):
    """Answers conversations through OpenAI Chat Completions, blocking or as a coroutine.

    It works with every server that speaks this API. `profile` says where a server differs; those of
    well-known servers are in `detent.adapters.providers.openai.profiles`.

    Args:
        model: the model's name, as the server knows it; by default OpenAI's `DEFAULT_MODEL`.
        api_base_url: where ``/chat/completions`` is; a query is kept. By default the environment's
            OPENAI_BASE_URL, then OpenAI; or what `profile` says.
        api_key: the key, best as a `Secret`. By default the environment's OPENAI_API_KEY, which
            goes to OpenAI and the environment's server, not to one that `api_base_url` names.
        profile: how the server differs from OpenAI.
        options: see `HttpOptions`. `generation_kwargs` are members of the request, as the API names
            them (`temperature`, `max_tokens`, `tool_choice`, `response_format` …).

    Raises:
        ValueError: `api_base_url` is no HTTP URL.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        api_base_url: str | None = None,
        api_key: str | Secret | None = None,
        profile: Profile | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        api = api_of(profile or OPENAI)
        super().__init__(model, api, api_base_url=api_base_url, api_key=api_key, **options)
        if profile is None and not is_at(self.endpoint, self._base_url):
            self.api = api_of(COMPATIBLE)


def _fold(request: ChatRequest) -> ChatFold:
    audio = request.options.get("audio")
    return ChatFold(str(audio.get("format", "wav")) if isinstance(audio, Mapping) else "wav")


def api_of(profile: Profile) -> HttpApi:
    """Chat Completions as a server of this profile speaks them."""
    encode = partial(request_body, profile=profile)
    return HttpApi(
        profile.endpoint,
        "/chat/completions",
        encode,
        _fold,
        schema_mode=profile.schema_mode,
        listing=ModelList() if profile.lists_models else None,
    )
