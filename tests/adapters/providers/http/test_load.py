"""Recorded answers over real sockets: hundreds of calls at once, and few connections."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus

import httpx
import pytest
from attrs import frozen

from detent.adapters.providers.meaning.estimates import counted
from detent.adapters.providers.meaning.server_tools import with_labels
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import ChatReply, ModelFailure
from detent.ports.chat import ChatGeneratorError, StreamingChunk
from tests.adapters.providers.http.fake_server import FakeServer, Play, serving
from tests.adapters.providers.http.generators import READERS, generator
from tests.adapters.providers.http.recorded import (
    Record,
    body_of,
    cut_at_random,
    decoded,
    needs_records,
    records,
)

pytestmark = needs_records

QUESTION = [ChatMessage.from_user("Hello")]
HIDDEN = {"transfer-encoding", "content-length", "content-encoding", "connection"}
CALLS, AT_ONCE = 400, 20
WAVES, WAVE = 3, 150


def play_of(record: Record) -> Play:
    """A recorded answer, cut at random."""
    told = {name.lower(): text for name, text in (record["response_headers"] or {}).items()}
    headers = {name: text for name, text in told.items() if name not in HIDDEN}
    return Play(tuple(cut_at_random(body_of(record), record["id"])), headers, record["status"])


def all_records() -> Iterator[tuple[str, Record]]:
    """Every record, and the name of its file."""
    return ((name, record) for name in READERS for record in records(name))


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    """Plays the record that the header x-play names."""
    plays: Mapping[str, Play] = {record["id"]: play_of(record) for _, record in all_records()}
    with serving(plays.__getitem__) as made:
        yield made


def ignore(_: StreamingChunk) -> None:
    """Ask for a stream."""


@frozen
class Failed:
    """What of a failure is the same at every host."""

    cause: str
    retryable: bool
    status: int | None
    retry_after_s: float | None


def core_of(result: ChatReply | ModelFailure) -> object:
    """What is the same whoever asked, for whatever model."""
    if isinstance(result, ModelFailure):
        return Failed(result.cause, result.retryable, result.status, result.retry_after_s)
    return result.message, result.finish_reason, result.usage


def asked(name: str, record: Record, url: str, client: httpx.Client) -> object:
    """What a blocking call gives, as a value."""
    made = generator(name, url, record["id"], http_client=client)
    try:
        return core_of(made.run(QUESTION, streaming_callback=ignore if record["stream"] else None))
    except ChatGeneratorError as error:
        return core_of(error.failure)


async def asked_async(name: str, record: Record, url: str, client: httpx.AsyncClient) -> object:
    """What a coroutine gives, as a value."""
    made = generator(name, url, record["id"], async_http_client=client)
    callback = ignore if record["stream"] else None
    try:
        return core_of(await made.run_async(QUESTION, streaming_callback=callback))
    except ChatGeneratorError as error:
        return core_of(error.failure)


def expected(name: str, record: Record) -> object:
    """What the same bytes give without a network."""
    result = decoded(record, READERS[name])[1]
    if isinstance(result, ChatReply):
        result = with_labels(counted(result, QUESTION, []), [])
    return core_of(result)


@pytest.mark.parametrize("name", READERS)
def test_records_come_over_the_wire_as_they_are_without_it(name: str, server: FakeServer) -> None:
    """One call after the other, over one connection, but for those that break off in an answer."""
    before, broken_off = server.connections, 0
    with httpx.Client() as client:
        for record in records(name):
            wanted = expected(name, record)
            assert asked(name, record, server.url, client) == wanted, record["id"]
            broken_off += record["status"] == HTTPStatus.OK and isinstance(wanted, Failed)
    assert server.connections <= before + 1 + broken_off


def test_every_record_while_others_are_under_way_is_as_it_is_alone(server: FakeServer) -> None:
    """No answer gets into another, and no connection is opened for nothing."""
    chosen = list(all_records())
    before = server.connections

    async def many_at_once() -> list[object]:
        turn = asyncio.Semaphore(AT_ONCE)
        limits = httpx.Limits(max_keepalive_connections=None)
        async with httpx.AsyncClient(limits=limits) as client:

            async def in_turn(name: str, record: Record) -> object:
                async with turn:
                    return await asked_async(name, record, server.url, client)

            return await asyncio.gather(*(in_turn(name, one) for name, one in chosen))

    results = asyncio.run(many_at_once())
    assert results == [expected(name, one) for name, one in chosen]
    assert server.connections - before <= AT_ONCE + sum(isinstance(one, Failed) for one in results)


def test_hundreds_of_calls_of_one_generator_share_its_connections(server: FakeServer) -> None:
    """The connections of the first wave serve the second, and are closed in the end."""
    record = next(one for one in records("openai_chat") if one["stream"])
    before = server.connections

    async def waves() -> None:
        async with generator("openai_chat", server.url, record["id"]) as made:
            for _ in range(WAVES):
                calls = (made.run_async(QUESTION, streaming_callback=ignore) for _ in range(WAVE))
                await asyncio.gather(*calls)

    asyncio.run(waves())
    assert server.connections - before <= WAVE


def test_many_threads_share_the_connections_of_one_generator(server: FakeServer) -> None:
    """As many as there are threads."""
    record = next(one for one in records("anthropic") if one["stream"])
    before, threads = server.connections, 8
    with generator("anthropic", server.url, record["id"]) as made:
        wanted = made.run(QUESTION, streaming_callback=ignore)
        with ThreadPoolExecutor(threads) as pool:
            calls = [
                pool.submit(made.run, QUESTION, streaming_callback=ignore) for _ in range(CALLS)
            ]
            assert all(call.result() == wanted for call in calls)
    assert server.connections - before <= threads + 1
