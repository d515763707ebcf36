"""The promises of the tool execution port as checks: run them against an executor of your own.

def test_my_executor():
    check_tool_executor(MyExecutor)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from inspect import isawaitable
from threading import Barrier, BrokenBarrierError, Event
from typing import Any, TypeAlias, cast

from attrs import frozen

from detent.core.tools.tool import Tool
from detent.ports.laws.breaking import PATIENCE_S, expect, in_time
from detent.ports.tool_execution import AsyncToolExecutor, ToolExecutor

MakeExecutor: TypeAlias = Callable[[], ToolExecutor | AsyncToolExecutor]
"""Makes the executor under test, a new one at each call."""

EXECUTOR = "the tool executor"


def check_tool_executor(make: MakeExecutor) -> None:
    """Check that an executor keeps what the port promises, in each colour that it has.

    It must run a tool's function in this process: what the checks hand over cannot travel.

    Args:
        make: makes the executor.

    Raises:
        AssertionError: it does not; the message is the law that it breaks.
    """
    for method in ("execute", "execute_async"):
        if hasattr(make(), method):
            for law in LAWS:
                law(Executing(make(), method))
    if hasattr(make(), "execute_async"):
        for law_of_async in ASYNC_LAWS:
            asyncio.run(law_of_async(cast(AsyncToolExecutor, make())))


@frozen
class Executing:
    """One of the methods of an executor, blocking whatever its colour."""

    executor: object
    method: str

    def __call__(self, function: Callable[..., Any], **arguments: object) -> object:
        """What the executor makes of a tool with this function."""
        answer = getattr(self.executor, self.method)(_tool(function), arguments)
        return asyncio.run(_awaited(answer)) if isawaitable(answer) else answer


async def _awaited(awaitable: Awaitable[object]) -> object:
    return await awaitable


def the_result_is_what_the_function_returned(execute: Executing) -> None:
    """The very object; of a coroutine function at once, or when what it gives is awaited."""
    result = object()

    async def later() -> object:
        await asyncio.sleep(0)
        return result

    law = "the result is what the function returned"
    expect(execute(lambda: result) is result, EXECUTOR, law)
    expect(execute(later) is result, EXECUTOR, f"{law}, when it is a coroutine function")
    expect(execute(lambda: None) is None, EXECUTOR, f"{law}, when that is None")


def what_the_function_raises_is_raised(execute: Executing) -> None:
    """The very exception."""

    async def later(error: Exception) -> None:
        raise error

    def now(error: Exception) -> None:
        raise error

    for function in (now, later):
        error = LookupError("not there")
        raised: Exception | None = None
        try:
            execute(function, error=error)
        except Exception as caught:  # noqa: BLE001 - looked at below
            raised = caught
        expect(raised is error, EXECUTOR, "what the function raises is raised")


def arguments_are_handed_over(execute: Executing) -> None:
    """By name, all of them, and the very objects: a state among them is a live one."""
    every_argument: dict[str, object] = {"a": object(), "b": [1], "c": None}
    got = execute(lambda **arguments: arguments, **every_argument)
    expect(got == every_argument, EXECUTOR, "the function gets its arguments by name")
    same = isinstance(got, Mapping) and all(
        got[name] is every_argument[name] for name in every_argument
    )
    expect(same, EXECUTOR, "the function gets the very objects that it was given")


def tools_run_side_by_side(execute: Executing) -> None:
    """Two threads that each run a tool do not wait for each other."""
    meeting = partial(execute, Barrier(2, timeout=PATIENCE_S).wait)
    try:
        met = in_time(meeting, meeting)
    except BrokenBarrierError:
        met = False
    expect(met, EXECUTOR, "tools of several threads run side by side")


LAWS: tuple[Callable[[Executing], None], ...] = (
    the_result_is_what_the_function_returned,
    what_the_function_raises_is_raised,
    arguments_are_handed_over,
    tools_run_side_by_side,
)
"""The laws of both colours, one by one."""


async def a_tool_that_blocks_does_not_block_the_loop(executor: AsyncToolExecutor) -> None:
    """The event loop goes on while a function of the blocking kind works."""
    begun = Event()
    working = asyncio.create_task(executor.execute_async(_tool(lambda: begun.wait(PATIENCE_S)), {}))
    await asyncio.sleep(0)
    begun.set()
    expect(await working, EXECUTOR, "a tool that blocks does not block the event loop")


async def a_coroutine_is_stopped(executor: AsyncToolExecutor) -> None:
    """Cancelling reaches a tool that is a coroutine."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            begun.set()
            await asyncio.sleep(PATIENCE_S)
        except asyncio.CancelledError:
            ended.set()
            raise

    working = asyncio.create_task(executor.execute_async(_tool(work), {}))
    await asyncio.wait_for(begun.wait(), PATIENCE_S)
    working.cancel()
    await asyncio.wait([working], timeout=PATIENCE_S)
    expect(ended.is_set(), EXECUTOR, "cancelling stops a tool that is a coroutine")


ASYNC_LAWS = (a_tool_that_blocks_does_not_block_the_loop, a_coroutine_is_stopped)
"""What is promised of coroutines besides."""


def _tool(function: Callable[..., Any]) -> Tool:
    return Tool("probe", "A probe.", {"type": "object"}, function)
