"""Stopping: work that blocks learns, wherever it waits, that nobody waits for it any longer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar, Token


class Stop:
    """Tells a piece of work, from any thread, that nobody waits for it any longer.

    A driver does the work within ``with stop:``, once; whatever stops the work around that sets it,
    too.
    """

    __slots__ = ("_calls", "_is_set", "_lock", "_outer", "_token")
    _token: Token[Stop | None]

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._is_set = False
        self._calls: list[Callable[[], object]] = []

    def __enter__(self) -> None:
        self._outer = _current.get()
        if self._outer is not None:
            self._outer.then(self.set)
        self._token = _current.set(self)

    def __exit__(self, *raised: object) -> None:
        if self._outer is not None:
            self._outer.forget(self.set)
        _current.reset(self._token)

    def then(self, call: Callable[[], object]) -> None:
        """Have `call` called when it is set: at once, if it is."""
        with self._lock:
            if not self._is_set:
                self._calls.append(call)
                return
        call()

    def forget(self, call: Callable[[], object]) -> None:
        """Have `call` not called any more. If it is being called just now, wait for its end."""
        with self._lock:
            if call in self._calls:
                self._calls.remove(call)

    def set(self) -> None:
        """Nobody waits. What is to be called is called once, in this thread."""
        with self._lock:
            self._is_set = True
            while self._calls:
                self._calls.pop(0)()


_current: ContextVar[Stop | None] = ContextVar("stop", default=None)


@contextmanager
def when_stopped(call: Callable[[], object]) -> Generator[None]:
    """Within the block, `call` is called as soon as nobody waits for this work any longer.

    This is for a chat generator or a tool that blocks. A thread cannot be stopped; but what it
    waits for can be closed or killed: ``with when_stopped(process.kill): process.wait()``. `call`
    is called in another thread, or at once where the work is stopped already; it must not wait, nor
    raise. After the block it is not called.
    """
    stop = _current.get()
    if stop is None:
        yield
        return
    stop.then(call)
    try:
        yield
    finally:
        stop.forget(call)


def can_be_stopped() -> bool:
    """Whether `when_stopped` may ever call what it is given: there is a run that can be stopped."""
    return _current.get() is not None


def wait(seconds: float) -> None:
    """Wait, while somebody waits for this work; for a chat generator or a tool that blocks.

    >>> wait(0.0)
    """
    stopped = threading.Event()
    with when_stopped(stopped.set):
        stopped.wait(seconds)
