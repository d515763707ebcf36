"""Connections: how many a server holds, and for how long one that asks for nothing, or reads none.

RULE: whoever opens connections takes descriptors from the stores, models and tools of this process.
One whose descriptors are all taken drives no run any more, and asyncio, which cannot accept then,
tries again and again and says so each time. So a server holds half of them at most.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import Any, cast

DESCRIPTORS = 65_536
"""So many descriptors are asked for: more would help nobody here."""
MOST = 4096
"""So many connections are held at most: each is some memory, and answered by one process."""
HEAD_S = 5.0
"""How long the head of a request may take to come, from the connection's first moment on."""
STILL_S = 30.0
"""So long a client may take nothing of an answer that is there for it."""
BURST = 64
"""So many that have come are accepted in one go: they are counted only afterwards."""
QUEUE = 2048
"""So many that come at once wait in the system until they are accepted."""


def connections_max() -> int:
    """How many connections may be held, once this process may have as many descriptors as it can.

    Mostly it is begun with 1,024, for the sake of programs that call `select`, and may have more.
    """
    return min(MOST, _descriptors() // 2)


def _descriptors() -> int:
    """How many descriptors this process may have, once it has asked for more."""
    if sys.platform == "win32":  # which knows no such limit
        return DESCRIPTORS
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    with suppress(ValueError, OSError):  # a system may allow less than it says
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        return most
    return soft


def burst_of(most: int) -> int:
    """How many are accepted in one go where so many are held.

    RULE: asyncio accepts as many as its server's backlog says, before any of them is counted, and
    each takes a few turns of the loop until it is closed again. It is the system's queue that is to
    be long, which takes no descriptors: say `listen(QUEUE)` once the server has begun.
    """
    return max(1, min(BURST, most // 8))


class BoundedConnection(asyncio.Protocol):
    """A connection of a server that holds `most` at once. It goes before a protocol of uvicorn.

    RULE: the one that has said nothing for longest makes place for the next, and not the next one
    itself: else whoever opens them and says nothing would shut out the probe that asks how this
    process is. Where each of them is being answered, the next one is closed.
    """

    most: int = MOST
    held: dict[BoundedConnection, None]
    _line: asyncio.Transport
    _end: asyncio.TimerHandle | None = None
    _look: asyncio.TimerHandle | None = None

    @property
    def is_quiet(self) -> bool:
        """Whether no request has come that is still to be answered, and no answer to be sent."""
        cycle = cast(Any, self).cycle  # of uvicorn: a request whose head has come, and its answer
        is_sent = self._line.get_write_buffer_size() == 0
        return cycle is None or (is_sent and bool(cycle.response_complete))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Hold it, and close one if there are too many."""
        super().connection_made(transport)
        self._line = cast(asyncio.Transport, transport)
        self._wait()
        self.held[self] = None
        if len(self.held) > self.most:
            next(other for other in self.held if other.is_quiet).close()  # at last, this one

    def data_received(self, data: bytes) -> None:
        """Wait no longer where the head of a request has come."""
        if self in self.held:
            self.held[self] = self.held.pop(self)  # the last one that has said something
        if self._end is None and self.is_quiet:
            self._wait()
        super().data_received(data)
        if not self.is_quiet:
            self._wait_no_more()

    def connection_lost(self, exc: Exception | None) -> None:
        """Hold it no more."""
        self.held.pop(self, None)
        self._wait_no_more()
        self._look_no_more()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Look from now on whether the client reads."""
        super().pause_writing()
        self._look_later()

    def resume_writing(self) -> None:
        """It has read. What is left of a whole answer is looked after as before."""
        self._look_no_more()
        super().resume_writing()
        self._look_after_whole_answer()

    def on_response_complete(self) -> None:
        """Look whether the client reads what is left of an answer that is whole."""
        cast(Any, super()).on_response_complete()
        self._look_after_whole_answer()

    def close(self) -> None:
        """Close it, without a word: nothing was asked, or nobody reads what was said."""
        self.held.pop(self, None)
        self._line.abort()

    def _look_after_whole_answer(self) -> None:
        if cast(Any, self).cycle.response_complete:
            self._look_later()

    def _look_later(self) -> None:
        """See whether the client takes something in time of what is to be sent.

        RULE: only where nothing more is written meanwhile, as writing is paused or the answer is
        whole: then what is to be sent grows smaller, or nobody reads.
        """
        size = self._line.get_write_buffer_size()
        if size and self._look is None:
            later = asyncio.get_running_loop().call_later
            self._look = later(STILL_S, self._look_again, size)

    def _look_again(self, before: int) -> None:
        self._look = None
        if self._line.get_write_buffer_size() >= before:
            self.close()
        else:
            self._look_later()

    def _look_no_more(self) -> None:
        if self._look is not None:
            self._look.cancel()
            self._look = None

    def _wait(self) -> None:
        self._end = asyncio.get_running_loop().call_later(HEAD_S, self.close)

    def _wait_no_more(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None


def bounded(protocol: type[asyncio.Protocol], most: int) -> type[asyncio.Protocol]:
    """A protocol of uvicorn of which `most` connections are held at once."""
    own = {"most": most, "held": {}}
    return cast(
        type[asyncio.Protocol], type("Connection", (BoundedConnection, protocol), dict(own))
    )
