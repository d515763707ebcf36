"""Failures: what code of users raises, told from what stops the task in which it does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator
from contextlib import contextmanager
from typing import TypeVar

from detent.core.errors import is_halt

T = TypeVar("T")


def is_stop(error: BaseException) -> bool:
    """Whether what was raised stops the running task, and is no failure of the code in it.

    RULE: a cancellation is one only where somebody has cancelled this task: code of users may raise
    a CancelledError of its own.
    """
    return is_halt(error) or is_cancelled(error)


def is_cancelled(error: BaseException) -> bool:
    """Whether that is what was raised: somebody has cancelled the running task."""
    if not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # there is no event loop here
        return False
    return task is not None and task.cancelling() > 0


async def outcome_of(work: Awaitable[T]) -> T | BaseException:
    """What some work gives, or what it has failed with: for a task of its own.

    RULE: what leaves a task as SystemExit ends the event loop, and all that runs beside.
    """
    try:
        return await work
    except BaseException as error:
        if is_stop(error):
            raise
        return error


@contextmanager
def failing_silently() -> Generator[None]:
    """Have what fails inside be told to nobody: the first failure is on its way to them."""
    try:
        yield
    except BaseException as error:
        if is_stop(error):
            raise
