"""Warming up: what the parts of an agent load or connect to before they are used, once each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from inspect import isawaitable
from threading import RLock
from weakref import ref

from detent.adapters.system.threads_and_loops import in_background
from detent.adapters.tools.toolsets import Toolset


class WarmUp:
    """Has each part load what it needs, once: whoever comes meanwhile waits until that is done.

    A part has a method `warm_up`, blocking or a coroutine function; one without is ready. A part
    whose method raises is not ready, and is tried again by whoever comes next.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._ready: dict[int, Callable[[], object]] = {}

    def is_done(self, parts: Iterable[object]) -> bool:
        """Whether all parts are ready."""
        ready = self._ready
        for part in parts:
            known = ready.get(id(part))
            if known is None or known() is not part:
                if _method_of(part) is not None:
                    return False
                self._remember(part)
        return True

    def __call__(self, *parts: object) -> None:
        """Make the parts ready, in order."""
        if self.is_done(parts):
            return
        with self._lock:
            for part in parts:
                if not self.is_done([part]):
                    _warm_up(part)
                    self._remember(part)

    def _remember(self, part: object) -> None:
        """It is ready, as long as it lives; what Python cannot refer to weakly is kept."""
        ready, key = self._ready, id(part)
        try:
            ready[key] = ref(part, lambda _: ready.pop(key, None))
        except TypeError:
            ready[key] = lambda: part


def _method_of(part: object) -> Callable[[], object] | None:
    method: object = getattr(part, "warm_up", None)
    return method if callable(method) else None


def _warm_up(part: object) -> None:
    method = _method_of(part)
    if method is not None:
        done = method()
        if isawaitable(done):
            in_background(done).result()


def toolsets_in(tools: object) -> Iterator[Toolset]:
    """The toolsets among tools: what they hold may only be known once they are ready."""
    listed = [tools] if isinstance(tools, Toolset) else tools if isinstance(tools, Iterable) else ()
    return (item for item in listed if isinstance(item, Toolset))
