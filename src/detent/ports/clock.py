"""The clock port: what time it is, and waiting for a time. The core never looks at a clock."""

from __future__ import annotations

from threading import Event
from typing import Protocol


class Clock(Protocol):
    """Tells the time in seconds since 1970 (UTC), so that it means the same in another process.

    Within a process it never goes back.
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
