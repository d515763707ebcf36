"""What a call of a provider costs, beside its SDK and bare httpx: ``benchmarks/providers.py``.

Prints Markdown tables: CPU of the client for each call and for each streamed piece, and as a
multiple of what bare httpx needs to send and receive the same bytes. A server in another process
gives the answers. The contenders take turns, each in a process of its own. The SDKs live in virtual
environments that ``python benchmarks/providers.py --install`` makes; one that is not there is left
out. ``--codecs`` prints only what it costs to read a streamed piece, without a network; ``--pairs``
how a call compares to httpx where both take turns in one process, which other work on the machine
disturbs least.
"""
# ruff: noqa: INP001, T201  # a script that talks to a terminal

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
import venv
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
VENVS = Path(os.environ.get("BENCH_ENVS", HERE / ".venvs"))
PINS = {
    "openai": "openai==3.52.0",
    "anthropic": "anthropic==2.11.0",
    "gemini": "google-genai==3.4.0",
}
PYDANTIC_AI = "pydantic-ai-slim[openai]==2.68.0"
SDK_ENV = "sdk-{}"
CALLS, AT_ONCE, PIECES, STREAMS = 100, 50, 500, 4
BATCHES, ROUNDS = 5, 3
CODEC_COLUMNS = ("its JSON to the callback", "its bytes to the callback", "json.loads alone")
WORDS = [f"word{number} " for number in range(PIECES)]
QUESTION = "Say something."


class Wire(NamedTuple):
    """What the server of one API says, whole and in pieces."""

    path: str
    whole: Mapping[str, Any]
    pieces: Callable[[str], Mapping[str, Any]]
    first: tuple[Mapping[str, Any], ...]
    last: tuple[Mapping[str, Any], ...]
    body: Mapping[str, Any]
    headers: Mapping[str, str]

    def stream(self) -> bytes:
        """The whole of a stream."""
        values = [*self.first, *map(self.pieces, WORDS), *self.last]
        lines = (
            (f"event: {value['type']}\n" if "type" in value else "")
            + f"data: {json.dumps(value)}\n\n"
            for value in values
        )
        return "".join(lines).encode()


def choice(**members: Any) -> dict[str, Any]:
    """A value of Chat Completions."""
    one = {"index": 0, "logprobs": None, "finish_reason": None, **members}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [one]}


OPENAI_USAGE = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
MESSAGES = [{"role": "user", "content": QUESTION}]
BLOCKS = [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}]
MESSAGE = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": None}
MESSAGE |= {"stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 9}}
WIRES: Mapping[str, Wire] = {
    "openai": Wire(
        "/v1/chat/completions",
        choice(message={"role": "assistant", "content": "Hello."}, finish_reason="stop")
        | {"usage": OPENAI_USAGE},
        lambda word: choice(delta={"content": word}) | {"object": "chat.completion.chunk"},
        (),
        (choice(delta={}, finish_reason="stop"),),
        {"model": "m", "messages": MESSAGES},
        {"authorization": "Bearer k"},
    ),
    "anthropic": Wire(
        "/v1/messages",
        MESSAGE | {"content": [{"type": "text", "text": "Hello."}], "stop_reason": "end_turn"},
        lambda word: {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": word},
        },
        (
            {"type": "message_start", "message": MESSAGE | {"content": []}},
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            },
        ),
        (
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": 9},
            },
            {"type": "message_stop"},
        ),
        {"model": "m", "max_tokens": 8192, "messages": BLOCKS},
        {"x-api-key": "k", "anthropic-version": "2023-06-01"},
    ),
    "gemini": Wire(
        "/v1beta/models/m:generateContent",
        {
            "candidates": [
                {
                    "content": {"parts": [{"text": "Hello."}], "role": "model"},
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 9},
        },
        lambda word: {"candidates": [{"content": {"parts": [{"text": word}], "role": "model"}}]},
        (),
        ({"candidates": [{"finishReason": "STOP"}]},),
        {"contents": [{"role": "user", "parts": [{"text": QUESTION}]}]},
        {"x-goog-api-key": "k"},
    ),
}


async def serve() -> None:
    """Answer until the process that waits for the port ends."""
    wholes = {api: json.dumps(wire.whole).encode() for api, wire in WIRES.items()}
    streams = {api: wire.stream() for api, wire in WIRES.items()}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
                body = await reader.readexactly(length)
                api = next(one for one in WIRES if API_MARKS[one] in head)
                is_stream = b'"stream":true' in body.replace(b" ", b"") or b":stream" in head
                data = streams[api] if is_stream else wholes[api]
                kind = b"text/event-stream" if is_stream else b"application/json"
                told = b"content-type: %s\r\ncontent-length: %d" % (kind, len(data))
                writer.write(b"HTTP/1.1 200 OK\r\n%s\r\n\r\n%s" % (told, data))
                await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


API_MARKS = {
    "openai": b"/chat/completions",
    "anthropic": b"/messages",
    "gemini": b"generatecontent",
}


class Client(NamedTuple):
    """How one contender calls: whole, in pieces, and as a coroutine; each gives what was said."""

    call: Callable[[], object]
    stream: Callable[[], object]
    call_async: Callable[[], Awaitable[object]]


def ours(api: str, url: str) -> Client:
    """This library."""
    from detent import ChatMessage, chat_generator

    base = {"openai": "/v1", "anthropic": "", "gemini": "/v1beta"}[api]
    made = chat_generator(f"{api}:m", api_base_url=url + base, api_key="k")
    asked = [ChatMessage.from_user(QUESTION)]
    heard: list[str] = []
    return Client(
        lambda: made.run(asked).message.text,
        lambda: made.run(asked, streaming_callback=lambda piece: heard.append(piece.content)),
        lambda: made.run_async(asked),  # type: ignore[union-attr]  # the local model has no servers
    )


def bare(api: str, url: str) -> Client:
    """Httpx alone: the same bytes go out, and nothing is made of those that come."""
    import httpx

    wire = WIRES[api]
    streamed, whole = (
        json.dumps(body, separators=(",", ":")).encode()
        for body in ({**wire.body, "stream": True}, wire.body)
    )
    headers = {"content-type": "application/json", "user-agent": "bare", **wire.headers}
    client = httpx.Client()
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=AT_ONCE)
    async_client = httpx.AsyncClient(limits=limits)
    stream_path = wire.path.replace(":generateContent", ":streamGenerateContent")

    def stream() -> int:
        with client.stream("POST", url + stream_path, content=streamed, headers=headers) as got:
            return sum(map(len, got.iter_bytes()))

    return Client(
        lambda: client.post(url + wire.path, content=whole, headers=headers).content,
        stream,
        lambda: async_client.post(url + wire.path, content=whole, headers=headers),
    )


def sdk(api: str, url: str) -> Client:
    """The provider's own SDK."""
    return {"openai": sdk_openai, "anthropic": sdk_anthropic, "gemini": sdk_gemini}[api](url)


def sdk_openai(url: str) -> Client:
    """The SDK of OpenAI."""
    import openai  # type: ignore[import-not-found]  # lives elsewhere

    given = {"base_url": f"{url}/v1", "api_key": "k"}
    create = openai.OpenAI(**given).chat.completions.create
    create_async = openai.AsyncOpenAI(**given).chat.completions.create
    asked: dict[str, Any] = {"model": "m", "messages": MESSAGES}
    return Client(
        lambda: create(**asked).choices[0].message.content,
        lambda: [chunk.choices[0].delta.content for chunk in create(stream=True, **asked)],
        lambda: create_async(**asked),
    )


def sdk_anthropic(url: str) -> Client:
    """The SDK of Anthropic."""
    import anthropic  # type: ignore[import-not-found]  # lives elsewhere

    given = {"base_url": url, "api_key": "k"}
    create = anthropic.Anthropic(**given).messages.create
    create_async = anthropic.AsyncAnthropic(**given).messages.create
    asked: dict[str, Any] = {"model": "m", "max_tokens": 100, "messages": MESSAGES}
    return Client(
        lambda: create(**asked).content[0].text,
        lambda: [event.type for event in create(stream=True, **asked)],
        lambda: create_async(**asked),
    )


def sdk_gemini(url: str) -> Client:
    """The SDK of Google."""
    from google import genai  # type: ignore[import-not-found]  # lives elsewhere

    client = genai.Client(api_key="k", http_options={"base_url": url})
    asked: dict[str, Any] = {"model": "m", "contents": QUESTION}
    return Client(
        lambda: client.models.generate_content(**asked).text,
        lambda: [one.text for one in client.models.generate_content_stream(**asked)],
        lambda: client.aio.models.generate_content(**asked),
    )


def pydantic_ai(api: str, url: str) -> Client:
    """Another library for agents, with its model of OpenAI."""
    from openai import AsyncOpenAI
    from pydantic_ai import direct
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    assert api == "openai"  # noqa: S101  # its others need further SDKs

    def model() -> OpenAIChatModel:
        """One for each event loop: its client stays in one."""
        client = AsyncOpenAI(base_url=f"{url}/v1", api_key="k")
        return OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))

    here, there = model(), model()
    asked = [ModelRequest.user_text_prompt(QUESTION)]
    loop = asyncio.new_event_loop()

    async def stream() -> list[object]:
        async with direct.model_request_stream(here, asked) as pieces:
            return [piece async for piece in pieces]

    return Client(
        lambda: loop.run_until_complete(direct.model_request(here, asked)),
        lambda: loop.run_until_complete(stream()),
        lambda: direct.model_request(there, asked),
    )


CONTENDERS = {"httpx": bare, "detent": ours, "sdk": sdk, "pydantic-ai": pydantic_ai}


def cpu_us(act: Callable[[], object], units: int) -> float:
    """CPU for each of `units`, in microseconds."""
    begun = time.process_time()
    act()
    return 1e6 * (time.process_time() - begun) / units


def measure(contender: str, api: str, url: str) -> dict[str, float]:
    """CPU of one contender: a call, a call of many at once, and a streamed piece."""
    client = CONTENDERS[contender](api, url)
    for _ in range(20):
        client.call()
        client.stream()

    async def at_once() -> float:
        async def some() -> None:
            for _ in range(CALLS // AT_ONCE):
                await client.call_async()

        figures = []
        for _ in range(BATCHES):
            begun = time.process_time()
            await asyncio.gather(*(some() for _ in range(AT_ONCE)))
            figures.append(1e6 * (time.process_time() - begun) / CALLS)
        return min(figures)

    return {
        "call": least(partial(times, client.call, CALLS), CALLS),
        "call of 50 at once": asyncio.run(at_once()),
        "piece": least(partial(times, client.stream, STREAMS), STREAMS * PIECES),
    }


PAIRS, CALLS_OF_PAIR = 150, 20


def pair_figures() -> dict[str, float]:
    """How many times the CPU of bare httpx a call of ours takes: the median of many pairs."""
    figures = {}
    with served() as url:
        for api in WIRES:
            clients = bare(api, url), ours(api, url)
            for client in clients:
                times(client.call, CALLS)
            pairs = [
                [
                    cpu_us(partial(times, client.call, CALLS_OF_PAIR), CALLS_OF_PAIR)
                    for client in clients
                ]
                for _ in range(PAIRS)
            ]
            figures[api] = median(own / base for base, own in pairs)
    return figures


def least(act: Callable[[], object], units: int) -> float:
    """The least of several: other work on the machine only adds."""
    return min(cpu_us(act, units) for _ in range(BATCHES))


def times(act: Callable[[], object], count: int) -> None:
    """Do it again and again."""
    for _ in range(count):
        act()


def codec_figures() -> dict[str, dict[str, float]]:
    """What it costs to read a streamed piece, without a network, in microseconds."""
    from detent.adapters.providers.anthropic.decode import MessageFold
    from detent.adapters.providers.gemini.decode import GenerateFold
    from detent.adapters.providers.http.answers import Answer
    from detent.adapters.providers.openai.decode import ChatFold

    folds: Mapping[str, Callable[[], Any]] = {
        "openai": ChatFold,
        "anthropic": MessageFold,
        "gemini": GenerateFold,
    }
    figures = {}
    for api, wire in WIRES.items():
        values = [*wire.first, *map(wire.pieces, WORDS), *wire.last]
        events = [event + b"\n\n" for event in wire.stream().split(b"\n\n") if event]
        texts = [json.dumps(wire.pieces(word)) for word in WORDS]
        heard: list[object] = []

        def from_json(values: Iterable[Any] = values, make: Any = folds[api]) -> None:
            fold = make()
            for value in values:
                for piece in fold.add(value):
                    heard.append(piece)  # noqa: B023, PERF402  # it is what a callback does

        def from_bytes(events: Iterable[bytes] = events, make: Any = folds[api]) -> None:
            answer = Answer(make(), "host", redact=str)
            answer.begin(200, {})
            for event in events:
                for piece in answer.feed(event):
                    heard.append(piece)  # noqa: B023, PERF402  # as above

        acts = dict(
            zip(CODEC_COLUMNS, (from_json, from_bytes, partial(decode, texts)), strict=True)
        )
        figures[api] = {
            what: min(cpu_us(act, PIECES) for _ in range(40)) for what, act in acts.items()
        }
    return figures


def codec_table(figures: Mapping[str, Mapping[str, float]]) -> str:
    """The figures of all codecs, as Markdown."""
    lines = [f"| CPU µs for each piece | {' | '.join(CODEC_COLUMNS)} |", "|---|--:|--:|--:|"]
    for api, own in figures.items():
        lines.append(f"| {api} | {' | '.join(f'{figure:.2f}' for figure in own.values())} |")
    return "\n".join(lines)


def decode(texts: Iterable[str]) -> None:
    """What nobody can do without."""
    for text in texts:
        json.loads(text)


def python_of(contender: str, api: str) -> Path:
    """The interpreter that has the contender installed."""
    if contender in {"httpx", "detent"}:
        return Path(sys.executable)
    place = "Scripts" if sys.platform == "win32" else "bin"
    environment = SDK_ENV.format(api) if contender == "sdk" else f"{contender}-{api}"
    return VENVS / environment / place / "python"


def install() -> None:
    """Make the virtual environments of the SDKs."""
    wanted = [("sdk", api, pin) for api, pin in PINS.items()]
    for contender, api, pin in [*wanted, ("pydantic-ai", "openai", PYDANTIC_AI)]:
        python = python_of(contender, api)
        venv.create(python.parent.parent, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", pin], check=True)  # noqa: S603  # ours
        print(f"{api}: installed {pin}")


def call_figures(rounds: int) -> dict[str, dict[str, dict[str, float]]]:
    """The least figures of everybody who is there, by API, measured in turns."""
    figures: dict[str, dict[str, dict[str, float]]] = {}
    with served() as url:
        for api in WIRES:
            there = [one for one in CONTENDERS if python_of(one, api).exists()]
            taken = [{one: run(one, api, url) for one in there} for _ in range(rounds)]
            figures[api] = {one: least_of([figure[one] for figure in taken]) for one in there}
    return figures


@contextmanager
def served() -> Generator[str]:
    """The address of a server in another process."""
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as server:  # noqa: S603  # ours
        assert server.stdout is not None and server.stdin is not None  # noqa: S101, PT018  # for types
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        server.stdin.close()


def least_of(rounds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Each figure's least: other work on the machine only adds."""
    return {what: min(one[what] for one in rounds) for what in rounds[0]}


def call_table(figures: Mapping[str, Mapping[str, float]], api: str) -> str:
    """The figures of one API, as Markdown: CPU, and how many times that of bare httpx it is."""
    base = figures["httpx"]
    lines = [f"| {api}: CPU µs (times httpx) | {' | '.join(base)} |", "|---|--:|--:|--:|"]
    for one, own in figures.items():
        shown = " | ".join(f"{own[what]:,.1f} (x{own[what] / base[what]:.2f})" for what in base)
        lines.append(f"| {one} | {shown} |")
    return "\n".join(lines)


def run(contender: str, api: str, url: str) -> dict[str, float]:
    """The figures of one contender, from a process of its own."""
    command = [str(python_of(contender, api)), __file__, "--measure", contender, api, url]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  # ours
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", action="store_true", help="make the virtual environments")
    parser.add_argument("--codecs", action="store_true", help="only the codecs")
    parser.add_argument("--calls", action="store_true", help="only the calls")
    parser.add_argument("--pairs", action="store_true", help="only the calls, beside httpx")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help="how often each one's turn comes"
    )
    parser.add_argument("--json", action="store_true", help="figures, not tables")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve())
    elif arguments.measure:
        print(json.dumps(measure(*arguments.measure)))
    elif arguments.install:
        install()
    elif arguments.pairs:
        print("\n".join(f"{api}: x{figure:.2f}" for api, figure in pair_figures().items()))
    else:
        if not arguments.calls:
            read = codec_figures()
            print(json.dumps(read) if arguments.json else codec_table(read))
        if not arguments.codecs:
            called = call_figures(arguments.rounds)
            tables = "".join(f"\n{call_table(one, api)}\n" for api, one in called.items())
            print(json.dumps(called) if arguments.json else tables)


if __name__ == "__main__":
    main()
