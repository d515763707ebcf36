"""No event loop waits while a page or a text is made of what a model has written."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve

from detent import MemoryJournal
from detent.approvals import PendingCall
from detent.faces import openai_app
from detent.hosts import HostedRun, LocalHost, PendingQuestion
from detent.web import web_app
from tests.adapters.faces.peers import PAY, PEOPLE, clerk, peer


class Watched:
    """A value that knows in which threads it has been written down."""

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def __repr__(self) -> str:
        self.seen.add(threading.get_ident())
        return "watched"


class Watching(LocalHost):
    """A host of whose questions one knows where they are put into words."""

    watched = Watched()

    def _with(self, call: PendingCall) -> PendingCall:
        return evolve(call, state={"account": self.watched})

    async def run(self, run_id: str, length: int | None = None) -> HostedRun:
        """A run, with what is watched in its questions."""
        hosted = await super().run(run_id, length)
        return evolve(hosted, pending=tuple(map(self._with, hosted.pending)))

    async def pending(self, **wanted: Any) -> Sequence[PendingQuestion]:
        """The same of the questions of all."""
        found = await super().pending(**wanted)
        return [evolve(question, call=self._with(question.call)) for question in found]


CHAT = {"model": "clerk", "messages": [{"role": "user", "content": "Pay."}]}
PATHS = ["/", "", "/question/{}", "/run/{}", "many", "openai", "openai in pieces"]


@pytest.mark.parametrize("path", PATHS)
def test_a_question_is_put_into_words_in_a_thread(path: str) -> None:
    """However long it is: runs, and other people's pages, go on beside it."""

    async def visit() -> tuple[str, set[int]]:
        agents = {"clerk": clerk([], PAY)}
        async with Watching(agents, MemoryJournal(), look_s=0.05) as host, asyncio.timeout(30):
            host.watched.seen.clear()
            if path.startswith("openai"):
                async with peer(openai_app(host, sign_in=PEOPLE)) as client:
                    body = CHAT | {"stream": path != "openai"}
                    text = (await client.post("/v1/chat/completions", json=body)).text
                return text, {*host.watched.seen}
            await host.start("clerk", "Pay.", run_id="r")
            async for _ in host.watch("r"):
                if await host.pending():
                    break
            (question,) = await host.pending()
            digest = question.call.digest
            async with peer(web_app(host), token="") as client:
                if path == "many":
                    token = (await client.get("/")).text.partition('name="csrf" value="')[2]
                    host.watched.seen.clear()
                    form = {"csrf": token.partition('"')[0], "chosen": f"{digest}:r"}
                    text = (await client.post("/decide-many", data=form)).text
                else:
                    name = "r" if "run" in path else f"{digest}/r"
                    text = (await client.get(path.format(name))).text
            return text, {*host.watched.seen}

    text, seen = asyncio.run(visit())
    assert "watched" in text
    assert seen
    assert threading.get_ident() not in seen
