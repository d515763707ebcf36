"""The purses of an agent and of the agents that work for it: each effect is paid from its own."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any

from attrs import field, frozen

from detent.adapters.drivers.performer import Purse
from detent.core.run.effects import Effect
from detent.core.run.events import Event


@frozen
class Purses:
    """An agent's own purse, and by name those of the agents that work for it."""

    own: Purse
    agents: Mapping[str, Purses] = field(factory=dict)

    def pay(self, effect: Effect) -> Event | None:
        """As `Purse.pay`."""
        return self._of(effect).pay(effect)

    def pay_async(self, effect: Effect) -> Coroutine[Any, Any, Event | None]:
        """As `pay`, without blocking the event loop."""
        return self._of(effect).pay_async(effect)

    def drop(self, effect: Effect) -> None:
        """As `Purse.drop`."""
        self._of(effect).drop(effect)

    def _of(self, effect: Effect) -> Purse:
        purses = self
        for at in effect.path:
            purses = purses.agents[at.tool_name]
        return purses.own
