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
HANGUP: int | None = getattr(signal, "SIGHUP", None)
"""Windows has none."""
FULL_COLLECTION_AFTER = 1_000
"""So many collections of the middle generation; CPython's default is 10.

A full collection holds the event loop while it looks at all that lives: for 50 to 70 ms
with a thousand runs. Runs leave nothing for it, so what it can find is what tools leave behind.
"""


async def serve_until_signal(
    host: StoredHost,
    ready: Callable[[], object] | None = None,
    drains: Callable[[int], object] | None = None,
    reload: Callable[[], object] | None = None,
) -> int:
    """Host runs until the process gets SIGTERM or SIGINT; then drain, and give the signal's number.

    A second signal ends what is at work at once, as far as it can be cancelled. SIGHUP is as
    SIGTERM, but never a second signal, as a terminal that closes may send several; with `reload` it
    ends nothing; and where the program hears it by itself, or ignores it, it does so here. Until it
    returns, full garbage collections are rare, as each of them holds the event loop. This is for
    the main thread of a program. Where the database of DBOS is gone by then, its threads would hold
    the process for ever: it ends at once then, with 130 after SIGINT, else with 0.

    Args:
        host: the host, which is opened and closed here.
        ready: is called once it is open.
        drains: is called with the signal's number before it closes.
        reload: is called in the event loop at each SIGHUP, in place of an end.
    """
    loop, signals = asyncio.get_running_loop(), asyncio.Queue[int]()
    told = list[int]()

    def tell(number: int, frame: object = None) -> None:
        if number == HANGUP and reload is not None:
            loop.call_soon_threadsafe(reload)
        elif number != HANGUP or not told:
            told.append(number)
            loop.call_soon_threadsafe(signals.put_nowait, number)

    before = {number: signal.signal(number, tell) for number in _heard()}
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


def _heard() -> list[int]:
    """The signals that are heard; SIGHUP where it would else end the process as it is."""
    is_free = HANGUP is not None and signal.getsignal(HANGUP) is signal.SIG_DFL
    return [*ENDS, *([HANGUP] if HANGUP is not None and is_free else [])]


def _end_now(number: int) -> NoReturn:
    """End the process without waiting for threads that wait for a database which is gone.

    Nothing is lost by it: the journal, or the history of the engine, is the truth.
    """
    LOGGER.warning("threads of the engine wait for its database: the process ends without them")
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(128 + number if number == signal.SIGINT else 0)


@contextmanager
def _rare_full_collections() -> Generator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*before[:2], FULL_COLLECTION_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
