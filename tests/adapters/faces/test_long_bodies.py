"""Of whom sends much, nobody else waits while it is read."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from detent.adapters.faces.entrance import TurnedAwayError, body_of
from detent.adapters.system.threads_and_loops import LARGE
from detent.adapters.web.api import requests
from detent.core.codec.json_text import read_json

HEADERS = [(b"content-type", b"application/json"), (b"host", b"localhost")]


def request_of(body: bytes) -> Request:
    """A request with a body."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request({"type": "http", "method": "POST", "path": "/", "headers": HEADERS}, receive)


@pytest.mark.parametrize("size", [1, LARGE])
def test_a_large_body_is_read_in_a_thread(size: int) -> None:
    """And what it means to a face is found out there."""
    threads = list[int]()

    def meaning(body: Any) -> int:
        threads.append(threading.get_ident())
        return len(body["text"])

    body = json.dumps({"text": "a" * size}).encode()
    assert asyncio.run(body_of(request_of(body), meaning)) == size
    assert (threads == [threading.get_ident()]) is (size < LARGE)


@pytest.mark.parametrize("size", [1, LARGE])
def test_what_is_no_json_is_turned_away_from_there(size: int) -> None:
    """Wherever it is read."""
    with pytest.raises(TurnedAwayError):
        asyncio.run(body_of(request_of(b"{" * size)))


@pytest.mark.parametrize("size", [1, LARGE])
def test_the_endpoints_of_the_api_read_so_too(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one way."""
    threads = list[int]()

    def noted(text: Any) -> Any:
        threads.append(threading.get_ident())
        return read_json(text)

    async def handler(request: Request) -> Response:
        return Response(str(len(request.state.said["text"])))

    monkeypatch.setattr(requests, "read_json", noted)
    body = json.dumps({"text": "a" * size}).encode()
    reading: Any = requests.read_first(handler)(request_of(body))
    answer: Response = asyncio.run(reading)
    assert answer.body == str(size).encode()
    assert (threads == [threading.get_ident()]) is (size < LARGE)
