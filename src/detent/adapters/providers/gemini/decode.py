"""Answers of generateContent, streamed or whole, folded into pieces and a reply. Pure.

Source: https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import define, field
from returns.result import Failure, Result, Success

from detent.adapters.providers.gemini.calls import PROVIDER, Call
from detent.adapters.providers.gemini.grounding import grounds, likelihoods
from detent.adapters.providers.http.failures import failure_in_answer, unfinished
from detent.adapters.providers.meaning.neutral import decided_reason
from detent.adapters.providers.meaning.parts import Opaque, Part, Said, assistant_message
from detent.adapters.providers.meaning.server_tools import server_tool_begun, uses
from detent.adapters.providers.meaning.wire import first_choice, first_count
from detent.core.chat.messages import FileContent, ImageContent, ReasoningContent
from detent.core.chat.replies import ChatReply, FinishReason, ModelFailure, Usage
from detent.ports.chat import StreamingChunk, ToolCallDelta

Json: TypeAlias = Mapping[str, Any]

FINISH_REASONS: Mapping[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
}
CODE = "executableCode"
NOT_EXTRA = frozenset({"candidates", "modelVersion", "usageMetadata"})
OF_TEXT = frozenset({"text", "thought"})
NOT_EXTRA_OF_CANDIDATE = frozenset({"content", "finishReason", "index"})


class GenerateFold:
    """Folds the values of one answer. A whole answer is a stream of one value to it."""

    def __init__(self) -> None:
        self._about: dict[str, Any] = {}  # what stands beside the content; the last word counts
        self._parts: list[_Text | Call | Part] = []
        self._calls = 0
        self._open: deque[Call] = deque()  # the calls of which more is to come, the first first
        self._answered = False
        self._shown: set[bool] = set()  # whether a thought, and whether a text, was shown
        self._finish = ""

    def add(self, value: Json, /) -> Sequence[StreamingChunk] | ModelFailure:
        """Take in the next value; give what can be shown of it, or the error that it is."""
        if value.get("error"):
            return failure_in_answer(value)
        self._about.update(value)
        candidate = first_choice(value.get("candidates"))
        if candidate is None:
            return ()
        self._answered = True
        if reason := candidate.get("finishReason"):
            self._finish = str(reason)
        for name, detail in candidate.items():
            if name not in NOT_EXTRA_OF_CANDIDATE:
                self._about[name] = detail
        parts: Sequence[Json] = (candidate.get("content") or {}).get("parts") or ()
        if len(parts) == 1:  # as in nearly all
            return self._piece(parts[0])
        return [piece for part in parts for piece in self._piece(part)]

    def finish(self, *, ended: bool) -> Result[ChatReply, ModelFailure]:
        """The reply; a failure where the answer was cut off before its end, or is none."""
        blocked = bool((self._about.get("promptFeedback") or {}).get("blockReason"))
        if not blocked and not (self._answered and (ended or self._finish)):
            return Failure(unfinished("candidate", cut_off=not ended))
        parts = [
            part.reply_part() if isinstance(part, _Text | Call) else part for part in self._parts
        ]
        reason = _finish_reason(self._finish, calls=self._calls > 0, blocked=blocked)
        usage = self._about.get("usageMetadata") or {}
        reply = ChatReply(
            assistant_message(PROVIDER, [*parts, *grounds(self._about, parts)]),
            finish_reason=reason,
            usage=_usage(usage),
            model=str(self._about.get("modelVersion") or ""),
            raw_finish_reason=self._finish,
            extra=_without(self._about, NOT_EXTRA) | {"usage": usage} | uses(self._server_tools()),
            logprobs=likelihoods(self._about.get("logprobsResult") or {}),
        )
        return Success(reply)

    def _server_tools(self) -> list[str]:
        """The name of a tool for each time it ran: searches are told by what was sought."""
        grounding = self._about.get("groundingMetadata") or {}
        blocks = (part.block for part in self._parts if isinstance(part, Opaque))
        searched = ["web_search" for _ in grounding.get("webSearchQueries") or ()]
        return searched + [CODE for block in blocks if CODE in block]

    def _piece(self, part: Json) -> Sequence[StreamingChunk]:
        """Take in a part; give what can be shown of it."""
        if call := part.get("functionCall"):
            return (StreamingChunk(tool_calls=(self._take_call(call, part),)),)
        if "functionCall" in part:  # the end of a call that came argument by argument
            return [*self._closed()]
        if isinstance(text := part.get("text"), str):
            return self._text(text, part)
        if data := part.get("inlineData"):
            self._parts.append(_attachment(data, _without(part, {"inlineData"})))
        else:
            self._parts.append(Opaque(part))
            if CODE in part:
                return server_tool_begun(CODE)
        return ()

    def _take_call(self, wire: Json, part: Json) -> ToolCallDelta:
        """Take in a call, or more of the one that `wire` goes on with."""
        if self._open and "name" not in wire:
            delta = self._open[0].take(wire)
            if not self._open[0].open:
                self._open.popleft()
            return delta
        extra = _without(part, {"functionCall"})
        extra |= {"id": wire["id"]} if wire.get("id") else {}
        call = Call(self._calls, str(wire.get("name") or ""), extra)
        self._calls += 1
        self._parts.append(call)
        delta = call.take(wire)
        if call.open:
            self._open.append(call)
        return delta

    def _closed(self) -> Iterator[StreamingChunk]:
        while self._open:
            yield StreamingChunk(tool_calls=(self._open.popleft().take({}),))

    def _text(self, text: str, part: Json) -> Sequence[StreamingChunk]:
        """A text goes on with the one before; one with a signature stays alone, even if empty."""
        thought = bool(part.get("thought"))
        extra = {} if len(part) == 1 else _without(part, OF_TEXT)
        last = self._parts[-1] if self._parts else None
        if isinstance(last, _Text) and last.thought == thought and not (last.extra or extra):
            last.pieces.append(text)
        elif text or extra:
            self._parts.append(_Text(thought, extra, [text]))
        if not text:
            return ()
        if start := thought not in self._shown:
            self._shown.add(thought)
        if thought:
            return (StreamingChunk(reasoning=text, start=start),)
        return (StreamingChunk(text, start=start),)


@define
class _Text:
    """A text or a thought while its pieces come in."""

    thought: bool
    extra: dict[str, Any]
    pieces: list[str] = field(factory=list)

    def reply_part(self) -> Part:
        text = "".join(self.pieces)
        if self.thought:
            return ReasoningContent(text, {PROVIDER: self.extra})
        return Said(text, self.extra)


def _attachment(data: Json, extra: Json) -> ImageContent | FileContent:
    mime_type = str(data.get("mimeType") or "")
    if mime_type.startswith("image/"):
        return ImageContent(data.get("data") or "", mime_type, meta={PROVIDER: extra})
    return FileContent(data.get("data") or "", mime_type, extra={PROVIDER: extra})


def _without(members: Json, names: frozenset[str] | set[str]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name not in names}


def _finish_reason(raw: str, *, calls: bool, blocked: bool) -> FinishReason:
    """The reason, decided on what came: Gemini says STOP beside calls."""
    reason = "content_filter" if blocked else FINISH_REASONS.get(raw, "other")
    return decided_reason(reason, calls=calls)


def _usage(usage: Json) -> Usage:
    """Usage in the common shape. What tools of the provider read counts as read."""
    prompt = first_count(usage.get("promptTokenCount"))
    read = prompt + first_count(usage.get("toolUsePromptTokenCount"))
    thoughts = first_count(usage.get("thoughtsTokenCount"))
    written = first_count(usage.get("candidatesTokenCount")) + thoughts
    cached = first_count(usage.get("cachedContentTokenCount"))
    return Usage(read, written, min(cached, read), thoughts)
