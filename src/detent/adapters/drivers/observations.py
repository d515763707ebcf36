"""Observations: a run that is watched, one observation after another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from queue import SimpleQueue
from typing import Any, Generic, TypeAlias, cast

from attrs import frozen

from detent.adapters.drivers.asyncio import AsyncInbox
from detent.adapters.drivers.run_handle import RunHandle
from detent.adapters.drivers.shared_run import Halt
from detent.adapters.drivers.steps import Steps, at_once, begun, in_event_loop
from detent.adapters.drivers.threads import Inbox
from detent.adapters.system.threads_and_loops import run_in_a_thread
from detent.core.run.events import CancelRequested, Event
from detent.core.run.run import Run
from detent.core.state.typevars import S, T
from detent.ports.chat import StreamingChunk
from detent.ports.confirmation import HITLBreakpointException
from detent.ports.results import AgentResult, BreakpointException

Observation: TypeAlias = StreamingChunk | Event | AgentResult[S, T]
"""A piece of a reply, a tool's result, an event that the run has taken in, or last, the result."""

CLOSED = CancelRequested("nobody watches the run any longer")
HALT = Halt()
STOPS = (BreakpointException, HITLBreakpointException)
"""Whoever has left is not told where the run has stopped: it is there for whoever resumes it."""


@frozen
class Ended(Generic[S]):
    """The last of a stream: the run's result, or what it has raised."""

    came: AgentResult[S, Any] | BaseException


Seen: TypeAlias = StreamingChunk | Event | Ended[S]
Watch: TypeAlias = Callable[[Callable[[StreamingChunk | Event], object]], Steps[RunHandle[S]]]
"""Makes, in steps, the handle of a run that tells a function what happens."""


def streamed(
    watch: Watch[S], inbox: Inbox | None = None, *, raises: bool
) -> Generator[Observation[S, Any]]:
    """What happens to a run, which is driven in a thread. Closing the generator leaves the run."""
    seen: SimpleQueue[Seen[S]] = SimpleQueue()

    def tell(item: Seen[S]) -> None:  # whose signature is known; that of `put` would be parsed
        seen.put(item)

    mail: Inbox = SimpleQueue() if inbox is None else inbox
    return _observations(at_once(watch(tell)), seen, mail, raises=raises)


def streamed_async(
    watch: Watch[S], inbox: AsyncInbox | None = None, *, raises: bool
) -> AsyncGenerator[Observation[S, Any]]:
    """As `streamed`, in the running event loop, which waits for no store.

    What can be said without one is said at once: that the request is wrong.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "there is no running event loop: a coroutine streams by `async for`, and what is none "
            "by agent.stream(…)"
        ) from None
    seen: asyncio.Queue[Seen[S]] = asyncio.Queue()

    def tell(item: Seen[S]) -> None:  # perhaps from a thread, in which a generator blocks
        loop.call_soon_threadsafe(seen.put_nowait, item)

    mail: AsyncInbox = asyncio.Queue() if inbox is None else inbox
    begin = begun(watch(tell))
    return _observations_async(begin, seen, mail, tell, raises=raises)


def _observations(
    handle: RunHandle[S], seen: SimpleQueue[Seen[S]], inbox: Inbox, *, raises: bool
) -> Generator[Observation[S, Any]]:
    def go() -> None:
        try:
            seen.put(Ended(handle.go(inbox, raises=raises)))
        except BaseException as error:  # noqa: BLE001 - raised where the stream is read
            seen.put(Ended(error))

    run_in_a_thread(go)
    item: Seen[S] | None = None
    try:
        while not isinstance(item := seen.get(), Ended):
            yield item
    finally:
        if is_left := not isinstance(item, Ended):
            inbox.put(_farewell(handle))
        while not isinstance(item, Ended):
            item = seen.get()
        ended, item = [item], None
        if is_left and not isinstance(ended[0].came, STOPS):
            _result(ended)  # which is of no use to whoever has left; an error is
    yield _result(ended)


async def _observations_async(
    begin: Steps[RunHandle[S]],
    seen: asyncio.Queue[Seen[S]],
    inbox: AsyncInbox,
    tell: Callable[[Seen[S]], None],
    *,
    raises: bool,
) -> AsyncGenerator[Observation[S, Any]]:
    handle = await in_event_loop(begin)

    async def go() -> None:
        try:
            tell(Ended(await handle.go_async(inbox, raises=raises)))
        except BaseException as error:  # noqa: BLE001 - as above
            tell(Ended(error))

    task = asyncio.create_task(go())
    item: Seen[S] | None = None
    try:
        while not isinstance(item := await seen.get(), Ended):
            yield item
    finally:
        if is_left := not isinstance(item, Ended):
            inbox.put_nowait(_farewell(handle))
        # A reader that is cancelled once more goes at once. What is at work holds the task, by way
        # of the inbox, and is heard out all the same.
        await asyncio.shield(task)
        while not isinstance(item, Ended):
            item = await seen.get()
        ended, item = [item], None
        if is_left and not isinstance(ended[0].came, STOPS):
            _result(ended)  # which is of no use to whoever has left; an error is
    yield _result(ended)


def _farewell(handle: RunHandle[Any]) -> CancelRequested | Halt:
    """What a run is told that nobody watches any longer: only what is kept can be gone on with."""
    return CLOSED if handle.recorder is None else HALT


def observing(tell: Callable[[Event], object]) -> Callable[[Run[Any], Event, Run[Any]], None]:
    """An observer that passes on each event that has changed the run."""

    def observe(before: Run[Any], event: Event, after: Run[Any]) -> None:
        if after is not before:
            tell(event)

    return observe


def _result(ended: list[Ended[S]]) -> AgentResult[S, Any]:
    """What the stream ends with. It is taken, so that no frame holds the error that it raises."""
    if isinstance(ended[0].came, BaseException):
        raise cast(BaseException, ended.pop().came)
    return ended[0].came
