"""Clocks: the system's, and two for tests: one is set by hand, one jumps."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Event, Lock

LONGEST_WAIT_S = 60.0
"""No single wait of the system is longer: after it, the time of day is looked at again."""
STEP_S = 1.0
"""A step back of the time of day that is not followed. Who sets clocks over a network slews
them where less is wrong."""
NOISE_S = 0.01
"""How far two clocks that were read one after the other may seem to have come apart."""


class SystemClock:
    """The machine's time of day, also after somebody has set it or the machine has slept.

    RULE: what other processes read is the time of day as it is when that is written, and not as it
    was when this process began. So a step forward is followed at once, and one back where it is
    longer than `STEP_S`; after a shorter one the clock is ahead for as much. It goes back in
    no other case. A wait that has begun does not become longer by any step.

    RULE: there is no lock, which a fork might inherit held. Threads that follow the same step at
    once write the same.
    """

    def __init__(
        self, day: Callable[[], float] = time.time, ran: Callable[[], float] = time.monotonic
    ) -> None:
        # what nobody sets stands still while the machine sleeps, as waits do
        self._day, self._ran = day, ran
        self._start = day() - ran()

    def now(self) -> float:
        """Seconds since 1970."""
        before, day, ran = self._ran(), self._day(), self._ran()
        start, earliest, latest = self._start, day - ran, day - before
        if start < earliest - NOISE_S or start > latest + STEP_S:
            self._start = start = earliest
        return start + ran

    def wait(self, until: float, dropped: Event) -> None:
        """Block until then, or until `dropped` is set."""
        end = self._end(until)
        while (left := self._left(until, end)) > 0:
            if dropped.wait(min(left, LONGEST_WAIT_S)):
                return

    async def wait_async(self, until: float) -> None:
        """Sleep until then."""
        end = self._end(until)
        while (left := self._left(until, end)) > 0:  # noqa: ASYNC110 - a time comes, no event
            await asyncio.sleep(min(left, LONGEST_WAIT_S))

    def _end(self, until: float) -> float:
        """When a wait is over that begins now, by the clock that nobody sets."""
        return until - self.now() + self._ran()

    def _left(self, until: float, end: float) -> float:
        """How long a wait is still to be; by the other clock where the day was set back."""
        left, rest = until - self.now(), end - self._ran()
        return rest if left > rest + STEP_S / 2 else left


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
