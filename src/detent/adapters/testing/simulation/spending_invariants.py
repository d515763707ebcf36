"""What must hold of what a simulated run spends: added up anew, from the replies alone."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose
from typing import Any

from detent.adapters.testing.simulation.trace import Trace, changes
from detent.core.run.events import Event, HappenedInside, ModelReplied
from detent.core.run.spec import AgentSpec


def each_reply_is_counted_once(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """A run has used what the replies in it used that counted, also those to agents inside."""
    for before, event, after in changes(trace):
        reply = _reply(event)
        used = before.usage if reply is None else before.usage + reply.reply.usage
        cost = before.cost + (0.0 if reply is None else reply.cost)
        if after.usage != used or not isclose(after.cost, cost, abs_tol=1e-9):
            yield f"{after.usage} and {after.cost} are counted; it used {used} and {cost}"


def _reply(event: Event) -> ModelReplied | None:
    while isinstance(event, HappenedInside):
        event = event.event
    return event if isinstance(event, ModelReplied) else None
