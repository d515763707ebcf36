"""Signals: a process that only hosts runs ends when it is told to, and loses nothing by it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

from detent.adapters.hosts.stored import StoredHost

ENDS = (signal.SIGTERM, signal.SIGINT)


async def serve_until_signal(
    host: StoredHost,
    ready: Callable[[], object] | None = None,
    drains: Callable[[int], object] | None = None,
) -> int:
    """Host runs until the process gets SIGTERM or SIGINT; then drain, and give the signal's number.

    A second signal ends what is at work at once, as far as it can be cancelled. This is for the
    main thread of a program.

    Args:
        host: the host, which is opened and closed here.
        ready: is called once it is open.
        drains: is called with the signal's number before it closes.
    """
    loop, told = asyncio.get_running_loop(), asyncio.Queue[int]()

    def tell(number: int, frame: object = None) -> None:
        loop.call_soon_threadsafe(told.put_nowait, number)

    before = {number: signal.signal(number, tell) for number in ENDS}
    try:
        async with host:
            if ready is not None:
                ready()
            number = await told.get()
            if drains is not None:
                drains(number)
            closing = asyncio.create_task(host.close())
            again = asyncio.create_task(told.get())
            await asyncio.wait([closing, again], return_when=asyncio.FIRST_COMPLETED)
            if again.done():
                host.hurry()
            again.cancel()
            await closing
        return number
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
