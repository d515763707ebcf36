"""Hooks at work: which stand around an effect, and what they make of it and of what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from detent.core.control.hooks import Hook, incoming, outgoing
from detent.core.machine.delegation import nested_run
from detent.core.run.effects import Effect
from detent.core.run.events import Event
from detent.core.run.run import Run


@frozen
class HooksAround:
    """The hooks of an agent, and `inner`, those of the agents inside, by their names."""

    own: Sequence[Hook]
    inner: Mapping[tuple[str, ...], Sequence[Hook]]

    def sent(self, effect: Effect, run: Run[Any]) -> Effect | Event:
        """The effect as the hooks want it, or the event by which one of them has answered it.

        Raises:
            HookError: a hook has failed.
        """
        hooks, of_agent = self._of(effect, run)
        return outgoing(hooks, effect, of_agent)

    def heard(self, effect: Effect, event: Event, run: Run[Any]) -> Event:
        """What came of the effect, as the hooks want it.

        Raises:
            HookError: a hook has failed.
        """
        hooks, of_agent = self._of(effect, run)
        return incoming(hooks, effect, event, of_agent)

    def _of(self, effect: Effect, run: Run[Any]) -> tuple[Sequence[Hook], Run[Any]]:
        """The hooks of the agent that the effect is for, and that agent's run."""
        if not effect.path:
            return self.own, run
        hooks = self.inner.get(tuple(at.tool_name for at in effect.path))
        try:
            return (hooks, nested_run(run, effect.path)) if hooks else ((), run)
        except LookupError:  # the agent has ended, or the whole run: what comes is not heard
            return (), run
