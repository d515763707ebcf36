"""Limits: what a run may spend before it is ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, field, frozen
from attrs.validators import ge, optional

from detent.core.chat.replies import ChatReply, Usage
from detent.core.values.frozen import FrozenDict

MILLION = 1_000_000


@frozen(kw_only=True)
class Price:
    """What a million tokens cost, in any currency; `cached` ones cost as much as others without."""

    input: float = field(validator=ge(0))
    output: float = field(validator=ge(0))
    cached: float | None = field(default=None, validator=optional(ge(0)))

    def of(self, usage: Usage) -> float:
        """What these tokens cost.

        >>> Price(input=2, output=8, cached=1).of(Usage(1500, 500, cached_tokens=1000))
        0.006
        """
        cached = self.input if self.cached is None else self.cached
        fresh = usage.input_tokens - usage.cached_tokens
        parts = (
            fresh * self.input,
            usage.cached_tokens * cached,
            usage.output_tokens * self.output,
        )
        return sum(parts) / MILLION


def _frozen(prices: Mapping[str, Price]) -> Mapping[str, Price]:
    return FrozenDict(prices)


@frozen
class Prices:
    """A price list: by the model's name, or how it begins; the longest that fits counts.

    A model that is not in it costs as much as the dearest that is: a limit must not fall because a
    provider has renamed a model.

    >>> prices = Prices({"small": Price(input=1, output=2), "large": Price(input=10, output=20)})
    >>> from detent import ChatMessage
    >>> reply = ChatReply(ChatMessage.from_assistant("hi"), usage=Usage(1000), model="small-2026")
    >>> prices(reply)
    0.001
    """

    by_model: Mapping[str, Price] = field(converter=_frozen)

    def __call__(self, reply: ChatReply) -> float:
        """What a reply has cost."""
        named = [name for name in self.by_model if reply.model.startswith(name)]
        if named:
            return self.by_model[max(named, key=len)].of(reply.usage)
        return max(price.of(reply.usage) for price in self.by_model.values())


@frozen
class Limits:
    """What a run may spend. When it is spent, what was begun is ended and nothing more is begun.

    Attributes:
        max_agent_steps: how often the model is asked.
        parallel_tool_calls: how many tools run at once.
        max_tokens: the tokens of all model calls together, read and written.
        max_cost: what all model calls together may cost, by `price`.
        max_seconds: how long one `run` or `resume` may take. This limit does not wait for what was
            begun: its calls are given up.
        final_answer: when steps, tokens or cost are spent, ask the model one last time, without
            tools.
        price: what a reply has cost: `Prices`, or any function.
    """

    max_agent_steps: int = 100
    parallel_tool_calls: int = field(default=32, validator=ge(1))
    max_tokens: int | None = field(default=None, kw_only=True, validator=optional(ge(0)))
    max_cost: float | None = field(default=None, kw_only=True, validator=optional(ge(0)))
    max_seconds: float | None = field(default=None, kw_only=True, validator=optional(ge(0)))
    final_answer: bool = field(default=False, kw_only=True)
    price: Callable[[ChatReply], float] | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if self.max_cost is not None and self.price is None:
            raise ValueError("max_cost needs to know what a reply costs: Limits(…, price=…)")

    def spent(self, turn: int, usage: Usage, cost: float) -> str | None:
        """The limit that a run has reached with its `turn`; None says that it may go on."""
        if turn >= self.max_agent_steps:
            return "max_agent_steps"
        if self.max_tokens is not None and usage.total_tokens >= self.max_tokens:
            return "max_tokens"
        if self.max_cost is not None and cost >= self.max_cost:
            return "max_cost"
        return None

    def deadline(self, at: float | None) -> float | None:
        """When a run must have ended that is taken up `at` a time."""
        return None if at is None or self.max_seconds is None else at + self.max_seconds


def limits_of(
    limits: Limits | None, max_agent_steps: int | None, parallel_tool_calls: int | None
) -> Limits:
    """The limits, with what is said beside them in its place."""
    own = {"max_agent_steps": max_agent_steps, "parallel_tool_calls": parallel_tool_calls}
    changes: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
    return evolve(limits or Limits(), **changes)
