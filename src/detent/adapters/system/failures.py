"""Failures: what code of users raises, told from what stops the task in which it does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from functools import partial
from types import coroutine
from typing import Any, TypeVar, cast

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
    return _cancellations() > 0


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


async def by_itself(work: Awaitable[T]) -> T:
    """What some work gives in the running task, which it cannot stop: code of users.

    RULE: a task that cancels itself was cancelled by nobody. Where that is code of users, it gets
    the CancelledError that it asks for, and the task is not cancelled behind it.
    """
    if _running_task() is None:
        return await work
    own = [0]
    try:
        return await _stepped(_awaited(work), own)
    finally:
        if own[0] > 0:
            for _ in range(own[0]):
                cast("asyncio.Task[Any]", _running_task()).uncancel()
            with suppress(asyncio.CancelledError):  # before 3.13 one that has not come yet is due
                await asyncio.sleep(0)


def _running_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # there is no event loop here
        return None


def _cancellations() -> int:
    task = _running_task()
    return 0 if task is None else task.cancelling()


async def _awaited(work: Awaitable[T]) -> T:
    return await work


@coroutine
def _stepped(work: Coroutine[Any, Any, T], own: list[int]) -> Generator[Any, Any, T]:
    """Go through it step by step. Within a step nobody else runs who could cancel the task.

    What a step takes back counts as well: a time-out cancels the task from outside. RULE: what is
    raised holds this frame. So it names no error, and neither the task nor what that waits for:
    they would hold what is raised, and all that it was made of, until somebody collects it.
    """
    steps: list[Callable[[], Any]] = [partial(work.send, None)]
    waits: list[Any] = []
    while True:
        before = _cancellations()
        try:
            waits.append(steps.pop()())
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            own[0] += _cancellations() - before
        try:
            steps.append(partial(work.send, (yield waits.pop())))
        except GeneratorExit:
            work.close()
            raise
        except BaseException as error:  # noqa: BLE001 - it is for the work
            steps.append(partial(work.throw, error))


@contextmanager
def failing_silently() -> Generator[None]:
    """Have what fails inside be told to nobody: the first failure is on its way to them."""
    try:
        yield
    except BaseException as error:
        if is_stop(error):
            raise
