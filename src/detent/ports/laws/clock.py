"""The promises of the clock port as checks: run them against a clock of your own.

def test_my_clock():
    check_clock(MyClock)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from threading import Event
from typing import TypeAlias, TypeVar

from detent.ports.clock import Clock
from detent.ports.laws.breaking import PATIENCE_S, expect, in_time

Wait: TypeAlias = Callable[[Clock, float], object]
C = TypeVar("C", bound=Clock)
Advance: TypeAlias = Callable[[float], object]
"""Lets seconds pass, on a clock that does not go by itself."""

SOON_S = 0.02
FAR_S = 1e9
CLOCK = "the clock"


def check_clock(make: Callable[[], C], advance: Callable[[C, float], object] | None = None) -> None:
    """Check that a clock keeps what the `Clock` port promises.

    Args:
        make: makes the clock under test, a new one at each call.
        advance: lets seconds pass, for a clock that stands still by itself.

    Raises:
        AssertionError: it does not; the message is the law that it breaks.
    """
    for law in LAWS:
        clock = make()
        law(clock, _by_itself if advance is None else partial(advance, clock))


def time_never_goes_back(clock: Clock, advance: Advance) -> None:
    """However often it is read, and after any wait."""
    read = [clock.now() for _ in range(100)]
    advance(SOON_S)
    read.append(clock.now())
    expect(read == sorted(read), CLOCK, "time never goes back")


def what_has_passed_is_not_waited_for(clock: Clock, advance: Advance) -> None:
    """A wait for now or for an earlier time ends at once."""
    law = "a wait for a time that has passed ends at once"
    for until in (clock.now(), clock.now() - FAR_S):
        for wait in (_blocking, _coroutine):
            expect(in_time(partial(wait, clock, until)), CLOCK, law)


def a_wait_ends_when_its_time_has_come(clock: Clock, advance: Advance) -> None:
    """Not before, by the clock's own time; blocking or not."""
    for wait in (_blocking, _coroutine):
        until = clock.now() + SOON_S
        ended: list[float] = []

        def waited(wait: Wait = wait, until: float = until, ended: list[float] = ended) -> None:
            wait(clock, until)
            ended.append(clock.now())

        over = in_time(waited, partial(advance, SOON_S))
        expect(over, CLOCK, "a wait ends when its time has come")
        expect(ended[0] >= until, CLOCK, "a wait does not end before its time")


def a_wait_can_be_dropped(clock: Clock, advance: Advance) -> None:
    """Whoever waits for something far away can be told not to: before it begins, or meanwhile."""
    law = "a wait ends when it is dropped"
    dropped = Event()
    dropped.set()
    expect(in_time(partial(clock.wait, clock.now() + FAR_S, dropped)), CLOCK, law)
    later = Event()
    waiting = partial(clock.wait, clock.now() + FAR_S, later)
    expect(in_time(waiting, later.set), CLOCK, law)


def a_coroutine_can_be_cancelled(clock: Clock, advance: Advance) -> None:
    """That is how it is dropped."""

    async def cancelled() -> None:
        waiting = asyncio.create_task(clock.wait_async(clock.now() + FAR_S))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting], timeout=PATIENCE_S)
        expect(waiting.done(), CLOCK, "a wait in a coroutine ends when it is cancelled")

    asyncio.run(cancelled())


LAWS: tuple[Callable[[Clock, Advance], None], ...] = (
    time_never_goes_back,
    what_has_passed_is_not_waited_for,
    a_wait_ends_when_its_time_has_come,
    a_wait_can_be_dropped,
    a_coroutine_can_be_cancelled,
)
"""The laws of the `Clock` port, one by one."""


def _by_itself(seconds: float) -> None:
    """Time passes without anybody's help."""


def _blocking(clock: Clock, until: float) -> None:
    clock.wait(until, Event())


def _coroutine(clock: Clock, until: float) -> None:
    asyncio.run(clock.wait_async(until))
