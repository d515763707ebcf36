"""Two hundred streams at once in one process: each goes on while all the others do."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial

from detent.adapters.providers.openai.chat import OpenAIChatGenerator
from detent.core.chat.messages import ChatMessage
from detent.ports.chat import StreamingChunk

STREAMS, ROUNDS = 200, 3
PATIENCE_S = 60.0
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
PIECE = b'data: {"choices": [{"delta": {"content": "a"}}]}\n\n'
END = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


class Rounds:
    """A server that says the next piece to anybody only when everybody has heard the last one."""

    def __init__(self) -> None:
        self.heard: Counter[int] = Counter()
        self.turn = [asyncio.Event() for _ in range(ROUNDS)]

    def hear(self, stream: int, piece: StreamingChunk) -> None:
        """A piece has come to its callback."""
        self.heard[stream] += bool(piece.content)
        done = min(self.heard.values()) if len(self.heard) == STREAMS else 0
        for turn in self.turn[:done]:
            turn.set()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Speak to one of them."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        writer.write(HEAD)
        for turn in self.turn:
            writer.write(PIECE)
            await turn.wait()
        writer.write(END)
        writer.close()
        await writer.wait_closed()


async def talk() -> list[str | None]:
    """What each stream has said."""
    rounds = Rounds()
    server = await asyncio.start_server(rounds.answer, "127.0.0.1", 0, backlog=STREAMS)
    port = server.sockets[0].getsockname()[1]
    url, asked = f"http://127.0.0.1:{port}", [ChatMessage.from_user("Hi")]
    async with server, OpenAIChatGenerator("m", api_base_url=url, api_key="k") as model:
        calls = [
            model.run_async(asked, streaming_callback=partial(rounds.hear, stream))
            for stream in range(STREAMS)
        ]
        async with asyncio.timeout(PATIENCE_S):
            return [reply.message.text for reply in await asyncio.gather(*calls)]


def test_no_stream_of_two_hundred_starves() -> None:
    """If one had to wait for another's end, none would end."""
    assert asyncio.run(talk()) == ["a" * ROUNDS] * STREAMS
