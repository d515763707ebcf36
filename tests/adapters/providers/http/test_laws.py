"""Every chat generator over HTTP keeps the laws of the port, with answers that were recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import httpx
import pytest

from detent.adapters.providers.http.generator import HttpChatGenerator
from detent.core.chat.replies import ChatReply
from detent.core.tools.tool import ToolSpec
from detent.ports.laws import check_chat_generator
from tests.adapters.providers.http.generators import READERS, generator
from tests.adapters.providers.http.recorded import Record, body_of, decoded, needs_records, records

pytestmark = needs_records

TOOLS = [ToolSpec("add", "Adds.", {"type": "object"})]
STREAM_PATHS = (":streamGenerateContent", "/converse-stream")
# Records whose pieces are not what they say in the end: several answers in one, one made up, and
# those in which a folder was taken out of what came whole, but not of its pieces.
DIFFERENT = {"2c61028f568037ba", "64c42ef6b23b236d"}
FOLDER_LEFT = '"andbox"'


def answers(name: str, *, stream: bool) -> Iterator[Record]:
    """The records of a file that are answers."""
    for record in records(name):
        if record["stream"] is not stream or record["id"] in DIFFERENT:
            continue
        is_answer = isinstance(decoded(record, READERS[name])[1], ChatReply)
        if is_answer and FOLDER_LEFT not in str(record.get("response_body")):
            yield record


def wants_stream(request: httpx.Request) -> bool:
    """Whether the answer is to come in pieces."""
    by_path = request.url.path.endswith(STREAM_PATHS)
    return by_path or json.loads(request.content).get("stream") is True


def no_route(request: httpx.Request) -> httpx.Response:
    """There is no server."""
    raise httpx.ConnectError("no route")


def clients(play: Callable[[httpx.Request], httpx.Response]) -> dict[str, object]:
    """Clients of both colours whose requests end here."""
    wire = httpx.MockTransport(play)
    return {
        "http_client": httpx.Client(transport=wire),
        "async_http_client": httpx.AsyncClient(transport=wire),
    }


@pytest.mark.parametrize("name", READERS)
def test_a_provider_keeps_the_laws_of_a_chat_generator(name: str) -> None:
    """With pairs of a whole answer and a streamed one."""

    def made(play: Callable[[httpx.Request], httpx.Response]) -> HttpChatGenerator:
        return generator(name, "https://example.org", "", **clients(play))

    for pair in zip(answers(name, stream=False), answers(name, stream=True), strict=False):
        bodies = [body_of(record) for record in pair]

        def answer(request: httpx.Request, bodies: Sequence[bytes] = bodies) -> httpx.Response:
            return httpx.Response(200, content=bodies[wants_stream(request)])

        check_chat_generator(partial(made, answer), tools=TOOLS, unable=partial(made, no_route))
