"""A wire that ends in the test: it keeps the requests that httpx would send, and answers them."""

from __future__ import annotations

from typing import Any

import httpx


class Wire:
    """Answers every request with `answer`: JSON, or the text of a stream."""

    def __init__(self, answer: object, status: int = 200) -> None:
        self.requests: list[httpx.Request] = []
        self._answer = answer
        self._status = status

    def client(self) -> httpx.Client:
        """A client that ends here."""
        return httpx.Client(transport=httpx.MockTransport(self._handle))

    def async_client(self) -> httpx.AsyncClient:
        """The same for coroutines."""
        return httpx.AsyncClient(transport=httpx.MockTransport(self._handle))

    def _handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        body: dict[str, Any] = (
            {"text": self._answer} if isinstance(self._answer, str) else {"json": self._answer}
        )
        return httpx.Response(self._status, **body)
