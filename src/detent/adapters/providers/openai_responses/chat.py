"""The chat generator for OpenAI's Responses API, and for servers that speak it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

from detent.adapters.providers.http.endpoints import Endpoint, below
from detent.adapters.providers.http.generator import HttpChatGenerator, HttpOptions
from detent.adapters.providers.http.secrets import Secret
from detent.adapters.providers.openai_responses.decode import ResponseFold
from detent.adapters.providers.openai_responses.encode import request_body
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import SchemaMode
from detent.core.tools.tool import ToolSpec

HOME = Endpoint("https://api.openai.com/v1", ("OPENAI_API_KEY",), "OPENAI_BASE_URL")


class OpenAIResponsesChatGenerator(HttpChatGenerator):
    """Answers conversations through the Responses API, blocking or as a coroutine.

    By default nothing is stored on the server: the reasoning comes encrypted, is kept in the
    messages, and goes back with them.

    Args:
        model: the model's name.
        api_base_url: where ``/responses`` is; a query is kept. By default the environment's
            OPENAI_BASE_URL, then OpenAI.
        api_key: the key, best as a `Secret`. By default the environment's OPENAI_API_KEY, which
            goes to OpenAI and the environment's server, not to one that `api_base_url` names.
        chained: have the server store the conversation; a request then names the answer before it
            and holds only what is new.
        options: see `HttpOptions`. `generation_kwargs` are members of the request, as the API names
            them (`max_output_tokens`, `reasoning`, `include` …). `max_tokens`, `tool_choice` and
            `response_format` may have the form of Chat Completions, and `tools` are tools that run
            at the server.

    Raises:
        ValueError: `api_base_url` is no HTTP URL.
    """

    schema_mode: SchemaMode = "always"

    def __init__(
        self,
        model: str,
        *,
        api_base_url: str | None = None,
        api_key: str | Secret | None = None,
        chained: bool = False,
        **options: Unpack[HttpOptions],
    ) -> None:
        self._chained = chained
        super().__init__(model, HOME, api_base_url, api_key, **options)

    def _url(self, *, stream: bool) -> str:
        return below(self._base_url, "/responses")

    def _body(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolSpec],
        options: Mapping[str, object],
        *,
        stream: bool,
    ) -> bytes:
        return request_body(
            self.model, messages, tools, options, stream=stream, chained=self._chained
        )

    def _fold(self) -> ResponseFold:
        return ResponseFold()
