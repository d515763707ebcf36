"""The chat generator for OpenAI and every server that speaks Chat Completions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit, urlunsplit

from detent.adapters.http.answers import Answer
from detent.adapters.http.caller import HttpCaller, Request, Timeouts, as_timeouts, host_of
from detent.adapters.http.clients import Clients
from detent.adapters.http.secrets import Secret, SecretError, as_secret, redacted
from detent.adapters.openai.decode import ChatFold
from detent.adapters.openai.encode import request_body
from detent.core.messages import ChatMessage
from detent.core.replies import ChatReply, ModelFailure
from detent.core.tools import ToolSpec
from detent.ports.chat import ChatGeneratorError, StreamingCallback

if TYPE_CHECKING:
    import httpx

DEFAULT_BASE_URL = "https://api.openai.com/v1"
OPENAI_HOST = "api.openai.com"
DEFAULT_TIMEOUTS = Timeouts()


class OpenAIChatGenerator:
    """Answers conversations through OpenAI Chat Completions, blocking or as a coroutine.

    It works with every server that speaks this API: OpenAI, Azure, OpenRouter, Groq, Mistral, vLLM,
    llama.cpp, Ollama. Connections are pooled and reused; `close`, or a ``with`` block, closes them.

    Args:
        model: the model's name, as the server knows it.
        api_base_url: where ``/chat/completions`` is; a query is kept. By default the environment's
            OPENAI_BASE_URL, then OpenAI.
        api_key: the key, best as a `Secret`. By default the environment's OPENAI_API_KEY, which
            goes to OpenAI and the environment's server, not to one that `api_base_url` names.
        generation_kwargs: further members of the request, as the API names them (`temperature`,
            `max_completion_tokens`, `tool_choice`, `response_format` …). None leaves a member out.
        timeout: seconds for a whole call, or `Timeouts`.
        headers: further request headers, such as ``OpenAI-Organization`` or Azure's ``api-key``.
        http_client: sends the blocking calls, for proxies, certificates and tests; it stays yours.
        async_http_client: the same for coroutines; it must be used in one event loop only.

    Raises:
        ValueError: `api_base_url` is no HTTP URL.
    """

    def __init__(
        self,
        model: str,
        *,
        api_base_url: str | None = None,
        api_key: str | Secret | None = None,
        generation_kwargs: Mapping[str, object] | None = None,
        timeout: float | Timeouts = DEFAULT_TIMEOUTS,
        headers: Mapping[str, str | Secret] | None = None,
        http_client: httpx.Client | None = None,
        async_http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self.model = model
        self._url = _endpoint(api_base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL)
        named_in_code = api_base_url is not None
        self._key = as_secret(api_key) or _environment_key(self._url, named_in_code=named_in_code)
        self._options = dict(generation_kwargs or {})
        self._headers = dict(headers or {})
        self._clients = Clients(http_client, async_http_client)
        self._caller = HttpCaller(self._clients, as_timeouts(timeout))

    def run(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: StreamingCallback | None = None,
    ) -> ChatReply:
        """The model's reply to `messages`; see `detent.ports.chat.ChatGenerator.run`."""
        stream = streaming_callback is not None
        request, answer = self._prepared(messages, tools, generation_kwargs, stream=stream)
        return self._caller.call(request, answer, streaming_callback)

    async def run_async(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: StreamingCallback | None = None,
    ) -> ChatReply:
        """As `run`. Cancelling it closes the connection."""
        stream = streaming_callback is not None
        request, answer = self._prepared(messages, tools, generation_kwargs, stream=stream)
        return await self._caller.call_async(request, answer, streaming_callback)

    def _prepared(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolSpec],
        generation_kwargs: Mapping[str, object] | None,
        *,
        stream: bool,
    ) -> tuple[Request, Answer]:
        options = self._options | dict(generation_kwargs or {})
        body = request_body(self.model, messages, tools, options, stream=stream)
        headers, secrets = self._revealed_headers()
        answer = Answer(ChatFold(), host_of(self._url), redact=lambda text: redacted(text, secrets))
        return Request(self._url, headers, body), answer

    def _revealed_headers(self) -> tuple[dict[str, str], list[str]]:
        """The request headers, and the secrets in them."""
        headers = {"content-type": "application/json", "user-agent": "detent"}
        secrets = []
        try:
            for name, value in self._headers.items():
                headers[name.lower()] = value.reveal() if isinstance(value, Secret) else value
                secrets += [headers[name.lower()]] if isinstance(value, Secret) else []
            if self._key is not None:
                headers["authorization"] = f"Bearer {self._key.reveal()}"
                secrets.append(self._key.reveal())
        except SecretError as error:
            text = f"a key for {host_of(self._url)} is needed: {error}; set it or pass api_key="
            raise ChatGeneratorError(ModelFailure("authentication", text)) from error
        return headers, secrets

    def close(self) -> None:
        """Close the connections of blocking calls. A later call opens new ones."""
        self._clients.close()

    async def aclose(self) -> None:
        """Close all connections, of blocking calls and of this event loop."""
        await self._clients.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"OpenAIChatGenerator({self.model!r} at {host_of(self._url)})"


def _endpoint(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise ValueError(
            f"api_base_url must be a URL such as {DEFAULT_BASE_URL!r}, got {base_url!r}"
        )
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + "/chat/completions"))


def _environment_key(url: str, *, named_in_code: bool) -> Secret | None:
    """The environment's key, for OpenAI and for the server that the environment itself names.

    To any other server a key is sent only if the code says so; many need none.
    """
    host = urlsplit(url).hostname or ""
    key = Secret.from_env_var("OPENAI_API_KEY")
    if host == OPENAI_HOST or host.endswith(f".{OPENAI_HOST}"):
        return key
    return key if not named_in_code and os.environ.get("OPENAI_API_KEY") else None
