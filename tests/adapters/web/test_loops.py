"""No event loop waits while a page or a text is made of what a model has written."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest
from attrs import evolve

from detent import MemoryJournal
from detent.approvals import PendingCall, Principal, ToolExecutionDecision
from detent.faces import openai_app
from detent.hosts import HostedRun, LocalHost, PendingQuestion
from detent.journals import Entry
from detent.web import web_app
from tests.adapters.faces.peers import PAY, PEOPLE, clerk, peer
from tests.adapters.web.pages import clerk as payer


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


class Read(dict[str, Any]):
    """What an entry says, which knows in which threads it has been looked through."""

    seen: set[int]

    def __getattribute__(self, name: str) -> Any:
        """As of any other one."""
        if name == "values":
            self.seen.add(threading.get_ident())
        return super().__getattribute__(name)


def anybody(decision: ToolExecutionDecision, question: PendingCall) -> Principal | None:
    """Whoever it is, it is the desk."""
    return Principal("the desk")


def test_who_has_decided_is_looked_for_in_a_thread() -> None:
    """All that has happened to a run is looked through, and it may be long."""
    seen = set[int]()

    class Reading(LocalHost):
        async def watch(self, run_id: str, after: int | None = None) -> AsyncGenerator[Any]:
            """What happens, which knows who looks through it."""
            async for told in super().watch(run_id, after):
                if isinstance(told, Entry):
                    data = Read(told.data)
                    data.seen = seen
                    yield evolve(told, data=data)
                else:
                    yield told

    async def visit() -> dict[str, Any]:
        agents = {"clerk": payer([], {"to": "Cy", "amount": 900}, approvers=anybody)}
        async with Reading(agents, MemoryJournal(), look_s=0.05) as host, asyncio.timeout(30):
            await host.start("clerk", "Pay.", run_id="r")
            async for _ in host.watch("r"):
                if await host.pending():
                    break
            (question,) = await host.pending()
            said = {"run_id": "r", "decision": question.call.confirm().to_dict()}
            async with peer(web_app(host, sign_in=PEOPLE)) as client:
                answer: dict[str, Any] = (await client.post("/api/decide", json=said)).json()
        return answer

    assert asyncio.run(visit()) == {"run_id": "r", "by": "the desk", "waits_for": 0}
    assert seen
    assert threading.get_ident() not in seen
