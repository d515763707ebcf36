"""What a chat generator gives back: a reply, the pieces it came in, or the failure to give one."""

from __future__ import annotations

from typing import Literal, TypeAlias

from attrs import field, frozen

from detent.core.chat.messages import (
    EMPTY,
    ChatMessage,
    Citation,
    ToolCallResult,
    frozen_mapping,
)
from detent.core.values.fast_values import fast_init
from detent.core.values.frozen import FrozenDict

FinishReason: TypeAlias = Literal[
    "stop", "length", "tool_calls", "content_filter", "refusal", "paused", "other"
]
"""Why a model stopped. "other" is whatever the provider says beyond these; the raw word is kept.

"paused" is an answer that goes on when the model is asked again, with its message as the last one:
the provider wants it so after a long turn, or still works at it in the background.
"""

SchemaMode: TypeAlias = Literal["always", "without_tools", "never"]
"""When a model's answer is held to a JSON Schema by its provider: also beside tools, only without
any, or never."""


@fast_init
@frozen
class Usage:
    """Tokens spent, in one shape for every provider.

    `input_tokens` counts all tokens read, the cached ones included; `output_tokens` all tokens
    written, reasoning included.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """All tokens, read and written."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens - other.input_tokens,
            self.output_tokens - other.output_tokens,
            self.cached_tokens - other.cached_tokens,
            self.reasoning_tokens - other.reasoning_tokens,
        )


@fast_init
@frozen
class TokenLogprob:
    """A token that the model wrote, and the natural logarithm of how likely it found it.

    `alternatives` are the likeliest tokens at that place, and how likely each was.
    """

    token: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...] = ()


@fast_init
@frozen
class ChatReply:
    """A model's whole answer. `extra` is the provider's own data about it (ids, fingerprints).

    `usage_estimated` says that the provider did not count, and that `usage` is about right;
    `logprobs` are those of the text, where they were asked for.
    """

    message: ChatMessage
    finish_reason: FinishReason = "stop"
    usage: Usage = Usage()
    model: str = ""
    raw_finish_reason: str = ""
    extra: FrozenDict[str, object] = field(default=EMPTY, converter=frozen_mapping)
    usage_estimated: bool = False
    logprobs: tuple[TokenLogprob, ...] = ()


FailureCause: TypeAlias = Literal[
    "authentication",
    "bad_request",
    "not_found",
    "rate_limit",
    "overloaded",
    "server",
    "context_length",
    "content_filter",
    "timeout",
    "connection",
    "cut_stream",
    "bad_response",
    "bug",
]
"""Why a model call failed. "bug" is an exception that the chat generator did not mean to raise."""


@frozen
class ModelFailure:
    """A model call that gave no reply, as a value."""

    cause: FailureCause
    message: str
    retryable: bool = False
    retry_after_s: float | None = None
    status: int | None = None
    request_id: str | None = None


@fast_init
@frozen
class ToolCallDelta:
    """A piece of a tool call: the name and id come first, then fragments of its JSON arguments."""

    index: int
    tool_name: str | None = None
    arguments: str = ""
    id: str | None = None


@fast_init
@frozen
class StreamingChunk:
    """A piece of a run, as it happens: for showing, never part of the run itself.

    At most one of `content`, `reasoning`, `tool_calls`, `tool_call_result`, `citations`, and
    `server_tool`, the name of a tool that the provider itself has begun to run, is set. Citations
    come as their provider tells them, at the latest before the `finish_reason`. `start` marks the
    first piece of a text or of a tool result; `index` says which call or result it belongs to.
    The `finish_reason` "tool_call_results" says that all results of a turn were told, "discarded"
    that the answer has broken off and that what was told of it does not count.
    `agents` are the names of the agents around it, the outermost first, where it is of one that
    works for another.
    """

    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCallDelta, ...] = ()
    tool_call_result: ToolCallResult | None = None
    finish_reason: FinishReason | Literal["tool_call_results", "discarded"] | None = None
    index: int | None = None
    start: bool = False
    agents: tuple[str, ...] = ()
    server_tool: str = ""
    citations: tuple[Citation, ...] = ()
