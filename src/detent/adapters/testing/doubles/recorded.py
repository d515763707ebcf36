"""Chat generators that record a real model once, and replay it wherever there is none."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias, TypedDict, Unpack, cast

from attrs import asdict

from detent.adapters.system.threads_and_loops import in_a_thread, in_background
from detent.adapters.testing.doubles.differences import first_difference
from detent.adapters.testing.doubles.script import counted, require_none_left
from detent.adapters.testing.doubles.scripted import chunks_of
from detent.adapters.testing.doubles.scrubbing import scrub_secrets
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import ChatReply, ModelFailure
from detent.core.codec.own_values import dump, load
from detent.core.tools.result import text_of
from detent.core.tools.tool import ToolSpec
from detent.ports.chat import (
    AsyncChatGenerator,
    ChatGenerator,
    ChatGeneratorError,
    StreamingCallback,
    StreamingChunk,
    ToolCallDelta,
    labels_of_replies,
)

Json: TypeAlias = dict[str, Any]
Scrub: TypeAlias = Callable[[str], str]
"""Takes out of a text what must not be stored, or what differs each time."""

FORMAT = 1


class Options(TypedDict, total=False):
    """What a chat generator is given beside the conversation; see the `ChatGenerator` port."""

    tools: Sequence[ToolSpec]
    generation_kwargs: Mapping[str, object] | None
    streaming_callback: StreamingCallback | None


class RecordingChatGenerator:
    """Answers as `inner` does, and writes each exchange to the file `path`, failures as well.

    The first exchange begins a new file. Every text in it has gone through `scrub`.
    """

    def __init__(
        self,
        inner: ChatGenerator | AsyncChatGenerator,
        path: str | Path,
        *,
        scrub: Scrub = scrub_secrets,
    ) -> None:
        self._inner = inner
        self._path = Path(path)
        self._scrub = scrub
        self._exchanges: list[Json] = []
        self._lock = Lock()
        self.labels = labels_of_replies(inner)

    def run(self, messages: Sequence[ChatMessage], **options: Unpack[Options]) -> ChatReply:
        """The inner generator's reply."""
        if not hasattr(self._inner, "run"):
            return in_background(self.run_async(messages, **options)).result()
        with self._exchange(messages, options) as keep:
            return keep(cast(ChatGenerator, self._inner).run(messages, **options))

    async def run_async(
        self, messages: Sequence[ChatMessage], **options: Unpack[Options]
    ) -> ChatReply:
        """As `run`."""
        if not hasattr(self._inner, "run_async"):
            return await in_a_thread(partial(self.run, messages, **options))
        with self._exchange(messages, options) as keep:
            return keep(await cast(AsyncChatGenerator, self._inner).run_async(messages, **options))

    @contextmanager
    def _exchange(
        self, messages: Sequence[ChatMessage], options: Options
    ) -> Generator[Callable[[ChatReply], ChatReply]]:
        """Keep what is told, and then the reply or the failure."""
        exchange: Json = {"request": _request(messages, options)}
        tell = options.get("streaming_callback")
        if tell is not None:
            pieces = exchange["pieces"] = []

            def keep_and_tell(piece: StreamingChunk, tell: StreamingCallback = tell) -> None:
                pieces.append(_piece_to_json(piece))
                tell(piece)

            options["streaming_callback"] = keep_and_tell

        def keep(reply: ChatReply) -> ChatReply:
            self._keep(exchange | {"reply": dump(reply)})
            return reply

        try:
            yield keep
        except ChatGeneratorError as error:
            self._keep(exchange | {"failure": dump(error.failure)})
            raise

    def _keep(self, exchange: Json) -> None:
        with self._lock:
            self._exchanges.append(_scrubbed(exchange, self._scrub))
            whole = {"format": FORMAT, "exchanges": self._exchanges}
            self._path.parent.mkdir(parents=True, exist_ok=True)
            half = self._path.with_name(f"{self._path.name}.{os.getpid()}")
            half.write_text(json.dumps(whole, ensure_ascii=False, indent=1) + "\n", "utf-8")
            half.replace(self._path)


class ReplayingChatGenerator:
    """Answers as the recording in the file `path` says, without any model.

    Each exchange is replayed once, the first of those that have this very request, so that parallel
    runs may ask in any order. A request that no exchange has raises AssertionError, which names the
    first difference; `assert_complete` raises one when exchanges are left.

    Args:
        path: what a `RecordingChatGenerator` has written.
        scrub: as when it was recorded; the texts of requests go through it before they are
            compared.

    Raises:
        FileNotFoundError: there is no recording.
        ValueError: the file is none.
    """

    def __init__(self, path: str | Path, *, scrub: Scrub = scrub_secrets) -> None:
        self._path = Path(path)
        self._scrub = scrub
        self._left = _exchanges(self._path)
        self._count = len(self._left)
        self._lock = Lock()

    def run(self, messages: Sequence[ChatMessage], **options: Unpack[Options]) -> ChatReply:
        """The recorded reply to this request.

        Raises:
            ChatGeneratorError: so it was recorded.
        """
        exchange = self._take(_scrubbed(_request(messages, options), self._scrub))
        failure, tell = exchange.get("failure"), options.get("streaming_callback")
        reply = None if failure is not None else load(exchange["reply"], ChatReply)
        if tell is not None:
            for piece in _pieces(exchange, reply):
                tell(piece)
        if reply is None:
            raise ChatGeneratorError(load(failure, ModelFailure))
        return reply

    async def run_async(
        self, messages: Sequence[ChatMessage], **options: Unpack[Options]
    ) -> ChatReply:
        """As `run`."""
        return self.run(messages, **options)

    def assert_complete(self) -> None:
        """Raise AssertionError when exchanges were never asked for."""
        wanted = [text_of(exchange["request"]["messages"][-1:]) for exchange in self._left]
        require_none_left(wanted, "exchange")

    def _take(self, request: Json) -> Json:
        with self._lock:
            for exchange in self._left:
                if exchange["request"] == request:
                    self._left.remove(exchange)
                    return exchange
        there = f"the recording {self._path} has {counted(self._count, 'exchange')}"
        if not self._left:
            raise AssertionError(f"{there}, and was asked for more; record it anew")
        at, difference = first_difference(self._left[0]["request"], request)
        raise AssertionError(
            f"{there}, and none that is left has this request. The next one differs first at {at}:"
            f"\n{difference}\nRecord it anew, or let scrub take out what differs each time."
        )


def recorded(
    path: str | Path,
    make: Callable[[], ChatGenerator | AsyncChatGenerator],
    *,
    scrub: Scrub = scrub_secrets,
) -> RecordingChatGenerator | ReplayingChatGenerator:
    """The recording in the file `path`; where there is none yet, one is made of what `make` gives.

    To record anew, delete the file.
    """
    if Path(path).exists():
        return ReplayingChatGenerator(path, scrub=scrub)
    return RecordingChatGenerator(make(), path, scrub=scrub)


def _request(messages: Sequence[ChatMessage], options: Options) -> Json:
    """What makes two requests the same."""
    chosen = options.get("generation_kwargs") or {}
    return {
        "messages": [dump(message) for message in messages],
        "tools": [dump(tool) for tool in options.get("tools", ())],
        "generation_kwargs": json.loads(text_of(dict(chosen))),
    }


def _exchanges(path: Path) -> list[Json]:
    try:
        whole = json.loads(path.read_text("utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is no recording: {error}") from None
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise ValueError(f"{path} is no recording of format {FORMAT}; record it anew")
    return list(whole["exchanges"])


def _pieces(exchange: Json, reply: ChatReply | None) -> list[StreamingChunk]:
    """The pieces that were told then, or that could have been."""
    if "pieces" in exchange:
        return [_piece_from_json(piece) for piece in exchange["pieces"]]
    return [] if reply is None else list(chunks_of(reply))


def _piece_to_json(piece: StreamingChunk) -> Json:
    data = asdict(piece, recurse=False, filter=lambda attribute, value: value != attribute.default)
    deltas = [dump(delta) for delta in piece.tool_calls]
    return data | ({"tool_calls": deltas} if deltas else {})


def _piece_from_json(data: Json) -> StreamingChunk:
    deltas = data.pop("tool_calls", ())
    return StreamingChunk(**data, tool_calls=tuple(load(delta, ToolCallDelta) for delta in deltas))


def _scrubbed(value: Any, scrub: Scrub) -> Any:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {key: _scrubbed(item, scrub) for key, item in value.items()}
    return [_scrubbed(item, scrub) for item in value] if isinstance(value, list) else value
