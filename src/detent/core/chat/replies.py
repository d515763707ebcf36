"""What a chat generator gives back: a reply, or the failure to give one."""

from __future__ import annotations

from typing import Literal, TypeAlias

from attrs import field, frozen

from detent.core.chat.messages import ChatMessage
from detent.core.values.fast_values import fast_init
from detent.core.values.frozen import EMPTY, FrozenDict, frozen_mapping

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
