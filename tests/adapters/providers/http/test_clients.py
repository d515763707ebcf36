"""Clients are made when needed, used by one call at a time, reused, and closed with their loop."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack, ExitStack

import httpx
import pytest

from detent.adapters.providers.http import clients as module
from detent.adapters.providers.http.clients import Clients, IdleClients
from detent.adapters.providers.openai.chat import OpenAIChatGenerator
from detent.core.chat.messages import ChatMessage


def used(clients: Clients) -> httpx.Client:
    """The client of a blocking call that is over."""
    with clients.blocking() as client:
        return client


async def used_async(clients: Clients) -> httpx.AsyncClient:
    """The client of a coroutine that is over."""
    async with clients.of_running_loop() as client:
        return client


def test_calls_one_after_the_other_have_one_client_and_calls_at_once_one_each() -> None:
    """None waits for another's connection, and none is made for nothing."""
    clients = Clients()
    with ExitStack() as stack:
        two = [stack.enter_context(clients.blocking()) for _ in range(2)]
    assert two[0] is not two[1]
    assert used(clients) is used(clients)
    assert used(clients) in two
    clients.close()


def test_closing_is_not_the_end() -> None:
    """A later call makes a new client; that of a call under way is closed after it."""
    clients = Clients()
    first = used(clients)
    with clients.blocking() as busy:
        assert busy is first
        clients.close()
        clients.close()
        was_closed = busy.is_closed
    assert (was_closed, busy.is_closed) == (False, True)
    assert used(clients) is not first
    clients.close()


def test_each_event_loop_has_clients_that_are_closed_with_it() -> None:
    """Two runs of asyncio with one generator, one after the other."""
    clients = Clients()

    async def at_once() -> list[httpx.AsyncClient]:
        async with AsyncExitStack() as stack:
            enter = stack.enter_async_context
            two = [await enter(clients.of_running_loop()) for _ in range(2)]
        assert two[0] is not two[1]
        assert await used_async(clients) in two
        return two

    first, second = asyncio.run(at_once()), asyncio.run(at_once())
    assert not {*first} & {*second}
    assert all(client.is_closed for client in (*first, *second))
    assert not clients._by_loop


def test_closing_in_a_loop_closes_its_clients() -> None:
    """And the blocking ones; a later call makes new ones."""
    clients = Clients()

    async def use() -> None:
        blocking, client = used(clients), await used_async(clients)
        async with clients.of_running_loop() as busy:
            await clients.aclose()
            await clients.aclose()
        assert client.is_closed
        assert busy.is_closed
        assert blocking.is_closed
        assert await used_async(clients) is not client

    asyncio.run(use())


def test_a_client_that_lay_idle_for_long_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """When another call ends: what is used stays, what was used in a rush hour goes."""
    monkeypatch.setattr(module, "KEPT_S", -1.0)
    clients = Clients()

    async def use() -> bool:
        return (await used_async(clients)).is_closed

    assert used(clients).is_closed
    assert asyncio.run(use())


def test_a_shelf_gives_the_latest_and_drops_the_oldest() -> None:
    """So that few connections are kept alive where few are needed."""
    idle = IdleClients[str]()
    assert idle.take() is None
    assert idle.lay_back("a") == idle.lay_back("b") == []
    assert idle.take() == "b"
    assert idle.clear() == ["a"]
    assert idle.lay_back("b") == ["b"]
    assert idle.take() is None


def test_given_clients_are_used_and_left_open() -> None:
    """They belong to whoever made them."""

    async def use() -> None:
        with httpx.Client() as blocking:
            async with httpx.AsyncClient() as client:
                clients = Clients(blocking, client)
                assert used(clients) is blocking
                assert await used_async(clients) is client
                await clients.aclose()
                assert not blocking.is_closed
                assert not client.is_closed

    asyncio.run(use())


def test_without_httpx_the_error_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra, which a call asks for before anything else."""
    monkeypatch.setitem(sys.modules, "httpx", None)
    generator = OpenAIChatGenerator("m", api_key="k")
    messages = [ChatMessage.from_user("hi")]
    with pytest.raises(ImportError, match=r"pip install 'detent\[http\]'"):
        generator.run(messages)
    with pytest.raises(ImportError, match=r"pip install 'detent\[http\]'"):
        asyncio.run(generator.run_async(messages))
