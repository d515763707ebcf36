"""Clocks: the system's goes on by itself, the manual one when it is told to."""

from __future__ import annotations

import asyncio
import time
from threading import Event, Thread

from detent.adapters.system.clocks import JumpingClock, ManualClock, SystemClock
from detent.ports.clock import Clock


def test_the_system_clock_tells_the_time_of_day() -> None:
    """And never goes back."""
    clock: Clock = SystemClock()
    first = clock.now()
    assert abs(first - time.time()) < 5
    assert clock.now() >= first


def test_waiting_ends_when_the_time_has_come() -> None:
    """A time that has passed is no time to wait for."""
    clock = SystemClock()
    until = clock.now() + 0.002
    clock.wait(until, Event())
    assert clock.now() >= until
    clock.wait(until, Event())
    asyncio.run(clock.wait_async(clock.now() + 0.002))
    asyncio.run(clock.wait_async(0))


def test_waiting_ends_when_nobody_waits_any_longer() -> None:
    """However far the time is."""
    dropped = Event()
    dropped.set()
    SystemClock().wait(1e12, dropped)


def test_a_manual_clock_stands_still() -> None:
    """Until it is advanced."""
    clock = ManualClock(100)
    assert (clock.now(), clock.now()) == (100, 100)
    clock.advance(2.5)
    assert clock.now() == 102.5


def test_advancing_wakes_those_whose_time_has_come() -> None:
    """And no others."""
    clock = ManualClock()
    soon, late = Event(), Event()
    threads = [
        Thread(target=clock.wait, args=(5, soon)),
        Thread(target=clock.wait, args=(50, late)),
    ]
    for thread in threads:
        thread.start()
    while len(clock._waiting) < 2:
        time.sleep(0)
    clock.advance(5)
    threads[0].join()
    assert not late.is_set()
    clock.advance(45)
    threads[1].join()


def test_a_coroutine_waits_for_a_manual_clock_too() -> None:
    """Whoever advances it, from whatever thread."""
    clock = ManualClock()

    async def main() -> float:
        waiting = asyncio.create_task(clock.wait_async(5))
        await asyncio.sleep(0)
        Thread(target=clock.advance, args=(5,)).start()
        await waiting
        await clock.wait_async(1)
        return clock.now()

    assert asyncio.run(main()) == 5


def test_a_jumping_clock_is_there_at_once() -> None:
    """It never goes back, even when an earlier time is waited for."""
    clock: Clock = JumpingClock(100)
    clock.wait(105, Event())
    assert clock.now() == 105
    asyncio.run(clock.wait_async(110))
    clock.wait(90, Event())
    assert clock.now() == 110


def test_a_wait_that_was_given_up_is_forgotten() -> None:
    """Advancing the clock later wakes nobody who has gone, with his event loop."""
    clock = ManualClock()

    async def main() -> None:
        waiting = asyncio.create_task(clock.wait_async(5))
        await asyncio.sleep(0)
        waiting.cancel()

    asyncio.run(main())
    clock.advance(5)
    assert clock.now() == 5
