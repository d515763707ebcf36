"""The ports of an agent and of the agents that work for it: each effect is performed by its own."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any

from attrs import field, frozen

from detent.adapters.drivers.performer import EffectPerformer
from detent.core.run.effects import Effect
from detent.core.run.events import Event


@frozen
class NestedPerformers:
    """An agent's own ports, and by name those of the agents that work for it."""

    own: EffectPerformer
    agents: Mapping[str, NestedPerformers] = field(factory=dict)

    def perform(self, effect: Effect) -> Event | None:
        """As `EffectPerformer.perform`."""
        return self._of(effect).perform(effect)

    def perform_async(self, effect: Effect) -> Coroutine[Any, Any, Event | None]:
        """As `perform`, without blocking the event loop."""
        return self._of(effect).perform_async(effect)

    def drop(self, effect: Effect) -> None:
        """As `EffectPerformer.drop`."""
        self._of(effect).drop(effect)

    def _of(self, effect: Effect) -> EffectPerformer:
        performers = self
        for at in effect.path:
            performers = performers.agents[at.tool_name]
        return performers.own
