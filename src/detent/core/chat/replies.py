"""What a chat generator gives back: a reply, or the failure to give one."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

from attrs import Attribute, field, frozen

from detent.core.chat.messages import ChatMessage
from detent.core.values.checks import meant, names_told, number, of_kind
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


def _is_cause(instance: object, attribute: Attribute[Any], value: object) -> None:
    causes = get_args(FailureCause)
    if not (isinstance(value, str) and value in causes):
        near = meant(value, causes) if isinstance(value, str) else ""
        words = ", ".join(map(repr, causes))
        raise ValueError(f"'cause' of ModelFailure is one of {words}, got {value!r:.80}{near}")


@names_told
@frozen
class ModelFailure:
    """A model call that gave no reply, as a value.

    Raises:
        ValueError: the `cause` is none, or a number is below 0.
        TypeError: another part is not of its type.
    """

    cause: FailureCause = field(validator=_is_cause)
    message: str = field(validator=of_kind(str, "a text"))
    retryable: bool = field(default=False, validator=of_kind(bool, "True or False"))
    retry_after_s: float | None = field(default=None, validator=number(0, or_none=True))
    status: int | None = field(default=None, validator=of_kind(int, "a number", or_none=True))
    request_id: str | None = field(default=None, validator=of_kind(str, "a text", or_none=True))
