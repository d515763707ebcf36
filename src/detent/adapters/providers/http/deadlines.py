"""The end of the time for a call that blocks: one thread watches over all of them.

httpx knows no time for a whole call: a server that sends one byte of its head now and then keeps
every time-out of it. A thread, or a timer, for each call would take a tenth of the time of a call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from math import inf


class Deadlines:
    """Calls what is to be called when a time has come, in a thread of its own."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open: dict[object, tuple[float, Callable[[], object]]] = {}
        self._wakes_at = inf
        self._thread: threading.Thread | None = None

    @contextmanager
    def at(self, then: float, call: Callable[[], object]) -> Generator[None]:
        """Within the block, `call` is called when `time.monotonic()` has reached `then`.

        It must not wait, nor raise. After the block it is not called.
        """
        key = object()
        with self._changed:
            self._open[key] = (then, call)
            self._watch(then)
        try:
            yield
        finally:
            with self._changed:
                self._open.pop(key, None)

    def _watch(self, then: float) -> None:
        """Have the thread awake at a time. Mostly it is: calls that begin later end later."""
        if self._thread is None or not self._thread.is_alive():  # none outlives a fork
            self._wakes_at = then
            self._thread = threading.Thread(target=self._wait, name="deadlines", daemon=True)
            self._thread.start()
        elif then < self._wakes_at:
            self._wakes_at = then
            self._changed.notify()

    def _wait(self) -> None:
        """Wait for one deadline after another; end when no call is under way at one."""
        with self._changed:
            while self._open:
                now = time.monotonic()
                for key in [key for key, (then, _) in self._open.items() if then <= now]:
                    self._open.pop(key)[1]()
                self._wakes_at = min((then for then, _ in self._open.values()), default=now + 1)
                self._changed.wait(min(self._wakes_at - now, threading.TIMEOUT_MAX))
            self._thread = None


DEADLINES = Deadlines()
"""Those of all calls of this process."""
