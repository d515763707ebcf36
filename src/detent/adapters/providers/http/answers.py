"""Reading one HTTP answer: bytes go in as they come, pieces come out, and at the end the reply.

Everything here is pure, so that both colours of the caller share it. What differs between providers
is a `Fold` over the JSON values of the answer. What goes wrong is a value, too: the caller raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVarTuple

from attrs import evolve
from returns.result import Failure, Result, Success

from detent.adapters.providers.http.failures import (
    failure_of_status,
    request_id,
    shortened,
    unfinished,
)
from detent.adapters.providers.http.payloads import (
    BEFORE_JSON,
    CutAnswerError,
    PayloadDecoder,
    begins_as_stream,
)
from detent.core.chat.messages import Citation
from detent.core.chat.replies import ChatReply, ModelFailure
from detent.core.codec.json_text import is_finite
from detent.ports.chat import StreamingChunk

MAX_ERROR_BYTES = 1024 * 1024
MAX_ANSWER_BYTES = 256 * 1024 * 1024
"""The longest answer that is read, in bytes: some 500 000 tokens, each in an event of its own."""

EXCERPT_CHARACTERS = 200
BEGINNING_BYTES = 16 * 1024
"""What is kept of an answer for an excerpt: a secret in it is whole, and so is found."""

CHECK = "check that the base URL is that of an API"
SUCCESS = range(200, 300)
NO_END = frozenset({"cut_stream", "bad_response"})

Data = TypeVarTuple("Data")
Json: TypeAlias = Mapping[str, Any]
Ending: TypeAlias = tuple[Sequence[StreamingChunk], ChatReply]
"""The last pieces of an answer, and the whole reply."""

# What a fold meets in values of another shape than the protocol says, and what is no JSON at all.
MALFORMED = (AttributeError, LookupError, RecursionError, TypeError, ValueError)


class Fold(Protocol):
    """A provider's way to read the JSON values of one answer, streamed or whole. Pure.

    It trusts the shape of the values: what it raises for want of a member, or for one of another
    type, is taken as a malformed answer.
    """

    def add(self, value: Json, /) -> Sequence[StreamingChunk] | ModelFailure:
        """Take in the next value; give what can be shown of it, or the error that it is."""
        ...

    def finish(self, *, ended: bool) -> Result[ChatReply, ModelFailure]:
        """The reply, or why there is none.

        `ended` says that the answer was one whole body, or had its end mark.
        """
        ...


class Payloads(Protocol):
    """Turns the bytes of an answer, cut anywhere, into its JSON objects."""

    @property
    def ended(self) -> bool:
        """Whether the end mark, or the end of a whole body, has come."""
        ...

    def feed(self, data: bytes, /) -> Iterable[Json]:
        """The values that are complete with `data`. Raises ValueError: they are none."""
        ...

    def close(self) -> Iterable[Json]:
        """The values that the end of the answer completes. Raises ValueError: they are none."""
        ...


class Answer:
    """One answer of `host` while it comes in.

    `redact` takes secrets out of what the host says. `payloads` knows its framing; by default it is
    one of those that `PayloadDecoder` tells apart. `unsent_key` says why no key was sent.
    """

    def __init__(
        self,
        fold: Fold,
        host: str,
        *,
        redact: Callable[[str], str],
        payloads: Payloads | None = None,
        unsent_key: str = "",
    ) -> None:
        self._fold = fold
        self._host = host
        self._redact = redact
        self._unsent_key = unsent_key
        self._payloads = payloads or PayloadDecoder()
        self._status = 0
        self._headers: Mapping[str, str] = {}
        self._error_body = bytearray()
        self._size = 0
        self._beginning = b""
        self._has_value = False
        self._cited: set[Citation] = set()
        self._failure: ModelFailure | None = None
        self._broken: ModelFailure | None = None

    @property
    def begun(self) -> bool:
        """Whether the head of the answer has come."""
        return self._status > 0

    @property
    def failed(self) -> bool:
        """Whether no further bytes can make a reply of it, or change why there is none."""
        return self._failure is not None or len(self._error_body) >= MAX_ERROR_BYTES

    def redacted(self, text: str) -> str:
        """`text` without secrets."""
        return self._redact(text)

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Take in the status, and the headers by lower-case name."""
        self._status = status
        self._headers = headers

    def feed(self, data: bytes) -> Sequence[StreamingChunk]:
        """Take in the next bytes; give the pieces that they complete.

        The pieces end early where the provider sends an error, or what is no answer.
        """
        if self._status not in SUCCESS:
            self._error_body += data[: MAX_ERROR_BYTES - len(self._error_body)]
            return ()
        if len(self._beginning) < BEGINNING_BYTES:
            self._beginning += data[: BEGINNING_BYTES - len(self._beginning)]
        self._size += len(data)
        if self._size > MAX_ANSWER_BYTES:
            text = f"the answer is larger than {MAX_ANSWER_BYTES} bytes"
            self._failure = ModelFailure("bad_response", text)
            return ()
        return self._pieces(self._payloads.feed, data)

    def break_off(self, failure: ModelFailure) -> None:
        """No more bytes come, because of `failure`; it does no harm after the end of the answer."""
        self._broken = failure

    def finish(self) -> Result[Ending, ModelFailure]:
        """The last pieces and the reply, when no more bytes come; or why there is no reply."""
        if self._status not in SUCCESS:
            body = bytes(self._error_body)
            failure = failure_of_status(self._status, self._headers, body, self._unsent_key)
            return Failure(self._signed(failure))
        if self._failure is not None:
            return Failure(self._signed(self._failure))
        pieces = self._pieces(self._payloads.close)
        result = self._reply()
        if isinstance(result, Failure):
            return result.alt(self._cause)
        return Success(self._ending(pieces, result.unwrap()))

    def _pieces(
        self, values: Callable[[*Data], Iterable[Json]], *data: *Data
    ) -> Sequence[StreamingChunk]:
        """What can be shown of the next values: those before a bad one, too."""
        chunks: list[StreamingChunk] = []
        add = self._fold.add
        try:
            for value in values(*data):
                self._has_value = True
                pieces = add(value)
                if isinstance(pieces, ModelFailure):
                    self._failure = pieces
                    break
                chunks += pieces
        except MALFORMED as error:
            self._failure = self._malformed(error)
        for piece in chunks:
            if piece.citations:
                self._cited.update(piece.citations)
        return chunks

    def _ending(self, pieces: Sequence[StreamingChunk], reply: ChatReply) -> Ending:
        """Sources that no piece has told yet, as many providers name them at the end, come last."""
        untold = tuple(cited for cited in reply.message.citations if cited not in self._cited)
        last = [StreamingChunk(citations=untold)] if untold else []
        return [*pieces, *last, StreamingChunk(finish_reason=reply.finish_reason)], reply

    def _reply(self) -> Result[ChatReply, ModelFailure]:
        if self._failure is not None:
            return Failure(self._failure)
        try:
            result = self._fold.finish(ended=self._payloads.ended)
            return result.map(_with_finite_data)
        except MALFORMED as error:
            return Failure(self._malformed(error))

    def _cause(self, failure: ModelFailure) -> ModelFailure:
        """Why there is no reply: what broke the answer off, if all that is wrong is its end."""
        if self._broken and failure.cause in NO_END:
            return self._broken
        if failure.cause == "cut_stream" and not self._has_value:
            failure = self._never_begun(failure)
        return self._signed(failure)

    def _never_begun(self, failure: ModelFailure) -> ModelFailure:
        """A whole answer without a value is no end of one: it is empty, or of something else.

        An empty one may still pass: what stands before a server sends it while that starts.
        """
        begins = self._beginning.lstrip(BEFORE_JSON)
        if not begins:
            return evolve(failure, message=f"the answer is empty; {CHECK}")
        is_words = begins[:1].isalpha() and not begins_as_stream(begins)
        return self._malformed(ValueError("no object, and no stream")) if is_words else failure

    def _malformed(self, error: Exception) -> ModelFailure:
        if isinstance(error, CutAnswerError):
            return unfinished("message", cut_off=True)
        expected = "expected a chat completion as JSON or as server-sent events"
        got = self._redact(self._beginning.decode(errors="replace"))[:EXCERPT_CHARACTERS]
        text = f"{expected}, got {got!r}… ({error}); {CHECK}"
        return ModelFailure("bad_response", text)

    def _signed(self, failure: ModelFailure) -> ModelFailure:
        """The failure with whose it is, its status and its id, and with every secret taken out."""
        return evolve(
            failure,
            message=shortened(self.redacted(f"{self._host}: {failure.message}")),
            status=failure.status or self._status,
            request_id=self._redact(failure.request_id or request_id(self._headers) or "") or None,
        )


def _with_finite_data(reply: ChatReply) -> ChatReply:
    """The reply. Raises ValueError where what is given back to the provider could not be sent."""
    message = reply.message
    own = (message.meta, *(getattr(part, "extra", None) for part in message.content))
    if not is_finite(own):
        raise ValueError("a number in it is none of JSON that can be sent back")
    return reply
