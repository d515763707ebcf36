"""Wakes: what was done in another thread is told to an event loop, a few at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future
from functools import partial
from threading import Lock
from typing import TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

AT_ONCE = 16
"""So many tasks are woken in one round of an event loop; whoever else is due comes between two."""


class _Wakes:
    """Those who are to be woken in one event loop."""

    def __init__(self) -> None:
        self._due = deque[asyncio.Future[None]]()
        self._is_coming = False
        self._free = AT_ONCE  # for those who come in this round and need not be woken
        self._lock = Lock()

    def has_place(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether somebody more may go on in this round; if so, they do."""
        if self._is_coming or not self._free:
            return False
        if self._free == AT_ONCE:
            loop.call_soon(self._begin_round)
        self._free -= 1
        return True

    def _begin_round(self) -> None:
        self._free = AT_ONCE

    def add(self, waiter: asyncio.Future[None], done: object) -> None:
        """Wake somebody soon; from any thread."""
        with self._lock:
            self._due.append(waiter)
            is_coming, self._is_coming = self._is_coming, True
        if not is_coming:
            loop = waiter.get_loop()
            try:
                loop.call_soon_threadsafe(self._wake, loop)
            except RuntimeError:  # the loop is closed: nobody waits any longer
                self._due.clear()

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            due = [self._due.popleft() for _ in range(min(AT_ONCE, len(self._due)))]
            self._is_coming = bool(self._due)
        for waiter in due:
            if not waiter.done():
                waiter.set_result(None)
        if self._is_coming:  # nobody else has it come while it is set
            loop.call_soon(self._wake, loop)


_LOOPS: WeakKeyDictionary[asyncio.AbstractEventLoop, _Wakes] = WeakKeyDictionary()


async def own_turn() -> None:
    """Go on in a round of the event loop in which only a few others do: in this one, or later."""
    loop = asyncio.get_running_loop()
    wakes = _LOOPS.setdefault(loop, _Wakes())
    if not wakes.has_place(loop):
        waiter: asyncio.Future[None] = loop.create_future()
        wakes.add(waiter, None)
        await waiter


def woken_by(future: Future[T]) -> asyncio.Future[None]:
    """What is done soon after a future of another thread.

    `asyncio.wrap_future` wakes all whose futures are done together in one round, in which nothing
    else of the loop has its turn: a thousand of them hold it for as long as all take.
    """
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[None] = loop.create_future()
    future.add_done_callback(partial(_LOOPS.setdefault(loop, _Wakes()).add, waiter))
    return waiter
