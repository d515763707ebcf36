"""The chat generator for OpenAI and every server that speaks Chat Completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

from detent.adapters.providers.http.endpoints import below, is_at
from detent.adapters.providers.http.generator import HttpChatGenerator, HttpOptions
from detent.adapters.providers.http.secrets import Secret
from detent.adapters.providers.openai.decode import ChatFold
from detent.adapters.providers.openai.encode import request_body
from detent.adapters.providers.openai.profiles import COMPATIBLE, OPENAI, Profile
from detent.core.chat.messages import ChatMessage
from detent.core.tools.tool import ToolSpec


class OpenAIChatGenerator(HttpChatGenerator):
    """Answers conversations through OpenAI Chat Completions, blocking or as a coroutine.

    It works with every server that speaks this API. `profile` says where a server differs; those of
    well-known servers are in `detent.adapters.providers.openai.profiles`.

    Args:
        model: the model's name, as the server knows it.
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
        model: str,
        *,
        api_base_url: str | None = None,
        api_key: str | Secret | None = None,
        profile: Profile | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        super().__init__(model, (profile or OPENAI).home, api_base_url, api_key, **options)
        self.profile = profile or (OPENAI if is_at(self.home, self._base_url) else COMPATIBLE)
        self.schema_mode = self.profile.schema_mode

    def _url(self, *, stream: bool) -> str:
        return below(self._base_url, "/chat/completions")

    def _body(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolSpec],
        options: Mapping[str, object],
        *,
        stream: bool,
    ) -> bytes:
        return request_body(
            self.model, messages, tools, options, stream=stream, profile=self.profile
        )

    def _fold(self) -> ChatFold:
        return ChatFold()
