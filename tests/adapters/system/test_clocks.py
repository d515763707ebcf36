"""Clocks: the system's goes on by itself, the manual one when it is told to."""

from __future__ import annotations

import asyncio
import time
from threading import Event, Thread

import pytest

from detent.adapters.system.clocks import (
    LONGEST_WAIT_S,
    STEP_S,
    JumpingClock,
    ManualClock,
    SystemClock,
)
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


class Machine:
    """A machine whose time of day can be set, and which can sleep."""

    def __init__(self) -> None:
        self.day, self.ran = 1_000_000.0, 50.0

    def clock(self) -> SystemClock:
        """A clock of a process that begins now."""
        return SystemClock(lambda: self.day, lambda: self.ran)

    def pass_by(self, seconds: float) -> None:
        """As long as it is awake, both go on."""
        self.day += seconds
        self.ran += seconds


class Passing(Event):
    """Waiting for it takes no time: the machine's goes on instead, and once its day is set."""

    def __init__(self, machine: Machine, step_s: float) -> None:
        super().__init__()
        self._machine, self._step_s = machine, step_s
        self.waited_s = 0.0

    def wait(self, timeout: float | None = None) -> bool:
        """So much, and in the middle of it the day is set."""
        assert timeout is not None
        self.waited_s += timeout
        self._machine.pass_by(timeout)
        self._machine.day += self._step_s
        self._step_s = 0.0
        return False


def test_a_clock_that_was_made_before_its_machine_slept_tells_the_time_of_day() -> None:
    """What others read from it, and what expires by it, is right as soon as the machine's is."""
    machine = Machine()
    clock = machine.clock()
    machine.pass_by(5.0)
    machine.day += 3600.0
    assert clock.now() == machine.day
    machine.pass_by(2.0)
    assert clock.now() == machine.day


def test_a_clock_that_was_made_with_a_wrong_time_is_set_right_with_it() -> None:
    """By hours, as when a machine takes its hardware's time for another zone's at first."""
    machine = Machine()
    clock = machine.clock()
    machine.day -= 7200.0
    assert clock.now() == machine.day


def test_small_steps_take_no_clock_back() -> None:
    """It is ahead of the time of day for a while, by a second at most."""
    machine = Machine()
    clock = machine.clock()
    read = [clock.now()]
    for step_s in (-0.4, 0.2, -0.7):
        machine.pass_by(0.001)
        machine.day += step_s
        read.append(clock.now())
    assert read == sorted(read)
    assert 0 <= read[-1] - machine.day <= STEP_S


def test_a_thread_that_is_stopped_while_it_reads_the_clock_sets_none() -> None:
    """Between the machine's two clocks seconds may pass: the day alone has not moved then."""
    machine = Machine()
    pauses = [0.0, 0.0, 20.0, 0.0]

    def day() -> float:
        machine.pass_by(pauses[0] / 2)
        read = machine.day
        machine.pass_by(pauses.pop(0) / 2)
        return read

    clock = SystemClock(day, lambda: machine.ran)
    read = [clock.now() - machine.day for _ in range(3)]
    assert read == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("step_s", "waited_s"),
    [(0.0, 200.0), (-3600.0, 200.0), (-0.5, 200.0), (3600.0, LONGEST_WAIT_S)],
)
def test_a_wait_is_as_long_as_it_was_when_it_began(step_s: float, waited_s: float) -> None:
    """However far the day is set back meanwhile; a day that went on ends it, a minute late."""
    machine = Machine()
    clock, dropped = machine.clock(), Passing(machine, step_s)
    clock.wait(clock.now() + 200.0, dropped)
    assert dropped.waited_s == pytest.approx(waited_s)
