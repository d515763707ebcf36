"""Turns: those of one process who write to one run do so one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from threading import Lock
from typing import TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from detent.adapters.drivers.steps import Wait

T = TypeVar("T")

_HAS_TURN: ContextVar[bool] = ContextVar("detent_has_turn", default=False)


def _nothing() -> None:
    """Ends what nobody has begun."""


class Turns:
    """Of each run, whose turn it is to write to it: of threads one, and one of each event loop.

    RULE: a turn is a courtesy. Each of many who wrote at once would read again what all the others
    have written; but which of them is first is for the journal to say. So nobody waits for a turn
    who has one: a journal may speak to runs itself while it takes what was said to one.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._locks: WeakValueDictionary[str, Lock] = WeakValueDictionary()
        self._loops: WeakKeyDictionary[
            asyncio.AbstractEventLoop, WeakValueDictionary[str, asyncio.Lock]
        ] = WeakKeyDictionary()

    def wait(self, run_id: str) -> Wait:
        """The wait for the turn of a run, which gives what ends it. In an event loop it holds none.

        What is done meanwhile is called by `having_turn`.
        """
        return Wait(partial(self._taken, run_id), partial(self._taken_in_loop, run_id))

    def _taken(self, run_id: str) -> Callable[[], None]:
        if _HAS_TURN.get():
            return _nothing
        with self._lock:
            lock = self._locks.setdefault(run_id, Lock())
        lock.acquire()
        return lock.release

    async def _taken_in_loop(self, run_id: str) -> Callable[[], None]:
        if _HAS_TURN.get():
            return _nothing
        loop = asyncio.get_running_loop()
        with self._lock:
            locks = self._loops.setdefault(loop, WeakValueDictionary())
        lock = locks.setdefault(run_id, asyncio.Lock())
        await lock.acquire()
        return lock.release


def having_turn(call: Callable[[], T]) -> T:
    """What a call gives that is made in a turn, and in which nobody waits for another one."""
    token = _HAS_TURN.set(True)
    try:
        return call()
    finally:
        _HAS_TURN.reset(token)
