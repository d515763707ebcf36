"""A session: the one mutable handle on a run, for drivers and for people with a loop of their own."""

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

    A loop does three things, in any order and as often as it likes: `take` what is new and perform
    it, `land` what came of it, and drop the work on keys that are no longer in `under_way`. When
    `take` gives nothing and nothing is under way, the run has ended or waits for somebody.
    """

    def __init__(
        self, spec: AgentSpec[S], run: Run[S], *, observers: Sequence[Observer] = ()
    ) -> None:
        self.spec = spec
        self.run = run
        self._observers = tuple(observers)
        self.open()

    def open(self) -> None:
        """A new loop begins: nothing is under way, and what an earlier one left is offered again."""
        self.under_way: dict[EffectKey, Effect] = {}
        self._left: set[EffectKey] = set()
        self._raised: list[BaseException] = []

    def take(self) -> list[Effect]:
        """The effects that are owed and not under way yet; from now on they are.

        Tools are recorded as started first. Effects that are no longer owed are no longer under
        way. Once something was raised, nothing new is begun.
        """
        owed = {effect.key: effect for effect in due(self.spec, self.run)}
        self.under_way = {key: self.under_way[key] for key in self.under_way if key in owed}
        seen = owed.keys() if self._raised else self.under_way.keys() | self._left
        fresh = {key: effect for key, effect in owed.items() if key not in seen}
        self.under_way |= fresh
        for effect in fresh.values():
            if isinstance(effect, RunTool):
                self.feed(ToolStarted(effect.ref, effect.attempt))
        return list(fresh.values())

    def put_back(self, effect: Effect) -> None:
        """Give back an effect that was taken and not begun."""
        del self.under_way[effect.key]

    def land(self, effect: Effect, came: Event | BaseException | None) -> None:
        """Fold in what came of `effect`, unless it is no longer under way.

        Where that settles nothing (None, a decision that does not fit, an exception), the effect
        stays owed and is not offered again. An exception is kept for `close`.
        """
        if self.under_way.get(effect.key) is not effect:
            return
        del self.under_way[effect.key]
        before = self.run
        if isinstance(came, BaseException):
            self._raised.append(came)
        elif came is not None:
            self.feed(came)
        if self.run is before:
            self._left.add(effect.key)

    def feed(self, event: Event) -> None:
        """Fold in an event from anywhere."""
        before = self.run
        self.run = step(self.spec, before, event)
        for observe in self._observers:
            observe(before, event, self.run)

    def close(self) -> Run[S]:
        """The run as it is now that nothing is under way. The first exception that landed is raised."""
        if self._raised:
            raise self._raised[0]
        return self.run
