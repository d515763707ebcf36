"""Steps: what waits for a store now and then, written once for threads and for event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from typing import Any, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from attrs import frozen

from detent.adapters.system.threads_and_loops import in_a_thread
from detent.adapters.system.wakes import own_turn, woken_by
from detent.ports.journal import Journal, submit_of

T = TypeVar("T")

PLACES = 16
"""So many threads wait for stores on behalf of one event loop: a thousand runs that begin at the
same instant would otherwise begin with a thousand threads."""
_PLACES: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


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


def step_of(call: Callable[[], T]) -> Steps[T]:
    """A call that waits, as a step of its own."""
    result: T = yield Wait(call)
    return result


def at_once(steps: Steps[T]) -> T:
    """Take the steps in this thread, which waits as long as they do."""
    try:
        wait = next(steps)
        while True:
            try:
                came = wait.call()
            except BaseException as error:  # noqa: BLE001 - the steps raise it again
                wait = steps.throw(error)
            else:
                wait = steps.send(came)
    except StopIteration as end:
        result: T = end.value
        return result


async def in_event_loop(steps: Steps[T], *, is_paced: bool = False) -> T:
    """Take the steps in the running event loop, which others have while they wait.

    With `is_paced`, only a few runs begin such steps in one round of the loop.

    RULE: a cancellation waits for their end, and comes with the next await behind them. What is
    being written may be there a moment later: nobody may go on, or end, before it is known.
    """
    if is_paced:
        await own_turn()
    try:
        wait = next(steps)
    except StopIteration as end:  # most need not wait
        result: T = end.value
        return result
    return await _awaited(steps, wait)


async def _awaited(steps: Steps[T], wait: Wait) -> T:
    task = _Uncancellable()
    try:
        while True:
            begin = wait.begin
            try:
                came = await task.result(_in_a_place(wait.call) if begin is None else begin())
            except BaseException as error:  # noqa: BLE001 - the steps raise it again
                wait = steps.throw(error)
            else:
                wait = steps.send(came)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        task.cancel_late()


def answer(journal: Journal | None, call: Callable[[], T]) -> Steps[T]:
    """What a call gives that asks a journal. Nobody waits for one that answers at once."""
    return (yield Wait(call)) if is_slow(journal) else call()


def is_slow(journal: Journal | None) -> bool:
    """Whether a journal is one that an event loop must wait for."""
    return journal is not None and submit_of(journal) is not None


async def _in_a_place(call: Callable[[], T]) -> T:
    """What a call gives, from a thread. Only so many are made at a time in one event loop."""
    places = _PLACES.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(PLACES))
    async with places:
        return await in_a_thread(call)


class _Uncancellable:
    """Awaits in the current task, and keeps back who wants to cancel that."""

    def __init__(self) -> None:
        self._late: tuple[object, ...] | None = None

    async def result(self, begun: Future[Any] | Awaitable[object]) -> object:
        """What is given by what has begun."""
        future = begun if isinstance(begun, Future) else asyncio.ensure_future(begun)
        while not future.done():
            try:
                await (woken_by(future) if isinstance(future, Future) else asyncio.wait([future]))
            except asyncio.CancelledError as error:
                self._late = error.args
        return future.result()

    def cancel_late(self) -> None:
        """Cancel the task now, if somebody wanted to. Who counts such wishes counts one."""
        task = asyncio.current_task()
        if self._late is not None and task is not None:
            task.uncancel()
            task.cancel(*self._late)
