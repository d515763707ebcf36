"""What every chat generator over HTTP has in common."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Self, Unpack

from detent.adapters.providers.http.answers import Answer, Fold, Payloads
from detent.adapters.providers.http.api import ChatRequest, HttpApi, HttpOptions, require_known
from detent.adapters.providers.http.caller import (
    HttpCaller,
    Request,
    Timeouts,
    as_timeouts,
    host_of,
    no_key,
)
from detent.adapters.providers.http.clients import Clients, require_httpx
from detent.adapters.providers.http.counting import CountFold
from detent.adapters.providers.http.endpoints import Endpoint, below, server_of, unsent_key
from detent.adapters.providers.http.listing import NamesFold, names_in
from detent.adapters.providers.http.secrets import Secret, SecretError, redacted
from detent.adapters.providers.meaning.estimates import counted
from detent.adapters.providers.meaning.server_tools import (
    COMPUTER,
    ComputerUse,
    all_labels,
    require_server_tools,
    server_tool_data,
    with_labels,
)
from detent.adapters.providers.meaning.thinking import ThinkingLevel, require_thinking
from detent.adapters.providers.meaning.wire import cannot_send
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import ChatReply, SchemaMode
from detent.core.tools.tool import ToolSpec
from detent.core.values.frozen import thaw
from detent.ports.chat import StreamingCallback
from detent.ports.stopping import wait

SECRET_HEADERS = ("auth", "cookie", "key", "secret", "token")
"""Words in the names of headers whose values are secrets, however they were given."""

POLL_S = 2.0
"""How long to wait before looking again for an answer that a server makes in the background."""

BASIC_HEADERS = {"content-type": "application/json", "user-agent": "detent"}


def _is_secret(name: str, headers: Mapping[str, str | Secret]) -> bool:
    return isinstance(headers[name], Secret) or any(word in name for word in SECRET_HEADERS)


class HttpChatGenerator:
    """Answers conversations through one HTTP API, blocking or as a coroutine.

    Connections are pooled and reused; `close`, or a ``with`` block, closes them.

    Args:
        model: the model's name.
        api: how the provider's API is spoken.
        api_base_url: another server, in place of the one that the environment names, or that.
        api_key: the key. By default the environment's, which goes to the provider and to the server
            that the environment names, not to one that `api_base_url` names.
        options: see `HttpOptions`.

    Raises:
        ValueError: `api_base_url` is no HTTP URL, or `thinking` is none of its values.
        TypeError: there is no such option, or one of `server_tools` is none.
    """

    def __init__(
        self,
        model: str,
        api: HttpApi,
        *,
        api_base_url: str | None = None,
        api_key: str | Secret | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        require_known(type(self).__name__, options)
        self.model, self.api = model, api
        self._base_url, self._key = server_of(api.endpoint, api_base_url, api_key)
        self._options = dict(options.get("generation_kwargs") or {})
        self._thinking: ThinkingLevel | None = options.get("thinking")
        require_thinking(self._thinking)
        self._server_tools = require_server_tools(options.get("server_tools", ()))
        self.labels = all_labels(self._server_tools)
        self._headers = {k.lower(): v for k, v in (options.get("headers") or {}).items()}
        self._secret_headers = [name for name in self._headers if _is_secret(name, self._headers)]
        self._clients = Clients(options.get("http_client"), options.get("async_http_client"))
        self._timeouts = as_timeouts(options.get("timeout", Timeouts()))
        self._caller = HttpCaller(self._clients, self._timeouts)

    @property
    def endpoint(self) -> Endpoint:
        """The provider's own server."""
        return self.api.endpoint

    @property
    def schema_mode(self) -> SchemaMode:
        """When the provider holds the model's answer to the schema of a `response_format`."""
        return self.api.schema_mode

    def options_as_data(self) -> dict[str, object]:
        """The options that are data: where it is, which variable has its key, what it sends.

        Raises:
            SecretError: its key is a value, or its address may hold one.
        """
        data: dict[str, object] = {}
        is_elsewhere = self._base_url != self.endpoint.base_url
        if self._options:
            data["generation_kwargs"] = thaw(self._options)
        if self._thinking is not None:
            data["thinking"] = self._thinking
        if self._server_tools:
            data["server_tools"] = [*map(server_tool_data, self._server_tools)]
        if is_elsewhere:
            if {"@", "?"} & set(self._base_url):
                raise SecretError(
                    f"the api_base_url of {type(self).__name__} has a user or a query in it, which "
                    "may be a key and is not written; give the key by Secret.from_env_var"
                )
            data["api_base_url"] = self._base_url
        if self._key is not None and (is_elsewhere or self._key.env_vars != self.endpoint.key_vars):
            if not self._key.env_vars:
                raise SecretError(
                    f"the key of {type(self).__name__} is a value, which is not written; make it "
                    "with Secret.from_env_var"
                )
            data["api_key"] = {"env_vars": list(self._key.env_vars)}
        return data

    def _url(self, *, stream: bool) -> str:
        """Where a request goes."""
        return below(self._base_url, self.api.path)

    def run(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: StreamingCallback | None = None,
    ) -> ChatReply:
        """The model's reply to `messages`; see `detent.ports.chat.ChatGenerator.run`."""
        chat_request = self._chat_request(messages, tools, generation_kwargs, streaming_callback)
        until = time.monotonic() + self._timeouts.total_s
        while True:
            request, answer = self._prepared(chat_request)
            reply = self._caller.call(request, answer, streaming_callback)
            if not self._is_awaited(request, reply, until):
                return with_labels(counted(reply, messages, tools), self._server_tools)
            wait(POLL_S)

    async def run_async(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: StreamingCallback | None = None,
    ) -> ChatReply:
        """As `run`. Cancelling it closes the connection."""
        import asyncio  # most of the time of importing a provider, and blocking calls need none

        chat_request = self._chat_request(messages, tools, generation_kwargs, streaming_callback)
        until = time.monotonic() + self._timeouts.total_s
        while True:
            await self._ready()
            request, answer = self._prepared(chat_request)
            reply = await self._caller.call_async(request, answer, streaming_callback)
            if not self._is_awaited(request, reply, until):
                return with_labels(counted(reply, messages, tools), self._server_tools)
            await asyncio.sleep(POLL_S)

    def count_tokens(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
    ) -> int:
        """How many tokens the model would read, as the provider counts them; nothing is answered.

        Raises:
            ChatGeneratorError: there is no count, or the provider has none.
        """
        chat_request = self._chat_request(messages, tools, generation_kwargs, None)
        request, answer = self._counting(chat_request)
        return self._caller.call(request, answer, None).usage.input_tokens

    async def count_tokens_async(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
    ) -> int:
        """As `count_tokens`."""
        chat_request = self._chat_request(messages, tools, generation_kwargs, None)
        await self._ready()
        request, answer = self._counting(chat_request)
        reply = await self._caller.call_async(request, answer, None)
        return reply.usage.input_tokens

    def list_models(self) -> list[str]:
        """The names of the models that the server has, in its order. Blocks.

        Raises:
            ChatGeneratorError: there is no list, or the provider's API has none.
        """
        listing = self.api.listing
        if listing is None:
            raise cannot_send(host_of(self._base_url), "request for a list of models")
        url = below(listing.base_of(self._base_url), listing.path, listing.query)
        request, answer = self._sending(url, b"", NamesFold(listing), method="GET")
        return names_in(self._caller.call(request, answer, None))

    async def _ready(self) -> None:
        """Let what a request needs be got without holding the event loop."""
        try:
            await self._get_ready()
        except SecretError as error:
            raise no_key(self._base_url, error) from error

    async def _get_ready(self) -> None:
        """Get what may take a while. Raises SecretError: there is none."""

    def _counting(self, chat_request: ChatRequest) -> tuple[Request, Answer]:
        count = self.api.count
        if count is None:
            raise cannot_send(host_of(self._base_url), "request to count tokens")
        url = below(self._base_url, count.path)
        return self._sending(
            url, count.body(self.api.encode(chat_request)), CountFold(count.member)
        )

    def _chat_request(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolSpec],
        generation_kwargs: Mapping[str, object] | None,
        callback: StreamingCallback | None,
    ) -> ChatRequest:
        options = self._options | dict(generation_kwargs or {})
        if self._server_tools:
            own: Any = options.get("tools") or ()
            options["tools"] = [*self._server_tool_members(), *own]
            tools = self._functions(tools)
        stream, thinking = callback is not None, self._thinking
        return ChatRequest(self.model, messages, tools, options, stream=stream, thinking=thinking)

    def _functions(self, tools: Sequence[ToolSpec]) -> Sequence[ToolSpec]:
        """The tools that the model is told of as functions: it knows a computer by itself."""
        if not any(isinstance(tool, ComputerUse) for tool in self._server_tools):
            return tools
        functions = [tool for tool in tools if tool.name != COMPUTER]
        if len(functions) == len(tools):
            what = f"ComputerUse without a tool named {COMPUTER!r}, which does what the model asks"
            raise cannot_send(host_of(self._base_url), what)
        return functions

    def _server_tool_members(self) -> Iterator[dict[str, Any]]:
        write = self.api.server_tool
        if write is None:
            raise cannot_send(host_of(self._base_url), "server_tools, as far as is documented")
        return map(write, self._server_tools)

    def _is_awaited(self, request: Request, reply: ChatReply, until: float) -> bool:
        """Whether to look once more for an answer that is being made, in this very call.

        An answer that was only just asked for is not: its id is given to the caller first, who may
        keep it, and finds the answer by it whatever happens here.
        """
        is_looked_for = request.method == "GET" and reply.finish_reason == "paused"
        return is_looked_for and time.monotonic() + POLL_S < until

    def _prepared(self, chat_request: ChatRequest) -> tuple[Request, Answer]:
        path = self.api.under_way(chat_request.messages)
        body = self.api.encode(chat_request) if path is None else b""
        url = below(self._base_url, path) if path else self._url(stream=chat_request.stream)
        method: Literal["GET", "POST"] = "GET" if path else "POST"
        fold, payloads = self.api.decode(chat_request), self.api.payloads()
        return self._sending(url, body, fold, payloads=payloads, method=method)

    def _sending(
        self,
        url: str,
        body: bytes,
        fold: Fold,
        *,
        payloads: Payloads | None = None,
        method: Literal["GET", "POST"] = "POST",
    ) -> tuple[Request, Answer]:
        try:
            headers, secrets = self._signed_headers(url, body)
        except SecretError as error:
            raise no_key(url, error) from error
        answer = Answer(
            fold,
            host_of(url),
            redact=lambda text: redacted(text, secrets),
            payloads=payloads,
            unsent_key="" if secrets else unsent_key(self.endpoint, url),
        )
        return Request(url, headers, body, method), answer

    def _signed_headers(self, url: str, body: bytes) -> tuple[dict[str, str], list[str]]:
        """The headers of a request, and the secrets in them.

        Raises:
            SecretError: one of the secrets is missing.
        """
        headers = dict(BASIC_HEADERS)
        for name, value in self._headers.items():
            headers[name] = value.reveal() if isinstance(value, Secret) else value
        secrets = [headers[name] for name in self._secret_headers]
        if self._key is not None:
            secrets.append(self._key.reveal())
            name, before = self.endpoint.key_header
            headers[name] = before + secrets[-1]
        return headers, secrets

    def require_key(self) -> None:
        """Raise ImportError, or ChatGeneratorError, where no call can be made: no extra, no key."""
        require_httpx()
        try:
            self._signed_headers(self._url(stream=False), b"")
        except SecretError as error:
            raise no_key(self._base_url, error) from error

    def about_key(self) -> str:
        """Whether there is a key for a call, and which variables may hold it; never the key."""
        names = " or ".join(self.endpoint.key_vars)
        try:
            _, secrets = self._signed_headers(self._url(stream=False), b"")
        except SecretError as error:
            return f"no key: {error}"
        return f"a key is set ({names})" if secrets else f"needs no key; {names} may hold one"

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
        return f"{type(self).__name__}({self.model!r} at {host_of(self._url(stream=False))})"
