"""Steps: what waits for a store now and then, written once for threads and for event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from typing import Any, TypeAlias, TypeVar

from attrs import frozen

from detent.adapters.system.threads_and_loops import in_another_thread
from detent.adapters.system.wakes import own_turn, woken_by
from detent.ports.journal import Journal, submit_of

T = TypeVar("T")


@frozen
class Wait:
    """What a step waits for.

    `call` waits in the thread that calls it. `begin`, where it is known, begins the same for an
    event loop: in another thread, or as something to await. Without it, `call` is made in a thread.
    """

    call: Callable[[], object]
    begin: Callable[[], Future[Any] | Awaitable[object]] | None = None


Steps: TypeAlias = Generator[Wait, Any, T]
"""Gives what it waits for, is sent what came of it, and returns what it was all for."""


def _no_steps() -> Steps[None]:
    return
    yield


NO_STEPS = _no_steps()
"""Nothing to wait for. It is at its end, where a generator stays: all can have the same."""
next(NO_STEPS, None)


class InterruptedStepError(Exception):
    """What was waited for has raised `GeneratorExit`, which would close the steps themselves."""


def _told(error: BaseException) -> BaseException:
    if not isinstance(error, GeneratorExit):
        return error
    told = InterruptedStepError("what was waited for has raised GeneratorExit")
    told.__cause__ = error
    return told


def at_once(steps: Steps[T], first: Wait | None = None) -> T:
    """Take the steps in this thread, which waits as long as they do.

    Steps that have been begun wait for `first`.
    """
    try:
        wait = next(steps) if first is None else first
        while True:
            try:
                came = wait.call()
            except BaseException as error:  # noqa: BLE001 - the steps raise it again
                wait = steps.throw(_told(error))
            else:
                wait = steps.send(came)
    except StopIteration as end:
        result: T = end.value
        return result


def begun(steps: Steps[T]) -> Steps[T]:
    """The same steps, of which the part before the first wait is done already."""
    first, ended = list[Wait](), list[T]()
    try:
        first.append(next(steps))
    except StopIteration as end:
        ended.append(end.value)
    return _from(first, ended, steps)


def _from(first: list[Wait], ended: list[T], steps: Steps[T]) -> Steps[T]:
    """Steps that wait already, or have ended."""
    if ended:
        return ended[0]
    wait = first[0]
    try:
        while True:
            try:
                came = yield wait
            except GeneratorExit:
                steps.close()
                raise
            except BaseException as error:  # noqa: BLE001 - the steps raise it again
                wait = steps.throw(error)
            else:
                wait = steps.send(came)
    except StopIteration as end:
        result: T = end.value
        return result


async def in_event_loop(steps: Steps[T], first: Wait | None = None, *, is_paced: bool = False) -> T:
    """Take the steps in the running event loop, which others have while they wait.

    With `is_paced`, only a few runs begin such steps in one round of the loop. `first` is as for
    `at_once`.

    RULE: a cancellation waits for their end, and is raised there. What is being written may be
    there a moment later: nobody may go on, or end, before it is known; and what has come of an
    effect is written down, whoever is cancelled.
    """
    late: list[asyncio.CancelledError] = []
    if is_paced:
        try:
            await own_turn()
        except asyncio.CancelledError as error:  # then it is not waited for
            late.append(error)
    try:
        wait = next(steps) if first is None else first
        while True:
            try:
                came = await _came_of(wait, late)
            except BaseException as error:  # noqa: BLE001 - the steps raise it again
                wait = steps.throw(_told(error))
            else:
                wait = steps.send(came)
    except StopIteration as end:
        if late:
            raise asyncio.CancelledError(*late[0].args) from None
        result: T = end.value
        return result
    except BaseException:
        if late:
            raise asyncio.CancelledError(*late[0].args) from None
        raise


async def _came_of(wait: Wait, late: list[asyncio.CancelledError]) -> object:
    """What is given by what is waited for; who wants to cancel that is kept for later."""
    begun = in_another_thread(wait.call) if wait.begin is None else wait.begin()
    future = begun if isinstance(begun, Future) else asyncio.ensure_future(begun)
    while not future.done():
        try:
            await (woken_by(future) if isinstance(future, Future) else asyncio.wait([future]))
        except asyncio.CancelledError as error:
            late.append(error)
    return future.result()


def answer(journal: Journal | None, call: Callable[[], T], *, is_long: bool = False) -> Steps[T]:
    """What a call gives that asks a journal. Nobody waits for one that answers at once.

    But for what `is_long`, which holds no event loop whoever has it.
    """
    return (yield Wait(call)) if is_long or is_slow(journal) else call()


def is_slow(journal: Journal | None) -> bool:
    """Whether a journal is one that an event loop must wait for."""
    return journal is not None and submit_of(journal) is not None
