"""The observer port: somebody who watches a run and can change nothing."""

from __future__ import annotations

from typing import Any, Protocol

from detent.core.run.events import Event
from detent.core.run.run import Run


class Observer(Protocol):
    """Sees every event, with the run before and after it."""

    def __call__(self, before: Run[Any], event: Event, after: Run[Any], /) -> None:
        """Called once for each event, in order, after it has been folded in."""
        ...
