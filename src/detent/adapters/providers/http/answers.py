"""Reading one HTTP answer: bytes go in as they come, pieces come out, and at the end the reply.

Everything here is pure, so that both colours of the caller share it. What differs between providers
is a `Fold` over the JSON values of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from attrs import evolve

from detent.adapters.providers.http.failures import failure_of_status, request_id
from detent.adapters.providers.http.payloads import CutAnswerError, PayloadDecoder
from detent.core.chat.replies import ChatReply, ModelFailure, StreamingChunk
from detent.ports.chat import ChatGeneratorError

MAX_ERROR_BYTES = 1024 * 1024
EXCERPT_BYTES = 200
SUCCESS = range(200, 300)
NO_END = frozenset({"cut_stream", "bad_response"})

Ending: TypeAlias = tuple[Sequence[StreamingChunk], ChatReply]
"""The last pieces of an answer, and the whole reply."""

# What a fold meets in values of another shape than the protocol says, and what is no JSON at all.
MALFORMED = (AttributeError, LookupError, RecursionError, TypeError, ValueError)


class Fold(Protocol):
    """A provider's way to read the JSON values of one answer, streamed or whole. Pure."""

    def add(self, value: Mapping[str, object], /) -> Sequence[StreamingChunk]:
        """Take in the next value; give what can be shown of it.

        Raises:
            ChatGeneratorError: the value is an error of the provider.
        """
        ...

    def finish(self, *, ended: bool) -> Ending:
        """The reply. `ended` says that the answer was one whole body, or had its end mark.

        Raises:
            ChatGeneratorError: the answer was cut off, or is none.
        """
        ...


class Payloads(Protocol):
    """Turns the bytes of an answer, cut anywhere, into its JSON objects."""

    @property
    def ended(self) -> bool:
        """Whether the end mark, or the end of a whole body, has come."""
        ...

    def feed(self, data: bytes, /) -> Iterable[Mapping[str, Any]]:
        """The values that are complete with `data`. Raises ValueError: they are none."""
        ...

    def close(self) -> Iterable[Mapping[str, Any]]:
        """The values that the end of the answer completes. Raises ValueError: they are none."""
        ...


class Answer:
    """One answer of `host` while it comes in.

    `redact` takes secrets out of what the host says. `payloads` knows its framing; by default it is
    one of those that `PayloadDecoder` tells apart.
    """

    def __init__(
        self,
        fold: Fold,
        host: str,
        *,
        redact: Callable[[str], str],
        payloads: Payloads | None = None,
    ) -> None:
        self._fold = fold
        self._host = host
        self._redact = redact
        self._payloads = payloads or PayloadDecoder()
        self._status = 0
        self._headers: Mapping[str, str] = {}
        self._error_body = bytearray()
        self._beginning = b""
        self._broken: ModelFailure | None = None

    @property
    def begun(self) -> bool:
        """Whether the head of the answer has come."""
        return self._status > 0

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Take in the status, and the headers by lower-case name."""
        self._status = status
        self._headers = headers

    def feed(self, data: bytes) -> Iterator[StreamingChunk]:
        """Take in the next bytes; give the pieces that they complete, all of which must be taken.

        Raises:
            ChatGeneratorError: the provider sent an error, or something that is no answer.
        """
        if self._status not in SUCCESS:
            self._error_body += data[: MAX_ERROR_BYTES - len(self._error_body)]
            return
        if len(self._beginning) < EXCERPT_BYTES:
            self._beginning += data[: EXCERPT_BYTES - len(self._beginning)]
        try:
            for value in self._payloads.feed(data):
                yield from self._fold.add(value)
        except ChatGeneratorError as error:
            raise self._signed(error.failure) from None
        except MALFORMED as error:
            raise self._malformed(error) from error

    def break_off(self, failure: ModelFailure) -> None:
        """No more bytes come, because of `failure`; it does no harm after the end of the answer."""
        self._broken = failure

    def finish(self) -> Ending:
        """The last pieces and the reply, when no more bytes come.

        Raises:
            ChatGeneratorError: there is none; its failure says why.
        """
        if self._status not in SUCCESS:
            raise self._signed(
                failure_of_status(self._status, self._headers, bytes(self._error_body))
            )
        try:
            pieces = [piece for value in self._payloads.close() for piece in self._fold.add(value)]
            last, reply = self._fold.finish(ended=self._payloads.ended)
        except ChatGeneratorError as error:
            if self._broken and error.failure.cause in NO_END:
                raise ChatGeneratorError(self._broken) from None
            raise self._signed(error.failure) from None
        except MALFORMED as error:
            if self._broken:
                raise ChatGeneratorError(self._broken) from None
            if isinstance(error, CutAnswerError):
                failure = ModelFailure("cut_stream", str(error), retryable=True)
                raise self._signed(failure) from None
            raise self._malformed(error) from error
        return [*pieces, *last], reply

    def _malformed(self, error: Exception) -> ChatGeneratorError:
        expected = "expected a chat completion as JSON or as server-sent events"
        got = self._beginning.decode(errors="replace")
        text = f"{expected}, got {got!r}… ({error}); check that the base URL is that of an API"
        return self._signed(ModelFailure("bad_response", text))

    def _signed(self, failure: ModelFailure) -> ChatGeneratorError:
        """The failure with whose it is, its status and its id, and with every secret taken out."""
        return ChatGeneratorError(
            evolve(
                failure,
                message=self._redact(f"{self._host}: {failure.message}"),
                status=failure.status or self._status,
                request_id=failure.request_id or request_id(self._headers),
            )
        )
