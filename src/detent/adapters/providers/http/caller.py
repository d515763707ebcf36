"""The thin caller: one request goes out through httpx, the bytes of the answer go to its reader."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import aclosing, closing, contextmanager
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from attrs import field, frozen
from returns.result import Failure, Result

from detent.adapters.providers.http.answers import Answer, Ending
from detent.adapters.providers.http.clients import AnyClient, Clients, reaches_out, require_httpx
from detent.adapters.providers.http.failures import shortened
from detent.core.chat.replies import ChatReply, ModelFailure
from detent.ports.chat import ChatGeneratorError, StreamingCallback, StreamingChunk
from detent.ports.real_models import require_real_model_allowed

if TYPE_CHECKING:
    import httpx

LARGE = 65_536
"""An answer of so many bytes is put together in a thread: of small parts, that takes a while."""


@frozen
class Timeouts:
    """How long a call may take, in seconds.

    Attributes:
        connect_s: until the connection stands, or one of the pool is free.
        read_s: between two pieces of the answer, and until the first; a model that does not stream
            is silent until it has finished.
        total_s: for the whole call: then its connection is cut, whatever it is doing. That of a
            blocking client of your own is not: it is looked at when bytes of the answer come.
    """

    connect_s: float = 10.0
    read_s: float = 300.0
    total_s: float = 600.0

    def httpx(self) -> httpx.Timeout:
        """The same in httpx's terms, which know no total."""
        import httpx

        read_s, connect_s = min(self.read_s, self.total_s), min(self.connect_s, self.total_s)
        return httpx.Timeout(read_s, connect=connect_s, pool=connect_s)


def as_timeouts(value: float | Timeouts) -> Timeouts:
    """`value` as time-outs: a number of seconds is for the whole call."""
    if isinstance(value, Timeouts):
        return value
    if not isinstance(value, int | float):
        raise TypeError(f"timeout is a number of seconds or Timeouts(…), got {value!r:.80}")
    return Timeouts(connect_s=min(value, Timeouts().connect_s), read_s=value, total_s=value)


@frozen
class Request:
    """One request, complete."""

    url: str
    headers: Mapping[str, str] = field(repr=False)  # one of them is a secret
    body: bytes = field(repr=False)
    method: Literal["GET", "POST"] = "POST"


@lru_cache(maxsize=100)
def host_of(url: str) -> str:
    """Host and port of a URL, for messages: the whole of it can hold secrets."""
    return urlsplit(url).netloc.rpartition("@")[2]


def no_key(url: str, error: Exception) -> ChatGeneratorError:
    """That a request cannot be made for want of a key, as an error says."""
    require_httpx()  # what is to be installed comes first: a key alone would not help
    text = f"a key for {host_of(url)} is needed: {error}; set it or pass api_key="
    return ChatGeneratorError(ModelFailure("authentication", text))


HUNG_UP = "disconnected"
"""The word of httpx for a connection that ended; other breaches of the protocol say others."""


class HttpCaller:
    """Sends requests and folds their answers."""

    def __init__(self, clients: Clients, timeouts: Timeouts) -> None:
        self._clients = clients
        self._timeouts = timeouts
        self._usual: dict[str, str] = {}  # the headers that a client of ours adds

    @cached_property
    def _timeout(self) -> httpx.Timeout:
        return self._timeouts.httpx()

    def call(
        self, request: Request, answer: Answer, callback: StreamingCallback | None
    ) -> ChatReply:
        """The reply to `request`, read by `answer`; `callback` receives its pieces.

        Raises:
            ChatGeneratorError: there is none. The connection is released in any case.
        """
        deadline = _Deadline(self._timeouts.total_s, host_of(request.url))
        with (
            _failures(request, answer, deadline),
            self._clients.blocking(deadline.at) as client,
            closing(client.send(self._httpx_request(request, client), stream=True)) as response,
        ):
            answer.begin(response.status_code, response.headers)
            for data in response.iter_bytes():
                _show(answer.feed(data), callback)
                if answer.failed or deadline.is_over(answer):
                    break
        deadline.is_over(answer)  # a body without a length has just ended where it was cut
        return _finished(answer.finish(), callback)

    async def call_async(
        self, request: Request, answer: Answer, callback: StreamingCallback | None
    ) -> ChatReply:
        """As `call`. Cancelling closes the connection."""
        deadline, size = _Deadline(self._timeouts.total_s, host_of(request.url)), 0
        import asyncio  # most of the time of importing a provider, and blocking calls need none

        with _failures(request, answer, deadline):
            async with (
                asyncio.timeout(self._timeouts.total_s),
                self._clients.of_running_loop() as client,
                aclosing(
                    await client.send(self._httpx_request(request, client), stream=True)
                ) as response,
            ):
                answer.begin(response.status_code, response.headers)
                async for data in response.aiter_bytes():
                    size += len(data)
                    _show(answer.feed(data), callback)
                    if answer.failed or deadline.is_over(answer):
                        break
        deadline.is_over(answer)  # a body without a length has just ended where it was cut
        if size < LARGE:
            return _finished(answer.finish(), callback)
        from detent.adapters.system.threads_and_loops import in_a_thread  # with the first of them

        return _finished(await in_a_thread(answer.finish), callback)

    def _httpx_request(self, request: Request, client: AnyClient) -> httpx.Request:
        """What is sent, if this client may send it.

        Looking for what a client adds takes httpx a twentieth of the time of a call. One of ours
        adds the same to every request, and cookies.
        """
        import httpx

        if reaches_out(client):
            require_real_model_allowed(host_of(request.url))
        url, headers, body = _parsed(request.url), request.headers, request.body
        method = request.method
        if not self._clients.is_ours(client) or client.cookies:
            timeout = self._timeout
            return client.build_request(method, url, headers=headers, content=body, timeout=timeout)
        self._usual = self._usual or dict(client.headers)
        extensions = {"timeout": self._timeout.as_dict()}
        return httpx.Request(
            method, url, headers={**self._usual, **headers}, content=body, extensions=extensions
        )


@lru_cache(maxsize=100)
def _parsed(url: str) -> httpx.URL:
    """Reading a URL takes httpx a tenth of the time of a call, and there are few."""
    import httpx

    return httpx.URL(url)


def _finished(
    result: Result[Ending, ModelFailure], callback: StreamingCallback | None
) -> ChatReply:
    if isinstance(result, Failure):
        raise ChatGeneratorError(result.failure())
    pieces, reply = result.unwrap()
    _show(pieces, callback)
    return reply


def _show(pieces: Iterable[StreamingChunk], callback: StreamingCallback | None) -> None:
    for piece in pieces:
        if callback is not None:
            callback(piece)


class _Deadline:
    """The end of the time for the whole call."""

    def __init__(self, total_s: float, host: str) -> None:
        self.at = time.monotonic() + total_s
        self._total_s = total_s
        self._host = host

    @property
    def has_passed(self) -> bool:
        return time.monotonic() >= self.at

    def is_over(self, answer: Answer) -> bool:
        """Whether no more of an answer is read; what has come may be whole, or say an error."""
        if self.has_passed:
            answer.break_off(self.failure(begun=True))
        return self.has_passed

    def failure(self, *, begun: bool) -> ModelFailure:
        did = "was still answering" if begun else "did not begin to answer"
        text = f"{self._host} {did} after {self._total_s:g} s; give it more with timeout="
        return ModelFailure("timeout", text, retryable=True)


@contextmanager
def _failures(request: Request, answer: Answer, deadline: _Deadline) -> Generator[None]:
    """Turn what httpx raises into typed failures; what came before may hold the whole answer."""
    require_httpx()
    import httpx

    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
        if deadline.has_passed:
            failure = deadline.failure(begun=answer.begun)
        elif isinstance(error, TimeoutError):
            raise  # of the callback
        else:
            failure = _failure(error, answer, host_of(request.url))
        if not answer.begun:
            # The cause is not chained: its text can hold a header, and so the key.
            raise ChatGeneratorError(failure) from None
        answer.break_off(failure)


def _failure(error: Exception, answer: Answer, host: str) -> ModelFailure:
    import httpx

    # What cannot be read is shown in the error: a server may have echoed the key in it.
    cause = shortened(answer.redacted(f"{type(error).__name__}: {error}".rstrip(": ")))
    match error:
        case httpx.TimeoutException():
            text = f"{host} did not answer in time ({cause}); give it more with timeout="
            return ModelFailure("timeout", text, retryable=True)
        case httpx.UnsupportedProtocol() | httpx.LocalProtocolError() | httpx.InvalidURL():
            text = f"the request to {host!r} cannot be sent; check base URL and headers"
            return ModelFailure("bad_request", text)
        case httpx.DecodingError():
            return ModelFailure("bad_response", f"{host} sent bytes that do not decompress")
        case httpx.RemoteProtocolError() if not answer.begun and HUNG_UP not in cause:
            text = f"{host} sent what is no answer of HTTP ({cause}); check the base URL"
            return ModelFailure("bad_response", text)
        case _ if answer.begun:
            text = f"the connection to {host} broke while the answer came in ({cause})"
            return ModelFailure("cut_stream", text, retryable=True)
        case _:
            text = f"no connection to {host} ({cause}); check that it runs and can be reached"
            return ModelFailure("connection", text, retryable=True)
