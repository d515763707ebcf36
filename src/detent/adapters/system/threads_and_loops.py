"""A tool executor that calls the tool's own function: here, in a thread, or in an event loop."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from functools import cache, partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeAlias, TypeVar
from weakref import ref

from detent.core.tools.tool import Tool
from detent.ports.stopping import Stop

T = TypeVar("T")
Job: TypeAlias = Callable[[], object]
_Call: TypeAlias = tuple[Future[Any], Callable[[], Any]]

IDLE_S = 10.0
"""How long a thread that has nothing to do waits for the next call."""

PLACES = 16
"""So many threads at most wait for stores on behalf of event loops."""

_idle: list[SimpleQueue[Job]] = []
_calls: deque[_Call] = deque()
_at_work: list[_Place] = []
_under_way: set[asyncio.Task[Any]] = set()
"""What runs in the background. Event loops only know their tasks weakly."""


class _Place:
    """Of a thread that makes calls for event loops; while that is begun, there may be none."""

    has_thread = False


class NoThreadError(RuntimeError):
    """The machine gives this process no further thread. What was to be done in it is not done."""


class FunctionToolExecutor:
    """Calls functions. Coroutine functions never block, and others never block an event loop."""

    def execute(self, tool: Tool, arguments: Mapping[str, object]) -> object:
        """What the function returned: of a coroutine function, the coroutine.

        A StopIteration becomes a RuntimeError, as in all that waits for a result.
        """
        try:
            return tool.function(**arguments)
        except StopIteration as error:
            raise _carried(error) from error

    async def execute_async(self, tool: Tool, arguments: Mapping[str, object]) -> object:
        """What the function returned. If it is no coroutine function, it runs in a thread.

        A thread cannot be stopped: when this is cancelled, the thread goes on unheard.
        """
        if tool.signature.is_async:
            return await tool.function(**arguments)
        value = await in_a_thread(partial(self.execute, tool, arguments))
        return await value if inspect.isawaitable(value) else value


def in_background(awaitable: Awaitable[T]) -> Future[T]:
    """Run an awaitable from blocking code, in one event loop that all such calls share.

    It sees the caller's context variables. A client that one call has made can thus serve the next,
    and it does not matter whether the caller's own thread has an event loop. Cancelling the future
    cancels it.
    """
    future: Future[T] = Future()
    _background_loop().call_soon_threadsafe(_begin, future, awaitable)
    return future


async def in_a_thread(call: Callable[[], T]) -> T:
    """What `call` returns, from a thread. Cancelling it means only not to listen."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    run_in_a_thread(partial(_fulfil, future, call))
    try:
        return await future
    finally:
        del future  # or an error in it would hold itself, by way of this frame


LARGE = 65_536
"""Fewer bytes are read sooner than a thread begins to read them."""


async def read_apart(size: int, call: Callable[[], T]) -> T:
    """What `call` makes of so many bytes: in a thread where these are many."""
    return call() if size < LARGE else await in_a_thread(call)


async def to_its_end(call: Callable[[], T]) -> T:
    """As `in_a_thread`; who is cancelled meanwhile gets it as well, and the task still knows."""
    task = asyncio.create_task(in_a_thread(call))
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])
    return task.result()


def in_another_thread(call: Callable[[], T]) -> Future[T]:
    """What `call` gives, from one of a few threads: a thousand calls wait for them in turn.

    Nothing cancels it. It is for what ends by itself, as calls of stores do.

    RULE: where there is no thread to begin, one that is at work makes the call later, or nobody
    ever does: who is told that it failed may make it again.

    Raises:
        NoThreadError: there is none at work either.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()
    queued = (future, partial(copy_context().run, call))
    _calls.append(queued)
    if len(_at_work) < PLACES:
        _at_work.append(place := _Place())
        try:
            run_in_a_thread(partial(_work_off, place))
        except NoThreadError:
            _at_work.remove(place)
            if not _has_threads() and _is_withdrawn(queued):
                raise
        except BaseException:
            _at_work.remove(place)
            raise
    return future


def _is_withdrawn(queued: _Call) -> bool:
    """Whether a call is taken back before a thread has come for it."""
    try:
        _calls.remove(queued)
    except ValueError:
        return False
    return True


def _work_off(place: _Place) -> None:
    place.has_thread = True
    _make_calls()
    _at_work.remove(place)
    while _calls and not _has_threads():  # one that came in between has found a place taken
        _at_work.append(place)
        _make_calls()
        _at_work.remove(place)


def _make_calls() -> None:
    with suppress(IndexError):  # there is no call left
        while True:
            future, call = _calls.popleft()
            try:
                future.set_result(call())
            except BaseException as error:  # noqa: BLE001 - raised where the future is asked
                future.set_exception(error)
            del future, call  # as in `in_a_thread`


def _has_threads() -> bool:
    return any(place.has_thread for place in tuple(_at_work))


def run_in_a_thread(job: Job) -> None:
    """Have `job`, which does not raise, run in a thread that has nothing to do, or in a new one.

    It sees the caller's context variables. There is no limit to the number of threads, and none
    keeps the process from ending: a call that hangs must not take the place of another.

    Raises:
        NoThreadError: none has nothing to do, and there is no new one.
    """
    try:
        jobs = _idle.pop()
    except IndexError:
        jobs = SimpleQueue()
        try:
            Thread(target=_work, args=(jobs,), daemon=True, name="detent").start()
        except RuntimeError as error:
            raise NoThreadError(str(error)) from None
    jobs.put(partial(copy_context().run, job))


def _work(jobs: SimpleQueue[Job]) -> None:
    while True:
        try:
            job = jobs.get(timeout=IDLE_S)
        except Empty:
            try:
                _idle.remove(jobs)
            except ValueError:  # taken this very moment: there is a job on its way
                continue
            return
        job()
        del job  # it holds arguments and results
        _idle.append(jobs)


def _carried(error: StopIteration) -> RuntimeError:
    """What stands for an exception that no coroutine and no future can carry."""
    return RuntimeError(f"the function raised StopIteration: {error}")


def _fulfil(future: asyncio.Future[T], call: Callable[[], T]) -> None:
    settle: Callable[[], None]
    try:
        settle = partial(future.set_result, call())
    except StopIteration as error:
        settle = partial(future.set_exception, _carried(error))
    except BaseException as error:  # noqa: BLE001 - it is raised where the future is awaited
        settle = partial(future.set_exception, error)
    with suppress(RuntimeError):  # the loop is closed: nobody waits any longer
        future.get_loop().call_soon_threadsafe(_unless_cancelled, future, settle)
    del future, settle  # as in `in_a_thread`


def _unless_cancelled(future: asyncio.Future[T], settle: Callable[[], None]) -> None:
    if not future.cancelled():
        settle()


def _begin(future: Future[T], awaitable: Awaitable[T]) -> None:
    """As `asyncio.run_coroutine_threadsafe`, but the future does not hold the task.

    The task has the caller's context, which may well hold the future, and with it all of a call.
    """
    task = asyncio.ensure_future(_awaited(awaitable))
    _under_way.add(task)
    task.add_done_callback(partial(_end, future))
    future.add_done_callback(partial(_cancel, ref(task), task.get_loop()))


class _ExitError(Exception):
    """Stands for what would end the event loop that all share, were it raised there."""


async def _awaited(awaitable: Awaitable[T]) -> T:
    try:
        return await awaitable
    except (SystemExit, KeyboardInterrupt) as error:
        raise _ExitError from error


def _end(future: Future[T], task: asyncio.Task[T]) -> None:
    _under_way.discard(task)
    if task.cancelled():
        future.cancel()
    if not future.set_running_or_notify_cancel():
        return
    error = task.exception()
    if isinstance(error, _ExitError):
        error = error.__cause__
    if error is None:
        future.set_result(task.result())
    else:
        future.set_exception(error)
    del future, task, error  # as in `in_a_thread`


def _cancel(task: ref[asyncio.Task[T]], loop: asyncio.AbstractEventLoop, future: Future[T]) -> None:
    running = task()
    if future.cancelled() and running is not None:
        loop.call_soon_threadsafe(running.cancel)


@cache
def _background_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, daemon=True, name="detent-loop").start()
    return loop


def _forget_threads() -> None:
    _idle.clear()
    _calls.clear()
    _at_work.clear()
    _background_loop.cache_clear()
    _under_way.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)  # threads do not survive a fork


def await_in_background(awaitable: Awaitable[T], stop: Stop) -> T:
    """What an awaitable gives, awaited in the background and cancelled when `stop` is set."""
    future = in_background(awaitable)
    stop.then(future.cancel)
    try:
        return future.result()
    finally:
        stop.forget(future.cancel)
        future.cancel()  # does nothing unless the waiting itself was interrupted
        del future  # or an error in it would hold itself, by way of this frame
