"""The chat generator that runs a small model in this process."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self

from returns.result import Failure

from detent.adapters.providers.local.decode import ReplyReader, whole_reply
from detent.adapters.providers.local.encode import Request, cannot, chat_request
from detent.adapters.providers.local.fetching import fetch
from detent.adapters.providers.local.llama import LlamaError, Server, Threads, load, require_llama
from detent.adapters.providers.local.options import read_options
from detent.adapters.providers.local.weights import OnProgress, WeightsError, chosen_model
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import ChatReply, ModelFailure, SchemaMode
from detent.core.tools.tool import ToolSpec
from detent.core.values.frozen import thaw
from detent.ports.chat import ChatGeneratorError, StreamingCallback, StreamingChunk
from detent.ports.real_models import IN_PROCESS, require_real_model_allowed


class LocalChatGenerator:
    """Answers conversations with a model in this process: no server, no key, no cost.

    The first call fetches the model's weights into the user's cache folder, about 1 GB for the
    default model, and loads them; `warm_up` does both ahead of it. Replies are made one at a time,
    whichever threads ask for them. With tools the model can only write a call that fits a tool's
    schema, or an answer. The beginning of a conversation that it has read before it does not read
    again.

    `close`, or a ``with`` block, frees the memory; a later call loads the model again.

    Args:
        model: a name out of `known_models`, or the path of a GGUF file. By default the
            environment's DETENT_LOCAL_MODEL, then qwen2.5-coder-1.5b.
        n_ctx: how many tokens a conversation may have, the reply included.
        threads: how many threads work for the model. By default all processors read and half of
            them write, which is fastest for each.
        generation_kwargs: options of every call: the fields of
            `detent.adapters.providers.local.options.Options`.

    Raises:
        ImportError: the extra `local` is not installed.
        ValueError: there is no such option.
    """

    schema_mode: SchemaMode = "always"

    def __init__(
        self,
        model: str | None = None,
        *,
        n_ctx: int = 8192,
        threads: int | None = None,
        generation_kwargs: Mapping[str, object] | None = None,
    ) -> None:
        require_llama()
        self.model = chosen_model(model)
        self._n_ctx = n_ctx
        self._threads = None if threads is None else Threads(threads, threads)
        self._options: dict[str, Any] = dict(generation_kwargs or {})
        read_options(self._options)
        self._thread = ThreadPoolExecutor(1, "detent-local")
        self._server: Server | None = None  # set, used and given up in the thread only

    def options_as_data(self) -> dict[str, object]:
        """The options that are data: what it may hold, and how it writes."""
        threads = None if self._threads is None else self._threads.reading
        optional = {"threads": threads, "generation_kwargs": thaw(self._options) or None}
        return {"n_ctx": self._n_ctx} | {k: v for k, v in optional.items() if v is not None}

    def warm_up(self, on_progress: OnProgress | None = None) -> None:
        """Fetch the weights if they are not here, and load them.

        Args:
            on_progress: told how far the fetch is, in bytes.

        Raises:
            WeightsError: the weights cannot be had.
            LlamaError: they cannot be loaded.
        """
        require_real_model_allowed(IN_PROCESS)
        if self._server is None:
            path = fetch(self.model, on_progress=on_progress)
            self._thread.submit(self._load, path).result()

    def run(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: StreamingCallback | None = None,
    ) -> ChatReply:
        """The model's reply to `messages`; see `detent.ports.chat.ChatGenerator.run`."""
        request = self._request(messages, tools, generation_kwargs)
        self._warm_up()
        chunks: SimpleQueue[StreamingChunk | None] = SimpleQueue()
        stop = threading.Event()
        # The model works in its own thread, as Ctrl-C would be lost in its callbacks.
        reply = self._thread.submit(self._reply, request, chunks.put, stop)
        reply.add_done_callback(lambda _: chunks.put(None))
        try:
            while (chunk := chunks.get()) is not None:
                if streaming_callback is not None:
                    streaming_callback(chunk)
            return reply.result()
        finally:
            stop.set()

    async def run_async(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: StreamingCallback | None = None,
    ) -> ChatReply:
        """As `run`. Cancelling it stops the model within a second or two."""
        request = self._request(messages, tools, generation_kwargs)
        await asyncio.to_thread(self._warm_up)
        loop = asyncio.get_running_loop()
        chunks: asyncio.Queue[StreamingChunk | None] = asyncio.Queue()
        stop = threading.Event()

        def tell(chunk: StreamingChunk) -> None:
            loop.call_soon_threadsafe(chunks.put_nowait, chunk)

        reply = asyncio.wrap_future(self._thread.submit(self._reply, request, tell, stop))
        reply.add_done_callback(lambda _: chunks.put_nowait(None))
        try:
            while (chunk := await chunks.get()) is not None:
                if streaming_callback is not None:
                    streaming_callback(chunk)
            return await reply
        finally:
            stop.set()
            reply.cancel()

    def close(self) -> None:
        """Free the model's memory, once the reply in the making is there."""
        self._thread.submit(self._unload).result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await asyncio.to_thread(self.close)

    def __repr__(self) -> str:
        return f"LocalChatGenerator({self.model!r})"

    def _request(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolSpec],
        generation_kwargs: Mapping[str, object] | None,
    ) -> Request:
        try:
            options = read_options(self._options | dict(generation_kwargs or {}))
        except ValueError as error:
            raise cannot(str(error)) from error
        return chat_request(messages, tools, options)

    def _warm_up(self) -> None:
        try:
            self.warm_up()
        except (WeightsError, LlamaError, OSError) as error:
            raise ChatGeneratorError(ModelFailure("not_found", str(error))) from error

    def _load(self, path: Path) -> None:
        if self._server is None:
            # Nobody but this process is to use the HTTP server that comes with the model.
            key = secrets.token_urlsafe()
            self._server = load(path, n_ctx=self._n_ctx, threads=self._threads, api_key=key)

    def _unload(self) -> None:
        self._server = None

    def _reply(
        self, request: Request, tell: Callable[[StreamingChunk], None], stop: threading.Event
    ) -> ChatReply:
        reading = _Reading(request, tell, stop)
        try:
            if self._server is not None and not stop.is_set():
                self._server.handle_chat_completions(request.body, reading)
        except (ValueError, RuntimeError) as error:
            raise cannot(f"llama.cpp says: {error}") from error
        return reading.reply(self.model)


class _Reading:
    """Takes in the events of one reply, and tells the pieces of it."""

    def __init__(
        self, request: Request, tell: Callable[[StreamingChunk], None], stop: threading.Event
    ) -> None:
        self._request = request
        self._tell = tell
        self._stop = stop
        self._reader = ReplyReader(request.form)
        self._error: Exception | None = None

    def __call__(self, event: dict[str, Any]) -> bool:
        """Take in an event; True stops the reply.

        An exception cannot pass through llama.cpp: it is kept, and raised when the reply is asked
        for.
        """
        try:
            self._take_in(event)
        except Exception as error:  # noqa: BLE001 - whatever it is, `reply` raises it
            self._error = error
        return self._error is not None or self._stop.is_set()

    def reply(self, model: str) -> ChatReply:
        """The whole reply, or the exception that stopped it."""
        if self._error is not None:
            raise self._error
        result = whole_reply(self._reader.received, self._request, model)
        if isinstance(result, Failure):
            raise ChatGeneratorError(result.failure())
        reply = result.unwrap()
        self._tell(StreamingChunk(finish_reason=reply.finish_reason))
        return reply

    def _take_in(self, event: Mapping[str, Any]) -> None:
        read = self._reader.read(event)
        if isinstance(read, ModelFailure):
            raise ChatGeneratorError(read)
        for piece in read:
            self._tell(piece)
