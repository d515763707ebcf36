"""Answers of Cohere's chat, streamed or whole, folded into pieces and a reply. Pure.

Answers in the form of the older version 1 of the API are read as well, if they are texts that say
why they ended. Its calls have another form, and are refused.

Source: https://docs.cohere.com/v2/docs/streaming
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import define, field
from returns.result import Failure, Result, Success

from detent.adapters.providers.http.failures import failure_in_answer, read_error, unfinished
from detent.adapters.providers.meaning.citations import citation
from detent.adapters.providers.meaning.neutral import decided_reason
from detent.adapters.providers.meaning.parts import Part, assistant_message
from detent.adapters.providers.meaning.wire import first_count, read_arguments
from detent.core.chat.messages import Citation, ReasoningContent, TextContent, ToolCall
from detent.core.chat.replies import ChatReply, FinishReason, ModelFailure, Usage
from detent.ports.chat import StreamingChunk, ToolCallDelta

Json: TypeAlias = Mapping[str, Any]

PROVIDER = "cohere"

FINISH_REASONS: Mapping[str, FinishReason] = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
    "ERROR_TOXIC": "content_filter",
}
BROKEN = frozenset({"ERROR", "TIMEOUT"})


class ChatFold:
    """Folds the values of one answer. A whole answer is a stream of one value to it."""

    def __init__(self) -> None:
        self._id = ""
        self._finish = ""
        self._usage: Json = {}
        self._spoken = False
        self._over = False
        self._is_old = False  # a whole answer of version 1
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._plan: list[str] = []
        self._citations: list[Json] = []
        self._calls: list[_Call] = []
        self._latest: dict[int | None, _Call] = {}  # by their indexes

    def add(self, value: Json, /) -> Sequence[StreamingChunk] | ModelFailure:
        """Take in the next value; give what can be shown of it, or the error that it is."""
        about = value.get("delta") or value.get("response") or value
        message = about.get("message") or {}
        if isinstance(message, str):
            return failure_in_answer(value)
        if "id" in value:
            self._id = str(value["id"] or "")
        self._usage = about.get("usage") or about.get("meta") or self._usage
        if value.get("tool_calls") and "message" not in about:
            return _of_version_1("calls")
        self._is_old |= "text" in value and "event_type" not in value
        self._spoken |= bool(message) or "text" in value
        self._over |= value.get("type") == "message-end" or ("id" in value and "message" in value)
        if reason := about.get("finish_reason"):
            self._finish = str(reason)
            if self._finish in BROKEN:
                return _broken(about)
        pieces = self._pieces(message, value.get("index"))
        if text := value.get("text"):  # of version 1, where it stands beside everything else
            pieces.append(self._say(text))
        return pieces

    def finish(self, *, ended: bool) -> Result[ChatReply, ModelFailure]:
        """The reply; a failure where the answer was cut off before its end, or is none."""
        if not (self._finish or self._over):
            if self._is_old and ended:
                return Failure(_of_version_1("a text without a finish_reason"))
            return Failure(unfinished("message", cut_off=self._spoken or not ended))
        reason = FINISH_REASONS.get(self._finish, "other")
        reason = decided_reason(reason, calls=bool(self._calls))
        reply = ChatReply(
            assistant_message(PROVIDER, self._parts(), self._planned()),
            finish_reason=reason,
            usage=_usage(self._usage),
            raw_finish_reason=self._finish,
            extra={"id": self._id, "usage": self._usage, "citations": self._citations},
        )
        return Success(reply)

    def _pieces(self, message: Json, index: int | None) -> list[StreamingChunk]:
        pieces: list[StreamingChunk] = []
        for part in _listed(message.get("content")):
            if thinking := part.get("thinking"):
                pieces.append(StreamingChunk(reasoning=thinking, start=not self._thinking))
                self._thinking.append(thinking)
            if text := part.get("text"):
                pieces.append(self._say(text))
        if calls := message.get("tool_calls"):
            deltas = [self._call(wire, index) for wire in _listed(calls)]
            pieces += [StreamingChunk(tool_calls=(delta,)) for delta in deltas]
        if citations := message.get("citations"):
            listed = _listed(citations)
            self._citations += listed
            named = tuple(source for raw in listed for source in _cited(raw))
            pieces.append(StreamingChunk(citations=named))
        if plan := message.get("tool_plan"):
            self._plan.append(plan)
        return pieces

    def _say(self, text: str) -> StreamingChunk:
        start = not self._text
        self._text.append(text)
        return StreamingChunk(text, start=start)

    def _call(self, wire: Json, index: int | None) -> ToolCallDelta:
        """Take in a call, or a piece of the one with this index."""
        function = wire.get("function") or {}
        name, call_id = function.get("name"), wire.get("id")
        begun = self._latest.get(index)
        if begun is None or name:
            begun = self._latest[index] = _Call(len(self._calls), str(name or ""), call_id)
            self._calls.append(begun)
        begun.arguments.append(function.get("arguments") or "")
        return ToolCallDelta(begun.place, name, begun.arguments[-1], call_id)

    def _parts(self) -> Iterator[Part]:
        if self._thinking:
            yield ReasoningContent("".join(self._thinking), {PROVIDER: {}})
        if self._text:
            yield TextContent("".join(self._text))
            for cited in self._citations:
                yield from _cited(cited)
        cut = self._finish == "MAX_TOKENS"
        for call in self._calls:
            yield call.tool_call(cut=cut and call is self._calls[-1])

    def _planned(self) -> dict[str, object]:
        plan = "".join(self._plan)
        return {"tool_plan": plan} if plan else {}


@define
class _Call:
    """A call while its pieces come in."""

    place: int
    name: str
    id: str | None
    arguments: list[str] = field(factory=list)

    def tool_call(self, *, cut: bool) -> ToolCall:
        text = "".join(self.arguments)
        read = read_arguments(text, cut=cut)
        return ToolCall(self.name, read or {}, self.id, unreadable=text if read is None else None)


def _cited(raw: Json) -> Iterator[Citation]:
    """A citation for each of its sources: documents, and results of tools."""
    sources: Sequence[Json] = raw.get("sources") or ({},)
    for source in sources:
        document = {**source, **(source.get("document") or {})}
        place = {"start_index": raw.get("start"), "end_index": raw.get("end")}
        yield citation({**document, **place, "title": document.get("title") or source.get("id")})


def _listed(value: Any) -> Sequence[Json]:
    """What stands in a list in a whole answer, and alone in a piece of one."""
    return (value,) if isinstance(value, dict) else value or ()


def _broken(about: Json) -> ModelFailure:
    if read_error(about).message:
        return failure_in_answer(about)
    if about.get("finish_reason") == "TIMEOUT":
        return ModelFailure("timeout", "the provider ran out of time", retryable=True)
    return ModelFailure("server", "the provider broke off with an error", retryable=True)


def _of_version_1(what: str) -> ModelFailure:
    """An answer that no other try would make better: the address is that of the old API."""
    text = f"the answer is one of version 1 of the API, with {what}; the base URL must end in /v2"
    return ModelFailure("bad_response", text)


def _usage(usage: Json) -> Usage:
    """Usage in the common shape: what was read and written, not what is billed.

    Images are counted apart from the other input.
    """
    tokens = usage.get("tokens") or usage.get("billed_units") or {}
    read = first_count(tokens.get("input_tokens")) + first_count(tokens.get("image_tokens"))
    written = first_count(tokens.get("output_tokens"))
    cached = first_count(usage.get("cached_tokens"))
    reasoning = first_count(tokens.get("reasoning_tokens"))
    return Usage(read, written, min(cached, read), min(reasoning, written))
