"""Answers of the Messages API, streamed or whole, folded into pieces and a reply. Pure.

Source: https://platform.claude.com/docs/en/build-with-claude/streaming
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from returns.result import Failure, Result, Success

from detent.adapters.providers.anthropic.blocks import Block, given_only
from detent.adapters.providers.anthropic.encode import PROVIDER
from detent.adapters.providers.http.failures import failure_in_answer, unfinished
from detent.adapters.providers.meaning.citations import with_citations
from detent.adapters.providers.meaning.neutral import BROKEN_OFF, decided_reason
from detent.adapters.providers.meaning.parts import Part, assistant_message
from detent.adapters.providers.meaning.server_tools import uses
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
    "refusal": "refusal",
    "pause_turn": "paused",
}
# "tool_use" says nothing by itself: what counts is whether there is a call of a tool of ours.
NOT_EXTRA = frozenset({"content", "delta", "model", "role", "stop_reason", "type"})


class MessageFold:
    """Folds the events of one answer. A whole message is the first event of a stream to it."""

    def __init__(self) -> None:
        self._about: dict[str, Any] = {}  # the message without its content; the last word counts
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, Block] = {}
        self._calls = 0
        self._over = False
        self._is_foreign = False

    def add(self, value: Json, /) -> Sequence[StreamingChunk] | ModelFailure:
        """Take in the next event; give what can be shown of it, or the error that it is."""
        match value.get("type"):
            case "content_block_delta":
                return self._grow(value.get("index"), value.get("delta") or {})
            case "content_block_start":
                return self._open(value.get("index"), value.get("content_block") or {})
            case "message_start":
                return self._begin(value.get("message") or {})
            case "message_delta":
                self._tell({**value, **(value.get("delta") or {})})
            case "message_stop":
                self._over = True
            case _ if value.get("error"):
                return failure_in_answer(value)
            case kind if kind == "message" or "content" in value:
                return self._begin(value)
            case None:
                self._is_foreign = True  # every event of this API has a type
            case _:
                pass  # pings, ends of blocks and events that are not known yet
        return ()

    def finish(self, *, ended: bool) -> Result[ChatReply, ModelFailure]:
        """The reply; a failure where the answer was cut off before its end, or is none."""
        raw = self._about.get("stop_reason")
        is_of_other_api = self._is_foreign and not self._about
        cut_off = not (raw or ended or self._over or is_of_other_api)
        if cut_off or not self._about:
            return Failure(unfinished("message", cut_off=cut_off))
        reason = FINISH_REASONS.get(str(raw), "other")
        blocks = [block for _, block in sorted(self._blocks.items())]
        cut = reason in BROKEN_OFF
        parts = [block.part(cut=cut and block is blocks[-1]) for block in blocks]
        reason = decided_reason(reason, calls=any(isinstance(part, ToolCall) for part in parts))
        return Success(self._reply(parts, reason, uses(_server_tools(blocks))))

    def _reply(
        self, parts: Sequence[Part], reason: FinishReason, used: dict[str, dict[str, int]]
    ) -> ChatReply:
        container = (self._about.get("container") or {}).get("id")
        about = self._about | {"usage": self._usage}
        return ChatReply(
            assistant_message(
                PROVIDER, with_citations(parts), {"container": container} if container else None
            ),
            finish_reason=reason,
            usage=_usage(self._usage),
            model=str(about.get("model") or ""),
            raw_finish_reason=str(about.get("stop_reason") or ""),
            extra={name: value for name, value in about.items() if value and name not in NOT_EXTRA}
            | used,
        )

    def _begin(self, message: Json) -> list[StreamingChunk]:
        self._tell(message)
        blocks = enumerate(message.get("content") or ())
        return [piece for index, block in blocks for piece in self._open(index, block)]

    def _tell(self, about: Json) -> None:
        """Take in what is said about the message. Counts are repeated, corrected or left out."""
        self._usage.update(given_only(about.get("usage") or {}))
        self._about.update(given_only(about))

    def _open(self, index: int | None, start: Json) -> Sequence[StreamingChunk]:
        block = Block(start, str(start.get("type")), self._calls)
        self._blocks[len(self._blocks) if index is None else index] = block
        self._calls += block.kind == "tool_use"
        return block.opened()

    def _grow(self, index: int | None, delta: Json) -> Sequence[StreamingChunk]:
        """Take in a piece of a block; gateways leave out where it starts, or its number."""
        at = len(self._blocks) - 1 if index is None else index
        block = self._blocks.get(at)
        if block is None:
            self._open(index, {"type": str(delta.get("type")).removesuffix("_delta")})
            block = self._blocks[max(at, 0)]
        return block.grown(delta)


def _server_tools(blocks: Iterable[Block]) -> list[object]:
    return [block.start.get("name") for block in blocks if block.kind == "server_tool_use"]


def _usage(usage: Json) -> Usage:
    """Usage in the common shape: the provider counts what is cached apart from `input_tokens`."""
    cached = first_count(usage.get("cache_read_input_tokens"))
    stored = first_count(usage.get("cache_creation_input_tokens"))
    of_output = usage.get("output_tokens_details") or {}
    written = first_count(usage.get("output_tokens"))
    return Usage(
        first_count(usage.get("input_tokens")) + cached + stored,
        written,
        cached,
        min(first_count(of_output.get("thinking_tokens")), written),
    )
