"""Mail: what reaches a loop that drives a run, apart from events."""

from __future__ import annotations

from typing import TypeAlias

from attrs import frozen

from detent.core.run.effects import Effect
from detent.core.run.events import Event

Landed: TypeAlias = tuple[Effect, Event | BaseException | None]
"""What came of an effect."""


@frozen
class Halt:
    """Put into an inbox: begin nothing more, and hear out what is at work. It is no event.

    The run does not know of it, and whoever resumes it goes on as if nothing had been. What only
    waits, for a human or a time, is dropped when nothing else is under way.
    """
