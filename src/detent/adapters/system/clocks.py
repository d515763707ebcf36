"""Clocks: the system's, and two for tests: one is set by hand, one jumps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Event, Lock

LONGEST_WAIT_S = 3600.0
"""No single wait of the system is longer: some refuse to wait for years."""


class SystemClock:
    """The time of day when it was made, and from then on a clock that nobody sets."""

    def __init__(self) -> None:
        self._start = time.time() - time.monotonic()

    def now(self) -> float:
        """Seconds since 1970."""
        return self._start + time.monotonic()

    def wait(self, until: float, dropped: Event) -> None:
        """Block until then, or until `dropped` is set."""
        while (left := until - self.now()) > 0 and not dropped.wait(min(left, LONGEST_WAIT_S)):
            pass

    async def wait_async(self, until: float) -> None:
        """Sleep until then."""
        while (left := until - self.now()) > 0:  # noqa: ASYNC110 - a time comes, no event
            await asyncio.sleep(min(left, LONGEST_WAIT_S))


class ManualClock:
    """A clock that stands still until `advance` is called, from any thread."""

    def __init__(self, now: float = 0.0) -> None:
        self._now = now
        self._lock = Lock()
        self._waiting: list[tuple[float, Callable[[], object]]] = []

    def now(self) -> float:
        """The time that was set last."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass."""
        with self._lock:
            self._now += seconds
            due = [wake for until, wake in self._waiting if until <= self._now]
            self._waiting = [waiter for waiter in self._waiting if waiter[0] > self._now]
        for wake in due:
            wake()

    def wait(self, until: float, dropped: Event) -> None:
        """Block until `advance` has reached that time, or `dropped` is set."""
        with self._woken(until, dropped.set):
            dropped.wait()

    async def wait_async(self, until: float) -> None:
        """As `wait`."""
        loop, woken = asyncio.get_running_loop(), asyncio.Event()
        with self._woken(until, lambda: loop.call_soon_threadsafe(woken.set)):
            await woken.wait()

    @contextmanager
    def _woken(self, until: float, wake: Callable[[], object]) -> Generator[None]:
        """`wake` is called once it is `until`, unless nobody waits any longer."""
        waiter = (until, wake)
        with self._lock:
            self._waiting.append(waiter)
        self.advance(0)
        try:
            yield
        finally:
            with self._lock:
                self._waiting = [other for other in self._waiting if other is not waiter]


class JumpingClock:
    """A clock on which waiting takes no time: it jumps to the time that is waited for.

    Pauses between attempts are over at once, and so is the time that a tool may take.
    """

    def __init__(self, now: float = 0.0) -> None:
        self._now = now
        self._lock = Lock()

    def now(self) -> float:
        """The latest time that anybody has waited for."""
        return self._now

    def wait(self, until: float, dropped: Event) -> None:
        """Make it `until`, at least."""
        with self._lock:
            self._now = max(self._now, until)

    async def wait_async(self, until: float) -> None:
        """As `wait`."""
        self.wait(until, Event())


def run_time() -> float:
    """A clock that nobody sets, and that goes on while the machine sleeps where there is one."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)
