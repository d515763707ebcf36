"""The laws of the clock: ours keep them, and one that does not is found out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Event

import pytest

from detent.adapters.system.clocks import JumpingClock
from detent.machine import ManualClock, SystemClock
from detent.ports.clock import Clock
from detent.ports.laws import breaking
from detent.testing import check_clock


@pytest.mark.parametrize("make", [SystemClock, JumpingClock])
def test_a_clock_that_goes_by_itself_keeps_the_laws(make: Callable[[], Clock]) -> None:
    """That of the system, and one that jumps."""
    check_clock(make)


def test_a_clock_that_is_set_by_hand_keeps_the_laws() -> None:
    """The check is told how."""
    check_clock(ManualClock, ManualClock.advance)


class Backward(SystemClock):
    """Goes the wrong way."""

    def now(self) -> float:
        """The time since it ended."""
        return -super().now()


class Late(SystemClock):
    """Waits for what is over."""

    def wait(self, until: float, dropped: Event) -> None:
        """Until somebody calls."""
        dropped.wait()


class LateForCoroutines(SystemClock):
    """The same for coroutines."""

    async def wait_async(self, until: float) -> None:
        """For ever."""
        await asyncio.get_running_loop().create_future()


class Early(SystemClock):
    """Does not wait."""

    def wait(self, until: float, dropped: Event) -> None:
        """At once."""


class Stubborn(SystemClock):
    """Does not hear that nobody waits any longer."""

    def wait(self, until: float, dropped: Event) -> None:
        """To the end, as far as it can be awaited."""
        super().wait(until, Event())


class StubbornForCoroutines(SystemClock):
    """The same for coroutines."""

    async def wait_async(self, until: float) -> None:
        """Carry on."""
        try:
            await super().wait_async(until)
        except asyncio.CancelledError:
            await asyncio.sleep(60)


@pytest.mark.parametrize(
    ("clock", "law"),
    [
        (Backward, "time never goes back"),
        (Late, "a wait for a time that has passed ends at once"),
        (LateForCoroutines, "a wait for a time that has passed ends at once"),
        (Early, "a wait does not end before its time"),
        (Stubborn, "a wait ends when it is dropped"),
        (StubbornForCoroutines, "a wait in a coroutine ends when it is cancelled"),
    ],
)
def test_a_clock_that_breaks_a_law_is_found_out(
    clock: type[Clock], law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message is the law."""
    for module in ("breaking", "clock"):
        monkeypatch.setattr(f"detent.ports.laws.{module}.PATIENCE_S", 0.3)
    with pytest.raises(AssertionError, match=f"the clock breaks a law: {law}"):
        check_clock(clock)


def test_a_clock_that_nobody_advances_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands still."""
    monkeypatch.setattr("detent.ports.laws.breaking.PATIENCE_S", 0.3)
    with pytest.raises(AssertionError, match="a wait ends when its time has come"):
        check_clock(ManualClock)


def test_what_is_raised_in_a_thread_is_raised() -> None:
    """An error of the adapter is not taken for one that hangs."""
    with pytest.raises(ZeroDivisionError):
        breaking.in_time(lambda: 1 // 0)
