"""The caller on real sockets: whatever a server does, a reply or a typed failure, and no leak."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from queue import SimpleQueue

import httpx
import pytest
from returns.result import Result

from detent.adapters.agent.agent import Agent
from detent.adapters.drivers.threads import Inbox
from detent.adapters.providers.http.answers import Answer, Ending
from detent.adapters.providers.http.caller import (
    LARGE,
    HttpCaller,
    Request,
    Timeouts,
    as_timeouts,
    host_of,
)
from detent.adapters.providers.http.clients import Clients
from detent.adapters.providers.openai.chat import OpenAIChatGenerator
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import ChatReply, FailureCause, ModelFailure
from detent.core.run.events import CancelRequested
from detent.ports.chat import ChatGeneratorError, StreamingCallback, StreamingChunk

Play = Callable[[BaseHTTPRequestHandler], None]
Serve = Callable[[Play], str]

QUESTION = [ChatMessage.from_user("Say hello")]
WHOLE = {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}
SAID = b'data: {"choices": [{"delta": {"content": "hel"}}]}\n\n'
SAID_MORE = b'data: {"choices": [{"delta": {"content": "lo"}, "finish_reason": "stop"}]}\n\n'
DONE = b"data: [DONE]\n\n"


def begin(handler: BaseHTTPRequestHandler, status: int = 200, **headers: str) -> None:
    """Send the head of an answer that comes in chunks."""
    handler.send_response(status)
    handler.send_header("transfer-encoding", "chunked")
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()


def send(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    """Send one chunk; an empty one ends the answer."""
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
    handler.wfile.flush()


def playing(*chunks: bytes, status: int = 200, **headers: str) -> Play:
    """A server that sends these chunks, and the end of the answer."""

    def play(handler: BaseHTTPRequestHandler) -> None:
        begin(handler, status, **headers)
        for chunk in (*chunks, b""):
            send(handler, chunk)

    return play


def breaking(*chunks: bytes) -> Play:
    """A server that sends these chunks and goes away in the middle of the answer."""

    def play(handler: BaseHTTPRequestHandler) -> None:
        begin(handler)
        for chunk in chunks:
            send(handler, chunk)
        handler.close_connection = True

    return play


def failure_at(
    url: str, timeout: float | Timeouts = 5.0, callback: StreamingCallback | None = None
) -> ModelFailure:
    """The failure of a call, which is the same in both colours."""

    async def call_async() -> ChatReply:
        generator = OpenAIChatGenerator("m", api_base_url=url, timeout=timeout)
        return await generator.run_async(QUESTION, streaming_callback=callback)

    with pytest.raises(ChatGeneratorError) as in_async:
        asyncio.run(call_async())
    with (
        OpenAIChatGenerator("m", api_base_url=url, timeout=timeout) as generator,
        pytest.raises(ChatGeneratorError) as blocking,
    ):
        generator.run(QUESTION, streaming_callback=callback)
    assert blocking.value.failure.cause == in_async.value.failure.cause
    return blocking.value.failure


def ignore(_: StreamingChunk) -> None:
    """Ask for a stream and watch nothing of it."""


def test_a_stream_is_shown_piece_by_piece_in_both_colours(serve: Serve) -> None:
    """The reply is that of a whole answer."""
    url = serve(playing(SAID[:20], SAID[20:], SAID_MORE, DONE))
    shown: list[StreamingChunk] = []
    with OpenAIChatGenerator("m", api_base_url=url) as generator:
        reply = generator.run(QUESTION, streaming_callback=shown.append)
    assert reply.message.text == "hello"
    assert [piece.content for piece in shown] == ["hel", "lo", ""]
    assert shown[-1].finish_reason == "stop"

    async def run_async() -> ChatReply:
        generator = OpenAIChatGenerator("m", api_base_url=url)
        return await generator.run_async(QUESTION, streaming_callback=shown.append)

    assert asyncio.run(run_async()) == reply
    assert shown[3:] == shown[:3]


@pytest.mark.parametrize("size", [1, LARGE])
def test_a_long_answer_is_put_together_in_another_thread_than_the_loops(
    size: int, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short one is not, as a thread takes longer."""
    threads = list[int]()
    finish = Answer.finish

    def watched(answer: Answer) -> Result[Ending, ModelFailure]:
        threads.append(threading.get_ident())
        return finish(answer)

    monkeypatch.setattr(Answer, "finish", watched)
    text = "a" * size
    whole = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    url = serve(playing(json.dumps(whole).encode()))
    reply = asyncio.run(OpenAIChatGenerator("m", api_base_url=url).run_async(QUESTION))
    assert reply.message.text == text
    assert (threads == [threading.get_ident()]) is (size < LARGE)


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/octet-stream"])
def test_an_answer_is_read_by_content_not_by_its_declared_type(kind: str, serve: Serve) -> None:
    """Servers err in it."""
    url = serve(playing(json.dumps(WHOLE).encode(), content_type=kind))
    with OpenAIChatGenerator("m", api_base_url=url) as generator:
        assert generator.run(QUESTION).message.text == "hello"


def test_a_compressed_answer_is_read(serve: Serve) -> None:
    """Gateways compress."""
    url = serve(playing(gzip.compress(json.dumps(WHOLE).encode()), content_encoding="gzip"))
    with OpenAIChatGenerator("m", api_base_url=url) as generator:
        assert generator.run(QUESTION).message.text == "hello"


def test_bytes_that_do_not_decompress_are_a_bad_response(serve: Serve) -> None:
    """A gateway that says gzip and sends something else."""
    failure = failure_at(serve(playing(b"not gzip at all", content_encoding="gzip")))
    assert failure.cause == "bad_response"


def test_garbage_is_a_bad_response(serve: Serve) -> None:
    """A base URL that leads to a web site."""
    failure = failure_at(serve(playing(b"<html>", b"welcome</html>", content_type="text/html")))
    assert failure.cause == "bad_response"
    assert "welcome" in failure.message


@pytest.mark.parametrize(
    "play",
    [breaking(SAID), breaking(), playing(SAID), playing()],
    ids=["broken", "broken at once", "too early", "empty"],
)
def test_a_cut_stream_is_a_failure_worth_another_try(play: Play, serve: Serve) -> None:
    """Whether the connection breaks, or the answer ends in good order but too early."""
    failure = failure_at(serve(play), callback=ignore)
    assert (failure.cause, failure.retryable) == ("cut_stream", True)


def test_a_connection_that_breaks_after_the_end_does_no_harm(serve: Serve) -> None:
    """The whole reply is there."""
    url = serve(breaking(SAID, SAID_MORE, DONE))
    with OpenAIChatGenerator("m", api_base_url=url) as generator:
        assert generator.run(QUESTION, streaming_callback=ignore).message.text == "hello"


def test_a_rate_limit_says_how_long_to_wait(serve: Serve) -> None:
    """Status, wait and request id come from the head, the text from the body."""
    body = b'{"error": {"message": "slower", "code": "rate_limit_exceeded"}}'
    failure = failure_at(serve(playing(body, status=429, retry_after="2", x_request_id="r1")))
    assert (failure.cause, failure.status, failure.retry_after_s) == ("rate_limit", 429, 2.0)
    assert (failure.retryable, failure.request_id) == (True, "r1")
    assert failure.message.startswith("127.0.0.1:")


@pytest.mark.parametrize("answered", [True, False])
def test_a_silent_server_is_a_timeout(serve: Serve, *, answered: bool) -> None:
    """Before the head of the answer, and after it."""
    over = threading.Event()

    def play(handler: BaseHTTPRequestHandler) -> None:
        if answered:
            begin(handler)
            send(handler, SAID)
        over.wait(10)
        handler.close_connection = True

    failure = failure_at(serve(play), Timeouts(read_s=0.05), ignore)
    over.set()
    assert (failure.cause, failure.retryable) == ("timeout", True)
    assert "ReadTimeout" in failure.message


def test_a_server_that_does_not_end_is_a_timeout(serve: Serve) -> None:
    """The time for the whole call is up, although bytes keep coming."""

    def play(handler: BaseHTTPRequestHandler) -> None:
        begin(handler)
        for _ in range(20_000):  # longer than the caller has patience
            send(handler, b": still thinking\n\n")
        handler.close_connection = True

    failure = failure_at(serve(play), Timeouts(total_s=0.05), ignore)
    assert (failure.cause, failure.retryable) == ("timeout", True)
    assert "still answering after 0.05 s" in failure.message


def dripping(head: bytes, over: threading.Event) -> Play:
    """A server that sends this, and then a byte now and then: every wait for one is short."""

    def play(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(head)
        with suppress(OSError):
            while not over.wait(0.01):
                handler.wfile.write(b"x")
        handler.close_connection = True

    return play


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"
DENIED = b"HTTP/1.1 429 Too Many\r\nretry-after: 7\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "cause", "status"),
    [
        (HEAD[:20], "timeout", None),
        (HEAD + b"x-a: ", "timeout", None),
        (HEAD + b"\r\n", "timeout", None),
        (DENIED, "rate_limit", 429),
    ],
    ids=["in the status", "in a header", "in the body", "in the body of an error"],
)
def test_the_time_for_the_whole_call_is_kept_in_every_phase(
    head: bytes, cause: FailureCause, status: int | None, serve: Serve
) -> None:
    """Whatever comes in time keeps the time for a wait, not that for the call; a status stays."""
    over = threading.Event()
    threading.Timer(8.0, over.set).start()
    failure = failure_at(serve(dripping(head, over)), Timeouts(read_s=9.0, total_s=0.1), ignore)
    assert not over.is_set()
    over.set()
    assert (failure.cause, failure.retryable, failure.status) == (cause, True, status)


def test_a_connection_that_is_used_again_is_cut_in_time_too(serve: Serve) -> None:
    """That of the call before."""
    over = threading.Event()
    plays = [dripping(HEAD, over), playing(SAID, SAID_MORE, DONE)]

    def play(handler: BaseHTTPRequestHandler) -> None:
        plays.pop()(handler)

    url = serve(play)
    with OpenAIChatGenerator("m", api_base_url=url, timeout=Timeouts(total_s=0.3)) as generator:
        generator.run(QUESTION)
        with pytest.raises(ChatGeneratorError) as caught:
            generator.run(QUESTION)
    over.set()
    assert caught.value.failure.cause == "timeout"


def test_an_error_of_the_callback_that_is_a_time_out_comes_through() -> None:
    """It is not the provider's."""

    def fail(_: StreamingChunk) -> None:
        raise TimeoutError("mine")

    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=WHOLE))
    with httpx.Client(transport=transport) as client:
        generator = OpenAIChatGenerator("m", api_base_url="http://h/v1", http_client=client)
        with pytest.raises(TimeoutError, match="mine"):
            generator.run(QUESTION, streaming_callback=fail)


@pytest.mark.parametrize(
    "line", [b"you sent Bearer sk-secret\r\n", b"x: " + b"y" * 200_000], ids=["illegal", "endless"]
)
def test_a_head_that_is_none_is_a_bad_response_without_the_key(line: bytes, serve: Serve) -> None:
    """Httpx shows the line that it cannot read, and the server may have echoed the key in it."""

    def play(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(HEAD + line + b"\r\n")
        handler.close_connection = True

    generator = OpenAIChatGenerator("m", api_base_url=serve(play), api_key="sk-secret")
    with generator, pytest.raises(ChatGeneratorError) as caught:
        generator.run(QUESTION)
    assert (caught.value.failure.cause, caught.value.failure.retryable) == ("bad_response", False)
    assert "sk-" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_server_that_is_not_there_is_a_connection_failure() -> None:
    """The failure names the host."""
    failure = failure_at("http://127.0.0.1:1/v1")
    assert (failure.cause, failure.retryable) == ("connection", True)
    assert "127.0.0.1:1" in failure.message


def test_a_server_that_hangs_up_is_a_connection_failure(serve: Serve) -> None:
    """No answer has begun."""

    def play(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True

    assert failure_at(serve(play)).cause == "connection"


def test_a_header_that_cannot_be_sent_is_not_shown(serve: Serve) -> None:
    """It may be the key."""
    headers = {"api-key": "sk-1\nsk-2"}
    generator = OpenAIChatGenerator("m", api_base_url=serve(playing()), headers=headers)
    with generator, pytest.raises(ChatGeneratorError) as caught:
        generator.run(QUESTION)
    assert caught.value.failure.cause == "bad_request"
    assert "sk-" not in f"{caught.value} {caught.value.__cause__}"
    assert caught.value.__suppress_context__


def test_cancelling_closes_the_connection(serve: Serve) -> None:
    """The server sees the end of the connection while it is still answering."""
    hung_up = threading.Event()

    def play(handler: BaseHTTPRequestHandler) -> None:
        begin(handler)
        send(handler, SAID)
        assert handler.rfile.read(1) == b""
        hung_up.set()
        handler.close_connection = True

    async def cancel_at_the_first_piece() -> None:
        begun = asyncio.Event()
        generator = OpenAIChatGenerator("m", api_base_url=serve(play))
        call = asyncio.create_task(
            generator.run_async(QUESTION, streaming_callback=lambda _: begun.set())
        )
        await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await asyncio.to_thread(hung_up.wait, 5)

    asyncio.run(cancel_at_the_first_piece())


@pytest.mark.parametrize("begins", [False, True], ids=["for the answer", "for its next piece"])
def test_cancelling_a_blocking_run_closes_the_connection(serve: Serve, *, begins: bool) -> None:
    """At once, though its thread is waiting."""
    hung_up = threading.Event()
    inbox: Inbox = SimpleQueue()

    def play(handler: BaseHTTPRequestHandler) -> None:
        if begins:
            begin(handler)
            send(handler, SAID)
        inbox.put(CancelRequested("enough"))
        assert handler.rfile.read(1) == b""
        hung_up.set()
        handler.close_connection = True

    with OpenAIChatGenerator("m", api_base_url=serve(play)) as generator:
        agent = Agent(chat_generator=generator)
        result = agent.run("hi", ignore if begins else None, inbox=inbox)
        assert hung_up.wait(5)
    assert result.exit_reason == "cancelled"


def test_a_client_that_was_given_gives_its_connection_up_at_the_next_piece(serve: Serve) -> None:
    """Others may use its connections: it is not cut."""
    cancelled, hung_up = threading.Event(), threading.Event()

    def play(handler: BaseHTTPRequestHandler) -> None:
        begin(handler)
        send(handler, SAID)
        assert cancelled.wait(5)
        send(handler, SAID)
        assert handler.rfile.read(1) == b""
        hung_up.set()
        handler.close_connection = True

    inbox: Inbox = SimpleQueue()
    with httpx.Client() as client:
        agent = Agent(
            chat_generator=OpenAIChatGenerator("m", api_base_url=serve(play), http_client=client)
        )
        result = agent.run("hi", lambda _: inbox.put(CancelRequested("enough")), inbox=inbox)
        cancelled.set()
        assert hung_up.wait(5)
    assert result.exit_reason == "cancelled"


def test_a_connection_that_was_used_before_is_closed_as_well(serve: Serve) -> None:
    """The call that is cancelled did not make it; the next call makes a new one."""
    ports: list[int] = []
    inbox: Inbox = SimpleQueue()
    hung_up = threading.Event()

    def play(handler: BaseHTTPRequestHandler) -> None:
        ports.append(handler.client_address[1])
        if len(ports) != 2:
            playing(json.dumps(WHOLE).encode())(handler)
            return
        inbox.put(CancelRequested("enough"))
        assert handler.rfile.read(1) == b""
        hung_up.set()
        handler.close_connection = True

    with OpenAIChatGenerator("m", api_base_url=serve(play)) as generator:
        generator.run(QUESTION)
        Agent(chat_generator=generator).run("hi", inbox=inbox)
        assert hung_up.wait(5)
        generator.run(QUESTION)
    first, cancelled, after = ports
    assert first == cancelled != after


def test_an_error_of_the_callback_closes_the_connection_and_comes_through(serve: Serve) -> None:
    """It is not the provider's."""
    hung_up = threading.Event()

    def play(handler: BaseHTTPRequestHandler) -> None:
        begin(handler)
        send(handler, SAID)
        assert handler.rfile.read(1) == b""
        hung_up.set()
        handler.close_connection = True

    def fail(_: StreamingChunk) -> None:
        raise LookupError("mine")

    with OpenAIChatGenerator("m", api_base_url=serve(play)) as generator:
        with pytest.raises(LookupError, match="mine"):
            generator.run(QUESTION, streaming_callback=fail)
        assert hung_up.wait(5)


def test_connections_are_reused_in_both_colours(serve: Serve) -> None:
    """Calls one after the other come from one port, whether streamed or not."""
    ports: list[int] = []

    def play(handler: BaseHTTPRequestHandler) -> None:
        ports.append(handler.client_address[1])
        playing(SAID, SAID_MORE, DONE)(handler)

    async def thrice(generator: OpenAIChatGenerator) -> None:
        for callback in (None, ignore, ignore):
            await generator.run_async(QUESTION, streaming_callback=callback)

    with OpenAIChatGenerator("m", api_base_url=serve(play)) as generator:
        for callback in (None, ignore, ignore):
            generator.run(QUESTION, streaming_callback=callback)
        assert len(set(ports)) == 1
        asyncio.run(thrice(generator))
        asyncio.run(thrice(generator))
    assert [len(set(ports[at : at + 3])) for at in (3, 6)] == [1, 1]


def test_a_client_of_ours_sends_what_a_given_one_sends(serve: Serve) -> None:
    """The same headers and the same body, though httpx need not look for what it may add."""
    sent: list[tuple[dict[str, str], bytes]] = []

    def play(handler: BaseHTTPRequestHandler) -> None:
        headers = {name.lower(): value for name, value in handler.headers.items()}
        sent.append((headers, vars(handler)["body"]))
        playing(SAID, SAID_MORE, DONE)(handler)

    url = serve(play)

    async def ask(client: httpx.Client | None, async_client: httpx.AsyncClient | None) -> None:
        generator = OpenAIChatGenerator(
            "m",
            api_base_url=url,
            api_key="k",
            headers={"Accept": "text/plain", "x-mine": "1"},
            http_client=client,
            async_http_client=async_client,
        )
        async with generator:
            generator.run(QUESTION)
            await generator.run_async(QUESTION)

    async def ask_through_all() -> None:
        await ask(None, None)
        with httpx.Client() as client:
            async with httpx.AsyncClient() as async_client:
                await ask(client, async_client)

    asyncio.run(ask_through_all())
    assert sent == [sent[0]] * 4
    assert sent[0][0].items() >= {"accept": "text/plain", "x-mine": "1"}.items()


def test_a_call_has_the_time_limits_of_the_generator() -> None:
    """Not those of a client, ours or given: models take longer than other servers."""
    limits = {"connect": 7.0, "pool": 7.0, "read": 8.0, "write": 8.0}
    with httpx.Client() as given:
        for clients in (Clients(), Clients(given)):
            caller = HttpCaller(clients, Timeouts(connect_s=7.0, read_s=8.0))
            with clients.blocking() as client:
                sent = caller._httpx_request(Request("http://h/v1", {}, b""), client)
            assert sent.extensions["timeout"] == limits
            clients.close()


def test_what_a_given_client_adds_is_sent() -> None:
    """Its headers and its query: whoever gives one has reasons."""
    sent: list[httpx.Request] = []

    def play(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json=WHOLE)

    client = httpx.Client(
        transport=httpx.MockTransport(play), headers={"x-mine": "1"}, params={"tenant": "a"}
    )
    with client:
        OpenAIChatGenerator("m", api_base_url="http://h/v1", http_client=client).run(QUESTION)
    assert sent[0].headers["x-mine"] == "1"
    assert sent[0].url.params["tenant"] == "a"


def test_a_cookie_goes_back_in_both_colours(serve: Serve) -> None:
    """By it some servers know where the beginning of the conversation is kept."""
    cookies: list[str | None] = []

    def play(handler: BaseHTTPRequestHandler) -> None:
        cookies.append(handler.headers["cookie"])
        playing(SAID, SAID_MORE, DONE, set_cookie="at=7")(handler)

    async def twice(generator: OpenAIChatGenerator) -> None:
        await generator.run_async(QUESTION)
        await generator.run_async(QUESTION)

    with OpenAIChatGenerator("m", api_base_url=serve(play)) as generator:
        generator.run(QUESTION)
        generator.run(QUESTION)
        asyncio.run(twice(generator))
    assert cookies == [None, "at=7"] * 2


def test_one_generator_serves_several_event_loops_at_once(serve: Serve) -> None:
    """Each thread has its own loop, and each loop its own connections."""
    url = serve(playing(json.dumps(WHOLE).encode()))
    generator = OpenAIChatGenerator("m", api_base_url=url)
    texts: list[str | None] = []

    async def ask() -> None:
        replies = await asyncio.gather(*(generator.run_async(QUESTION) for _ in range(2)))
        texts.extend(reply.message.text for reply in replies)

    threads = [threading.Thread(target=lambda: asyncio.run(ask())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == ["hello"] * 6


def test_a_number_is_the_time_for_the_whole_call() -> None:
    """And bounds each of its parts."""
    assert as_timeouts(5) == Timeouts(connect_s=5, read_s=5, total_s=5)
    assert as_timeouts(60) == Timeouts(connect_s=10, read_s=60, total_s=60)
    assert as_timeouts(Timeouts(total_s=1)) == Timeouts(total_s=1)
    assert Timeouts(1, 2, 3).httpx() == httpx.Timeout(2, connect=1, pool=1)


def test_a_host_is_named_without_the_secrets_of_its_url() -> None:
    """Neither user and password nor a key in the query."""
    assert host_of("https://me:pw@example.org:8080/v1?key=sk-1") == "example.org:8080"
