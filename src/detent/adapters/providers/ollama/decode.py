"""Answers of /api/chat, streamed or whole, folded into pieces and a reply. Pure.

Source: https://docs.ollama.com/api/streaming
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from returns.result import Failure, Result, Success

from detent.adapters.providers.http.failures import failure_in_answer, unfinished
from detent.adapters.providers.meaning.neutral import decided_reason
from detent.adapters.providers.meaning.wire import first_count, read_arguments
from detent.core.chat.messages import ChatMessage, ReasoningContent, ToolCall
from detent.core.chat.replies import ChatReply, FinishReason, ModelFailure, Usage
from detent.ports.chat import StreamingChunk, ToolCallDelta

Json: TypeAlias = Mapping[str, Any]

PROVIDER = "ollama"

FINISH_REASONS: Mapping[str, FinishReason] = {
    "": "stop",  # of servers that name no reason
    "stop": "stop",
    "length": "length",
}
NOT_EXTRA = frozenset({"message", "model", "done", "done_reason"})
USAGE_SUFFIXES = ("_count", "_duration")


class ChatFold:
    """Folds the values of one answer. A whole answer is a stream of one value to it."""

    def __init__(self) -> None:
        self._last: Json = {}  # the last value; only it says why the answer ended
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[ToolCall] = []

    def add(self, value: Json, /) -> Sequence[StreamingChunk] | ModelFailure:
        """Take in the next value; give what can be shown of it, or the error that it is."""
        if value.get("error"):
            return failure_in_answer(value)
        self._last = value
        message = value.get("message") or {}
        pieces: list[StreamingChunk] = []
        if thinking := message.get("thinking"):
            pieces.append(StreamingChunk(reasoning=thinking, start=not self._thinking))
            self._thinking.append(thinking)
        if text := message.get("content"):
            pieces.append(StreamingChunk(text, start=not self._text))
            self._text.append(text)
        if wires := message.get("tool_calls"):
            pieces.append(StreamingChunk(tool_calls=tuple(map(self._call, wires))))
        return pieces

    def finish(self, *, ended: bool) -> Result[ChatReply, ModelFailure]:
        """The reply; a failure where the answer was cut off before its end, or is none."""
        if not self._last.get("done"):
            cut_off = "message" in self._last or not self._last
            return Failure(unfinished("message", cut_off=cut_off))
        raw = str(self._last.get("done_reason") or "")
        reason = decided_reason(FINISH_REASONS.get(raw, "other"), calls=bool(self._calls))
        about = {name: value for name, value in self._last.items() if name not in NOT_EXTRA}
        usage = {name: number for name, number in about.items() if name.endswith(USAGE_SUFFIXES)}
        thought = ReasoningContent("".join(self._thinking), {PROVIDER: {}})
        reply = ChatReply(
            ChatMessage.from_assistant(
                "".join(self._text) or None,
                tool_calls=self._calls,
                reasoning=thought if self._thinking else None,
            ),
            finish_reason=reason,
            usage=Usage(
                first_count(usage.get("prompt_eval_count")), first_count(usage.get("eval_count"))
            ),
            model=str(self._last.get("model") or ""),
            raw_finish_reason=raw,
            extra={name: detail for name, detail in about.items() if name not in usage}
            | {"usage": usage},
        )
        return Success(reply)

    def _call(self, wire: Json) -> ToolCallDelta:
        """Take in a call; each comes whole."""
        function = wire.get("function") or {}
        arguments = function.get("arguments") or {}
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        read = read_arguments(text, cut=False)
        own = {"id": wire["id"]} if wire.get("id") else {}
        unreadable = text if read is None else None
        call = ToolCall(
            str(function.get("name") or ""), read or {}, own.get("id"), {PROVIDER: own}, unreadable
        )
        self._calls.append(call)
        return ToolCallDelta(len(self._calls) - 1, call.tool_name, text, call.id)
