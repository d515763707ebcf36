"""Prices: what providers take for a reply."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen
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
