"""A network between processes of one machine, which can be cut."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress

from attrs import define, field

SIZE = 65536


@define
class Network:
    """Ways to ports of this machine. A cut one loses its connections, or is silent."""

    _is_whole: threading.Event = field(factory=threading.Event)
    _is_refusing: bool = False
    _is_ended: bool = False
    _cut_at: tuple[bytes, ...] = ()
    _ways: dict[int, socket.socket] = field(factory=dict)
    _ends: set[socket.socket] = field(factory=set)

    def __attrs_post_init__(self) -> None:
        self._is_whole.set()

    def to(self, port: int) -> int:
        """A port that leads to another one."""
        if port not in self._ways:
            self._ways[port] = way = socket.create_server(("127.0.0.1", 0))
            threading.Thread(target=self._serve, args=(way, port), daemon=True).start()
        found: int = self._ways[port].getsockname()[1]
        return found

    def cut(self, *, is_silent: bool) -> None:
        """Lose what is connected, and refuse what comes; or let nothing through, silently."""
        self._is_whole.clear()
        self._is_refusing = not is_silent
        if not is_silent:
            self._drop()

    def cut_behind(self, *texts: bytes) -> None:
        """Be cut, silently, once one connection has brought all of these, in their order.

        What has brought the last one arrives; nobody hears what is answered.
        """
        self._cut_at = texts

    @property
    def is_cut(self) -> bool:
        """Whether nothing comes through."""
        return not self._is_whole.is_set()

    def heal(self) -> None:
        """Let everything through again. What was silent goes on, with what was sent meanwhile."""
        self._is_refusing = False
        self._is_whole.set()

    def end(self) -> None:
        """Close everything."""
        self._is_ended = True
        for way in self._ways.values():
            with suppress(OSError):
                way.shutdown(socket.SHUT_RDWR)
            way.close()
        self._drop()
        self.heal()

    def _drop(self) -> None:
        for end in [*self._ends]:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _serve(self, way: socket.socket, port: int) -> None:
        while not self._is_ended:
            try:
                near, _ = way.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(near, port), daemon=True).start()

    def _connect(self, near: socket.socket, port: int) -> None:
        with closing(near):
            if self._is_refusing:
                return
            self._is_whole.wait()
            try:
                far = socket.create_connection(("127.0.0.1", port), timeout=5)
            except OSError:
                return
            far.settimeout(None)
            with closing(far), self._known(near, far):
                back = threading.Thread(target=self._carry, args=(far, near), daemon=True)
                back.start()
                self._carry(near, far, brought=0)
                back.join()

    @contextmanager
    def _known(self, *ends: socket.socket) -> Generator[None]:
        self._ends.update(ends)
        try:
            yield
        finally:
            self._ends.difference_update(ends)

    def _carry(
        self, source: socket.socket, target: socket.socket, brought: int | None = None
    ) -> None:
        with suppress(OSError):
            while data := source.recv(SIZE):
                self._is_whole.wait()
                if brought is not None:
                    brought = self._look(data, brought)
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _look(self, data: bytes, brought: int) -> int:
        """How many of the texts a connection has brought."""
        texts = self._cut_at
        while brought < len(texts) and texts[brought] in data:
            data = data[data.index(texts[brought]) + len(texts[brought]) :]
            brought += 1
        if texts and brought == len(texts):
            self._cut_at = ()
            self.cut(is_silent=True)
        return brought
