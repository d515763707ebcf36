"""The connection of a blocking client, which another thread can cut."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from detent.ports.stopping import can_be_stopped

if TYPE_CHECKING:
    import httpx

# The steps of a request that give a connection.
# Source: https://www.python-httpx.org/advanced/extensions/#trace
CONNECTED = ("connect_tcp.complete", "connect_unix_socket.complete", "start_tls.complete")


SURELY_KEPT_S = 10.0
"""How long after an answer httpx is far from closing its connection."""


class Line:
    """A client that blocks, with the one connection that it has.

    A thread that waits for bytes does not notice that its socket is closed, only that it is shut
    down; httpx then raises an error in it.
    """

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.is_cut = False
        self._stream: Any = None  # httpcore's; its type has no public home in httpx
        self._answered_at = 0.0
        client.event_hooks = {"request": [self._trace], "response": [self._answered]}

    def cut(self) -> None:
        """End the connection, from any thread; one that is being made ends when it stands."""
        self.is_cut = True
        if self._stream is not None:
            with suppress(OSError):  # it has ended by itself
                # Not the method of a TLS socket: that would take the TLS from under the reader.
                socket.socket.shutdown(self._stream.get_extra_info("socket"), socket.SHUT_RDWR)

    def _trace(self, request: httpx.Request) -> None:
        # To be told takes httpx a twentieth of the time of a call.
        if can_be_stopped() or not self._is_kept():
            request.extensions["trace"] = self._follow

    def _is_kept(self) -> bool:
        """Whether the connection of the call before is used again, and so is known."""
        is_fresh = time.monotonic() - self._answered_at < SURELY_KEPT_S
        return is_fresh and not self._stream.get_extra_info("is_readable")  # as it is at its end

    def _answered(self, response: httpx.Response) -> None:
        self._stream = response.extensions.get("network_stream")
        self._answered_at = time.monotonic()

    def _follow(self, step: str, info: Mapping[str, Any]) -> None:
        if step.endswith(CONNECTED):
            self._stream = info["return_value"]
            if self.is_cut:
                self.cut()
