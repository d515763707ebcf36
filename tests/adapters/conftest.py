"""A real server for the tests: one of HTTP that plays what a test scripts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

Play = Callable[[BaseHTTPRequestHandler], None]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is part of what is tested."""


@pytest.fixture
def serve() -> Iterator[Callable[[Play], str]]:
    """Start servers: each answers every POST by `play(handler)`; gives the base URL."""
    servers: list[_Server] = []

    def start(play: Play) -> str:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.body = self.rfile.read(int(self.headers["content-length"]))
                play(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as inherited
                """A test reads no server log."""

        server = _Server(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/v1"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
