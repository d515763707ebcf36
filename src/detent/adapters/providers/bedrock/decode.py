"""Answers of Converse and ConverseStream, folded into pieces and a reply. Pure.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from returns.result import Failure, Result, Success

from detent.adapters.providers.bedrock.blocks import Block
from detent.adapters.providers.bedrock.encode import PROVIDER
from detent.adapters.providers.http.failures import failure_in_answer, unfinished
from detent.adapters.providers.meaning.citations import with_citations
from detent.adapters.providers.meaning.neutral import BROKEN_OFF, decided_reason
from detent.adapters.providers.meaning.parts import assistant_message
from detent.adapters.providers.meaning.wire import first_count
from detent.core.chat.messages import ToolCall
from detent.core.chat.replies import ChatReply, FinishReason, ModelFailure, Usage
from detent.ports.chat import StreamingChunk

Json: TypeAlias = Mapping[str, Any]

FINISH_REASONS: Mapping[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
}
# "tool_use" says nothing by itself: what counts is whether there is a call of a tool of ours.
NOT_EXTRA = frozenset({"output", "p", "stopReason"})


class ConverseFold:
    """Folds the events of one answer of `model`. A whole answer is a stream of one event to it."""

    def __init__(self, model: str = "") -> None:
        self._model = model
        self._about: dict[str, Any] = {}  # what stands beside the message
        self._blocks: dict[int, Block] = {}
        self._calls = 0

    def add(self, value: Json, /) -> Sequence[StreamingChunk] | ModelFailure:
        """Take in the next event; give what can be shown of it, or the error that it is."""
        if more := value.get("contentBlockDelta"):  # as nearly all are
            index = more.get("contentBlockIndex", 0)
            block = self._blocks.get(index) or self._open(index, {})
            return block.grown(more.get("delta") or {})
        match value:
            case {"contentBlockStart": {"contentBlockIndex": index, "start": start}}:
                return self._open(index, start).opened()
            case {"messageStop": about} | {"metadata": about}:  # the counts come after the end
                self._about.update(about or {})
            case {"output": {"message": {"content": content}}}:
                self._about.update(value)
                blocks = enumerate(content)
                return [piece for at, block in blocks for piece in self._open(at, block).opened()]
            case {"error": _}:
                return failure_in_answer(value)
            case _:
                pass  # begin and end of messages and blocks, and events that are not known yet
        return ()

    def finish(self, *, ended: bool) -> Result[ChatReply, ModelFailure]:
        """The reply; a failure where the answer was cut off before its end, or is none."""
        raw = self._about.get("stopReason")
        if not raw:
            return Failure(unfinished("message", cut_off=not ended))
        reason = FINISH_REASONS.get(raw, "other")
        blocks = [block for _, block in sorted(self._blocks.items())]
        cut = reason in BROKEN_OFF
        parts = [block.part(cut=cut and block is blocks[-1]) for block in blocks]
        reason = decided_reason(reason, calls=any(isinstance(part, ToolCall) for part in parts))
        reply = ChatReply(
            assistant_message(PROVIDER, with_citations(parts)),
            finish_reason=reason,
            usage=_usage(self._about.get("usage") or {}),
            model=self._model,
            raw_finish_reason=raw,
            extra={
                key: value for key, value in self._about.items() if value and key not in NOT_EXTRA
            },
        )
        return Success(reply)

    def _open(self, index: int, start: Json) -> Block:
        block = self._blocks[index] = Block(start, self._calls)
        self._calls += block.is_call
        return block


def _usage(usage: Json) -> Usage:
    """Usage in the common shape: the provider counts what is cached apart from `inputTokens`."""
    cached = first_count(usage.get("cacheReadInputTokens"))
    stored = first_count(usage.get("cacheWriteInputTokens"))
    read = first_count(usage.get("inputTokens")) + cached + stored
    return Usage(read, first_count(usage.get("outputTokens")), cached)
