"""Clients are made when needed, reused, and closed with their loop."""

from __future__ import annotations

import asyncio
import sys

import httpx
import pytest

from detent.adapters.http.clients import Clients, require_httpx


def test_the_blocking_client_is_made_once_and_again_after_closing() -> None:
    """Closing is not the end: a later call opens new connections."""
    clients = Clients()
    first = clients.blocking()
    assert clients.blocking() is first
    clients.close()
    clients.close()
    assert first.is_closed
    assert clients.blocking() is not first
    clients.close()


def test_each_event_loop_has_a_client_that_is_closed_with_it() -> None:
    """Two runs of asyncio with one generator, one after the other."""
    clients = Clients()

    async def twice() -> httpx.AsyncClient:
        first, second = await asyncio.gather(clients.of_running_loop(), clients.of_running_loop())
        assert first is second
        return first

    one, other = asyncio.run(twice()), asyncio.run(twice())
    assert one is not other
    assert one.is_closed
    assert other.is_closed
    assert not clients._by_loop


def test_closing_in_a_loop_closes_its_client() -> None:
    """And the blocking one; a later call makes new ones."""
    clients = Clients()

    async def use() -> None:
        blocking, client = clients.blocking(), await clients.of_running_loop()
        await clients.aclose()
        await clients.aclose()
        assert client.is_closed
        assert blocking.is_closed
        assert await clients.of_running_loop() is not client

    asyncio.run(use())


def test_given_clients_are_used_and_left_open() -> None:
    """They belong to whoever made them."""

    async def use() -> None:
        with httpx.Client() as blocking:
            async with httpx.AsyncClient() as client:
                clients = Clients(blocking, client)
                assert clients.blocking() is blocking
                assert await clients.of_running_loop() is client
                await clients.aclose()
                assert not blocking.is_closed
                assert not client.is_closed

    asyncio.run(use())


def test_without_httpx_the_error_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra."""
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(ImportError, match=r"pip install 'detent\[http\]'"):
        require_httpx()
