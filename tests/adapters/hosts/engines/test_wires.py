"""What `crashes.py` rests on: a network that is cut is cut, and what is counted shows."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.adapters.hosts.engines.crashes import silent_in
from tests.adapters.hosts.engines.wires import Network


@contextmanager
def echoing() -> Generator[int]:
    """A port at which each connection is told what it says."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer(one: socket.socket) -> None:
            with one:
                while data := one.recv(100):
                    one.sendall(data)

        def serve() -> None:
            while True:
                try:
                    one, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(one,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def test_a_network_is_cut_with_a_word_or_silently() -> None:
    """Silent, it gives later what was sent; else connections are lost, and new ones refused."""
    with echoing() as port:
        network = Network()
        way = ("127.0.0.1", network.to(port))
        try:
            with socket.create_connection(way, timeout=30) as one:
                one.sendall(b"a")
                assert one.recv(1) == b"a"
                network.cut(is_silent=True)
                one.sendall(b"b")
                one.settimeout(0.1)
                with pytest.raises(TimeoutError):
                    one.recv(1)
                network.heal()
                one.settimeout(30)
                assert one.recv(1) == b"b"
                network.cut(is_silent=False)
                assert one.recv(1) == b""
            with socket.create_connection(way, timeout=30) as one:
                assert one.recv(1) == b""
            network.heal()
            with socket.create_connection(way, timeout=30) as one:
                one.sendall(b"c")
                assert one.recv(1) == b"c"
        finally:
            network.end()


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("begin k\nbegin l\n", 0),
        ("begin k\nbegin k\n", 1),
        ("begin k\nlook k\nbegin k\n", 0),
        ("begin k\nlook l\nbegin k\nbegin k\n", 2),
    ],
)
def test_what_is_begun_again_without_a_look_is_counted(
    lines: str, found: int, tmp_path: Path
) -> None:
    """By the key of the call."""
    (tmp_path / "noted.txt").write_text(lines)
    assert silent_in(tmp_path) == found
