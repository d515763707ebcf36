"""Following a run: each piece comes as it is said, and nothing twice."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from detent import Agent, MemoryJournal
from detent.adapters.faces.following import Followed, Left, Spoken, follow
from detent.adapters.web import live
from detent.faces import a2a_app, openai_app
from tests.adapters.faces.peers import ANN, PEOPLE, hosting
from tests.adapters.hosts.test_local import Slow


def test_pieces_come_as_they_are_said_and_once() -> None:
    """The first one before the answer is there; whoever comes in its middle hears it as well."""
    slow = Slow()

    async def heard() -> list[list[Followed]]:
        async with (
            hosting(MemoryJournal(), slow=Agent(chat_generator=slow)) as host,
            asyncio.timeout(10),
        ):
            await host.start("slow", "go", run_id="r")
            told: list[list[Followed]] = []
            followers = [follow(host, "r", 1), follow(host, "r", 1)]
            for one in followers:
                told.append([])
                while not told[-1] or not isinstance(told[-1][-1], Spoken):
                    told[-1].append(await anext(one))
            slow.may.set()
            for so_far, one in zip(told, followers, strict=True):
                so_far += [more async for more in one]
            return told

    for told in asyncio.run(heard()):
        assert [one for one in told if isinstance(one, Spoken)] == [
            Spoken("1", "one "),
            Spoken("1", "two"),
        ]
        assert isinstance(told[-1], Left)


SAID: dict[str, Any] = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Go."}]}
SENT = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": SAID}}
CHAT = {"model": "slow", "messages": [{"role": "user", "content": "Go."}]}


@pytest.mark.parametrize(("face", "path"), [("a2a", "/slow"), ("openai", "/v1/chat/completions")])
def test_a_client_that_waits_and_leaves_is_waited_for_no_more(
    face: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on; nothing of the request is held until it ends."""
    monkeypatch.setattr(live, "QUIET_S", 0.01)
    content = json.dumps(SENT if face == "a2a" else CHAT).encode()
    headers = [
        (b"authorization", f"Bearer {ANN}".encode()),
        (b"content-type", b"application/json"),
        (b"a2a-version", b"1.0"),
        (b"host", b"localhost"),
    ]
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers}
    comes = iter([{"type": "http.request", "body": content}])

    async def receive() -> Any:
        return next(comes, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        pass

    async def visit() -> str:
        slow = Slow()
        agents = {"slow": Agent(chat_generator=slow)}
        async with hosting(MemoryJournal(), **agents) as host, asyncio.timeout(5):
            made = openai_app(host, sign_in=PEOPLE)
            app = a2a_app(host, url="http://a", sign_in=PEOPLE) if face == "a2a" else made
            await app({**scope, "query_string": b"", "root_path": ""}, receive, send)
            (run,) = await host.runs()
            slow.may.set()
            return run.status

    assert asyncio.run(visit()) == "running"
