"""A session: the one mutable handle on a run, for drivers and for people with an event loop of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from detent.core.due import due
from detent.core.effects import Effect, EffectKey, RunTool
from detent.core.events import Event, ToolStarted
from detent.core.run import Run
from detent.core.spec import AgentSpec, S
from detent.core.step import step
from detent.ports.observer import Observer


class Session(Generic[S]):
    """Holds a run and knows which of its effects are under way.

    A loop does three things, in any order and as often as it likes: `take` what is new and perform it,
    `land` what came of it, and drop the work on keys that are no longer in `under_way`. When `take` gives
    nothing and nothing is under way, the run has ended or waits for somebody.
    """

    def __init__(
        self, spec: AgentSpec[S], run: Run[S], *, observers: Sequence[Observer] = ()
    ) -> None:
        self.spec = spec
        self.run = run
        self.under_way: set[EffectKey] = set()
        self._left: set[EffectKey] = set()
        self._observers = tuple(observers)

    def take(self) -> list[Effect]:
        """The effects that are owed and not under way yet; from now on they are.

        Tools are recorded as started first. Effects that are no longer owed are no longer under way.
        """
        owed = due(self.spec, self.run)
        self.under_way &= {effect.key for effect in owed}
        fresh = [effect for effect in owed if effect.key not in self.under_way | self._left]
        for effect in fresh:
            self.under_way.add(effect.key)
            if isinstance(effect, RunTool):
                self.feed(ToolStarted(effect.ref, effect.attempt))
        return fresh

    def land(self, effect: Effect, event: Event | None) -> None:
        """Fold in what came of `effect`; with None it stays owed and is not offered again."""
        self.under_way.discard(effect.key)
        if event is None:
            self._left.add(effect.key)
        else:
            self.feed(event)

    def feed(self, event: Event) -> None:
        """Fold in an event from anywhere."""
        before = self.run
        self.run = step(self.spec, before, event)
        for observe in self._observers:
            observe(before, event, self.run)
