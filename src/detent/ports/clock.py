"""The clock port: what time it is, and waiting for a time. The core never looks at a clock."""

from __future__ import annotations

from threading import Event
from typing import Protocol


class Clock(Protocol):
    """Tells the time in seconds since 1970 (UTC), so that it means the same in another process.

    Within a process it does not go back, unless somebody sets the machine's time of day back by
    more than a moment: it is the time by which machines agree, also when it was wrong before.
    """

    def now(self) -> float:
        """What time it is."""
        ...

    def wait(self, until: float, dropped: Event) -> None:
        """Block until it is `until`, or until somebody sets `dropped`."""
        ...

    async def wait_async(self, until: float) -> None:
        """As `wait`; it is dropped by cancelling it."""
        ...
