"""Code of users that cancels the task in which it runs, which nobody else has done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from detent.adapters.system.failures import by_itself, is_cancelled


def cancel() -> None:
    """Cancel the running task."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


async def raises_at_once() -> str:
    """Fails before its cancellation has come."""
    cancel()
    raise ValueError("at once")


async def returns_at_once() -> str:
    """Ends before its cancellation has come."""
    cancel()
    return "at once"


async def waits() -> str:
    """Gets it."""
    cancel()
    await asyncio.sleep(0)
    return "never"


async def swallows() -> str:
    """Gets it, and goes on."""
    await asyncio.sleep(0)
    with suppress(asyncio.CancelledError):
        await waits()
    await asyncio.sleep(0)
    return "swallowed"


async def runs_late() -> str:
    """Has a time-out of its own, within which it cancels nothing."""
    with suppress(TimeoutError):
        async with asyncio.timeout(0.001):
            await asyncio.sleep(60)
    return "late"


@pytest.mark.parametrize(
    ("work", "wanted"),
    [
        *((raises_at_once, "ValueError"), (returns_at_once, "at once")),
        *((waits, "CancelledError"), (swallows, "swallowed"), (runs_late, "late")),
    ],
)
def test_who_cancels_its_own_task_stops_nobody_else(
    work: Callable[[], Awaitable[str]], wanted: str
) -> None:
    """It gets what it asks for, and the task goes on behind it."""

    async def main() -> tuple[str, int]:
        try:
            came = await by_itself(work())
        except BaseException as error:  # noqa: BLE001 - which of them is the question
            came = "stopped" if is_cancelled(error) else type(error).__name__
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        return came, task.cancelling()

    assert asyncio.run(main()) == (wanted, 0)


@pytest.mark.parametrize("is_own", [True, False])
def test_a_cancellation_from_outside_is_one(*, is_own: bool) -> None:
    """Also where the work has cancelled itself before."""
    began = asyncio.Event()

    async def work() -> None:
        if is_own:
            await swallows()
        began.set()
        await asyncio.sleep(60)

    async def main() -> None:
        task = asyncio.create_task(by_itself(work()))
        await began.wait()
        task.cancel()
        await asyncio.wait([task])
        assert (task.cancelled(), task.cancelling()) == (True, 1)

    asyncio.run(main())
