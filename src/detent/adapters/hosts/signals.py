"""Signals: a process that only hosts runs ends when it is told to, and loses nothing by it."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import NoReturn

from detent.adapters.hosts.stored import StoredHost
from detent.adapters.telemetry.logs import LOGGER

ENDS = (signal.SIGTERM, signal.SIGINT)
FULL_COLLECTION_AFTER = 1_000
"""So many collections of the middle generation; CPython's default is 10.

A full collection holds the event loop while it looks at all that lives: for 50 to 70 ms
with a thousand runs. Runs leave nothing for it, so what it can find is what tools leave behind.
"""


async def serve_until_signal(
    host: StoredHost,
    ready: Callable[[], object] | None = None,
    drains: Callable[[int], object] | None = None,
) -> int:
    """Host runs until the process gets SIGTERM or SIGINT; then drain, and give the signal's number.

    A second signal ends what is at work at once, as far as it can be cancelled. Until it returns,
    full garbage collections are rare, as each of them holds the event loop. This is for the main
    thread of a program. Where the database of DBOS is gone by then, its threads would hold the
    process for ever: it ends at once then, with 0 after SIGTERM and 130 after SIGINT.

    Args:
        host: the host, which is opened and closed here.
        ready: is called once it is open.
        drains: is called with the signal's number before it closes.
    """
    loop, signals = asyncio.get_running_loop(), asyncio.Queue[int]()

    def tell(number: int, frame: object = None) -> None:
        loop.call_soon_threadsafe(signals.put_nowait, number)

    before = {number: signal.signal(number, tell) for number in ENDS}
    try:
        with _rare_full_collections():
            async with host:
                if ready is not None:
                    ready()
                number = await signals.get()
                if drains is not None:
                    drains(number)
                closing = asyncio.create_task(host.close())
                again = asyncio.create_task(signals.get())
                await asyncio.wait([closing, again], return_when=asyncio.FIRST_COMPLETED)
                if again.done():
                    host.hurry()
                again.cancel()
                await closing
        if host.is_held:
            _end_now(number)
        return number
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_now(number: int) -> NoReturn:
    """End the process without waiting for threads that wait for a database which is gone.

    Nothing is lost by it: the journal, or the history of the engine, is the truth.
    """
    LOGGER.warning("threads of the engine wait for its database: the process ends without them")
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0 if number == signal.SIGTERM else 128 + number)


@contextmanager
def _rare_full_collections() -> Generator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*before[:2], FULL_COLLECTION_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
