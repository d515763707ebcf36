"""Functions of every kind are called, from blocking code and from event loops."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from contextvars import ContextVar
from functools import partial
from queue import SimpleQueue
from typing import Any

import pytest

from detent.adapters.system import threads_and_loops as functions
from detent.adapters.system.threads_and_loops import (
    FunctionToolExecutor,
    NoThreadError,
    in_a_thread,
    in_another_thread,
    in_background,
    run_in_a_thread,
    to_its_end,
)
from detent.adapters.tools.decorator import tool
from detent.core.tools.tool import Tool
from detent.ports.tool_execution import AsyncToolExecutor, ToolExecutor

WHO: ContextVar[str] = ContextVar("WHO", default="nobody")
EXECUTOR = FunctionToolExecutor()


def plain(x: int) -> str:
    return f"{x} for {WHO.get()} in {threading.current_thread().name}"


async def later(x: int) -> str:
    await asyncio.sleep(0)
    return f"{x} for {WHO.get()} in {threading.current_thread().name}"


def promising(x: int) -> Any:
    return later(x)


def made(function: Any) -> Tool:
    return tool(name="it")(function)


def test_it_is_both_kinds_of_executor() -> None:
    """One object serves both drivers."""
    executors: tuple[ToolExecutor, AsyncToolExecutor] = (EXECUTOR, EXECUTOR)
    assert len(set(executors)) == 1


def test_blocking_code_gets_the_result_of_any_function() -> None:
    """A coroutine can run in the background loop; context variables come along."""
    WHO.set("me")
    here = threading.current_thread().name
    assert EXECUTOR.execute(made(plain), {"x": 1}) == f"1 for me in {here}"
    for function in (later, promising):
        coroutine: Any = EXECUTOR.execute(made(function), {"x": 1})
        assert in_background(coroutine).result() == "1 for me in detent-loop"


def test_an_event_loop_gets_the_result_of_any_function() -> None:
    """A blocking function runs in a thread; context variables come along."""

    async def main() -> list[object]:
        WHO.set("me")
        here = threading.current_thread().name
        results = [
            await EXECUTOR.execute_async(made(function), {"x": 1})
            for function in (plain, later, promising, partial(later))
        ]
        return [str(result).replace(here, "here") for result in results]

    assert asyncio.run(main()) == [
        "1 for me in detent",
        "1 for me in here",
        "1 for me in here",
        "1 for me in here",
    ]


def test_blocking_code_inside_an_event_loop_may_run_coroutines() -> None:
    """In a notebook the caller's own thread has a loop that is busy."""

    async def main() -> object:
        return in_background(later(1)).result()

    assert str(asyncio.run(main())).startswith("1 for")


def test_all_calls_share_one_background_loop() -> None:
    """What one call has opened in it, the next can use."""

    async def loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    assert in_background(loop()).result() is in_background(loop()).result()


@pytest.mark.parametrize("leaving", [SystemExit(3), KeyboardInterrupt()])
def test_a_coroutine_that_leaves_does_not_end_the_loop_of_all(leaving: BaseException) -> None:
    """Who waits for it hears of it, in place of waiting for ever; and the others go on."""

    async def leave() -> None:
        raise leaving

    with pytest.raises(type(leaving)):
        functions.in_background(leave()).result(timeout=5)
    assert functions.in_background(asyncio.sleep(0, "still here")).result(timeout=5) == "still here"


def test_cancelling_the_future_cancels_the_coroutine() -> None:
    """It sees CancelledError where it waits."""
    begun, ended = threading.Event(), threading.Event()

    async def wait() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    future = in_background(wait())
    assert begun.wait(5)
    future.cancel()
    assert ended.wait(5)


def _fail(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "raised"),
    [(ValueError("x"), ValueError), (SystemExit(1), SystemExit), (StopIteration(), RuntimeError)],
    ids=["error", "exit", "stop"],
)
def test_what_a_thread_raises_is_raised(error: BaseException, raised: type[BaseException]) -> None:
    """A StopIteration too, which no future can carry."""

    async def main() -> None:
        with pytest.raises(raised):
            await in_a_thread(partial(_fail, error))

    asyncio.run(main())


def test_a_thread_that_nobody_waits_for_does_no_harm() -> None:
    """Its result is not heard, whenever it comes."""
    go, done = threading.Event(), threading.Event()

    def slow() -> str:
        go.wait(5)
        done.set()
        return "late"

    async def main() -> None:
        task = asyncio.create_task(in_a_thread(slow))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()

    asyncio.run(main())
    assert done.wait(5)


def test_what_is_heard_to_its_end_is_had_by_who_is_cancelled_meanwhile() -> None:
    """Who knows then that they were."""
    go = threading.Event()

    def slow() -> bool:
        return go.wait(5)

    async def heard() -> tuple[bool, int]:
        task = asyncio.current_task()
        assert task is not None
        return await to_its_end(slow), task.cancelling()

    async def main() -> tuple[bool, int]:
        task = asyncio.create_task(heard())
        for _ in range(2):
            await asyncio.sleep(0)
            task.cancel()
        await asyncio.sleep(0)
        go.set()
        return await task

    assert asyncio.run(main()) == (True, 2)


def test_a_thread_that_is_free_is_used_again() -> None:
    """Starting one costs more than most tools."""
    names: SimpleQueue[int] = SimpleQueue()
    seen: set[int] = set()
    for _ in range(3):
        run_in_a_thread(lambda: names.put(threading.get_ident()))
        seen.add(names.get(timeout=5))
        while not functions._idle:  # the thread says that it is free just after the job
            time.sleep(0)
    assert len(seen) == 1


def test_calls_that_hang_take_no_place() -> None:
    """There are as many threads as are needed at once."""
    go = threading.Barrier(41)
    for _ in range(40):
        run_in_a_thread(partial(go.wait, 10))
    go.wait(10)


def test_a_thread_that_waits_in_vain_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A burst of calls leaves nothing behind."""
    monkeypatch.setattr(functions, "IDLE_S", 0.001)
    monkeypatch.setattr(functions, "_idle", [])
    before = threading.active_count()
    done = threading.Event()
    run_in_a_thread(done.set)
    assert done.wait(5)
    while functions._idle or threading.active_count() > before:
        time.sleep(0)


def no_thread(self: threading.Thread) -> None:
    """As Python says it where the machine has no more."""
    raise RuntimeError("can't start new thread")


def test_a_call_for_which_there_is_no_thread_is_not_made_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who is told so may make it again."""
    done = list[str]()
    monkeypatch.setattr(functions, "_idle", [])
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(NoThreadError, match="can't start"):
            in_another_thread(lambda: done.append("first"))
    in_another_thread(lambda: done.append("second")).result(10)
    assert done == ["second"]


def test_a_call_for_which_there_is_no_new_thread_waits_for_one_at_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is not refused as long as somebody comes for it."""
    begun, may_go = threading.Event(), threading.Event()
    monkeypatch.setattr(functions, "_idle", [])

    def hold() -> None:
        begun.set()
        assert may_go.wait(10)

    first = in_another_thread(hold)
    assert begun.wait(10)
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    second = in_another_thread(lambda: "made")
    may_go.set()
    assert second.result(10) == "made"
    first.result(10)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    """Those of its parent are not there."""
    assert in_background(later(1)).result()
    child = os.fork()
    if child == 0:
        ok = str(in_background(later(1)).result()).startswith("1 for")
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
