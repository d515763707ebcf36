"""Prices: what providers take for a reply."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, cast

from attrs import Attribute, field, frozen

from detent.core.chat.replies import ChatReply, Usage
from detent.core.values.frozen import FrozenDict

MILLION = 1_000_000
NONE: FrozenDict[str, float] = FrozenDict()


def _uses(prices: Mapping[str, float]) -> FrozenDict[str, float]:
    for name, price in prices.items():
        _require_price(f"what a use of {name!r} costs", price)
    return FrozenDict(prices)


def _is_price(price: Price, attribute: Attribute[Any], value: object) -> None:
    if value is not None or attribute.default is not None:
        _require_price(f"Price: {attribute.name}, the price of a million tokens,", value)


def _require_price(what: str, value: Any) -> None:
    """Raise TypeError for what is no number, and ValueError for one below 0, or for none."""
    is_number = not isinstance(value, bool) and isinstance(value, Real)
    if not is_number:
        raise TypeError(f"{what} is a number, got {value!r:.80}")
    if not cast(float, value) >= 0:
        raise ValueError(f"{what} is a number from 0 on, got {value!r}")


@frozen(kw_only=True)
class Price:
    """What a million tokens cost, in any currency; `cached` ones cost as much as others without.

    `server_tools` is what one use of each tool that runs at the provider costs, by the names in
    the `extra["server_tools"]` of replies, such as ``{"web_search": 0.01}``. A tool that is not in
    it costs as much as the dearest that is.
    """

    input: float = field(validator=_is_price)
    output: float = field(validator=_is_price)
    cached: float | None = field(default=None, validator=_is_price)
    server_tools: Mapping[str, float] = field(default=NONE, converter=_uses)

    def of(self, usage: Usage, server_tools: Mapping[str, float] = NONE) -> float:
        """What these tokens, and so many uses of each tool of the provider, cost.

        >>> Price(input=2, output=8, cached=1).of(Usage(1500, 500, cached_tokens=1000))
        0.006
        >>> searching = Price(input=2, output=8, server_tools={"web_search": 0.01})
        >>> searching.of(Usage(), {"web_search": 2})
        0.02
        """
        cached = self.input if self.cached is None else self.cached
        fresh = usage.input_tokens - usage.cached_tokens
        parts = (
            fresh * self.input,
            usage.cached_tokens * cached,
            usage.output_tokens * self.output,
        )
        dearest = max(self.server_tools.values(), default=0)
        used = (
            count * self.server_tools.get(name, dearest) for name, count in server_tools.items()
        )
        return sum(parts) / MILLION + sum(used)


def _frozen(prices: Mapping[str, Price]) -> Mapping[str, Price]:
    if not isinstance(prices, Mapping):
        raise TypeError(f"Prices are a dict of Price by model, got {prices!r:.80}")
    for name, price in prices.items():
        if not (isinstance(name, str) and isinstance(price, Price)):
            raise TypeError(
                "Prices are by a model's name, each a Price(input=…, output=…), got "
                f"{{{name!r}: {price!r:.80}}}"
            )
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
        server_tools = reply.extra.get("server_tools")
        uses: Mapping[str, float] = server_tools if isinstance(server_tools, Mapping) else NONE
        named = [name for name in self.by_model if reply.model.startswith(name)]
        if named:
            return self.by_model[max(named, key=len)].of(reply.usage, uses)
        return max(price.of(reply.usage, uses) for price in self.by_model.values())
