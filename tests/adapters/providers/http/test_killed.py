"""A run that is killed at any moment of an answer in several parts: none is lost, few are repeated.

A process here ends at its n-th step, for every n there is: before a request is sent, after the
server has answered and before the answer is seen, before and after each append to the journal. What
has ended does nothing more; another process, which has only the journal, takes the run up.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import httpx
import pytest
from attrs import define, field

from detent import Agent
from detent.adapters.providers.anthropic.chat import AnthropicChatGenerator
from detent.adapters.providers.http import generator as generators
from detent.adapters.providers.http.generator import HttpChatGenerator
from detent.adapters.providers.openai_responses.chat import OpenAIResponsesChatGenerator
from detent.journals import MemoryJournal
from detent.ports.journal import Checkpoint, Entry
from detent.ports.listing import ALL_RUNS, RunQuery, StoredRun
from tests.adapters.providers.http.test_going_on import response, turn

PARTS = ("I search. ", "I read. ", "Found.")


class Killed(BaseException):
    """The process has ended."""


@define
class Process:
    """It ends at its `last` step."""

    last: int | None = None
    steps: int = 0

    def step(self) -> None:
        """Live on, or not."""
        if self.last is not None and self.steps >= self.last:
            raise Killed
        self.steps += 1


@define
class Kept:
    """A journal that outlives its process, as that sees it."""

    process: Process
    store: MemoryJournal

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """Killed before, or after."""
        self.process.step()
        self.store.append(run_id, entries, checkpoint)
        self.process.step()

    def read(self, run_id: str, start: int = 0) -> Iterable[Entry]:
        """As it is."""
        return self.store.read(run_id, start)

    def checkpoints(self, run_id: str) -> Iterable[Checkpoint]:
        """As they are."""
        return self.store.checkpoints(run_id)

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As they are."""
        return self.store.runs(query)

    def delete(self, run_id: str) -> None:
        """As it is."""
        self.store.delete(run_id)


@define
class Server:
    """Gives the next part to each request, and counts what it was paid for."""

    paid: list[str] = field(factory=list)
    looks: int = 0

    def pauses(self, request: httpx.Request) -> dict[str, Any]:
        """Anthropic: the request tells what it has said so far; each part is paid."""
        said = json.loads(request.content)["messages"][1:]
        part = sum(len(message["content"]) for message in said)
        self.paid.append(PARTS[part])
        return turn(PARTS[part], "end_turn" if part == len(PARTS) - 1 else "pause_turn")

    def works(self, request: httpx.Request) -> dict[str, Any]:
        """The Responses API: who asks pays, who looks does not."""
        if request.method == "POST":
            self.paid.append(f"resp_{len(self.paid) + 1}")
            return response("queued") | {"id": self.paid[-1]}
        self.looks += 1
        asked_for = request.url.path.rpartition("/")[2]
        assert asked_for in self.paid
        done = self.looks >= len(PARTS)
        made = response("completed", "Found.") if done else response("in_progress")
        return made | {"id": asked_for}


def paused(**clients: Any) -> HttpChatGenerator:
    """One that pauses."""
    return AnthropicChatGenerator("m", api_key="k", **clients)


def background(**clients: Any) -> HttpChatGenerator:
    """One that works in the background."""
    options = {"background": True}
    return OpenAIResponsesChatGenerator("m", api_key="k", generation_kwargs=options, **clients)


Answer = Callable[[Server, httpx.Request], dict[str, Any]]
Make = Callable[..., HttpChatGenerator]


@define
class World:
    """A server and a store, which live on, and processes, which do not."""

    make: Make
    answer: Answer
    is_async: bool
    server: Server = field(factory=Server)
    store: MemoryJournal = field(factory=MemoryJournal)

    def lived(self, process: Process) -> str | None:
        """What a process that begins or resumes the run comes to."""

        def handle(request: httpx.Request) -> httpx.Response:
            process.step()
            answered = self.answer(self.server, request)
            process.step()
            return httpx.Response(200, json=answered)

        transport = httpx.MockTransport(handle)
        made = self.make(
            http_client=httpx.Client(transport=transport),
            async_http_client=httpx.AsyncClient(transport=transport),
        )
        agent = Agent(chat_generator=made, journal=Kept(process, self.store))
        is_begun = bool([*self.store.read("r")])
        if self.is_async:
            work = agent.resume_async("r") if is_begun else agent.run_async("Go", run_id="r")
            return asyncio.run(work).text
        return (agent.resume("r") if is_begun else agent.run("Go", run_id="r")).text


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "POLL_S", 0.0)


@pytest.mark.parametrize("is_async", [False, True], ids=["blocking", "async"])
@pytest.mark.parametrize(
    ("make", "answer", "parts"),
    [(paused, Server.pauses, 3), (background, Server.works, 1)],
    ids=["paused", "background"],
)
def test_a_run_that_is_killed_at_any_step_pays_only_what_was_under_way_again(
    make: Make, answer: Answer, parts: int, *, is_async: bool
) -> None:
    """Nothing is lost, and what the journal had is not paid twice."""
    whole = Process()
    undisturbed = World(make, answer, is_async)
    assert undisturbed.lived(whole) == "Found."
    assert len(undisturbed.server.paid) == parts
    assert whole.steps > 4 * parts
    for last in range(whole.steps):
        world = World(make, answer, is_async)
        with pytest.raises(Killed):
            world.lived(Process(last))
        kept = str([entry.text for entry in world.store.read("r")])
        known = [part for part in world.server.paid if part in kept]
        assert world.lived(Process()) == "Found."
        assert len(world.server.paid) <= parts + 1, last
        assert [world.server.paid.count(part) for part in known] == [1] * len(known), last
        replies = str([entry.text for entry in world.store.read("r")])
        assert all(part in replies for part in (PARTS if parts > 1 else ("Found.",))), last


def test_one_that_is_killed_again_and_again_comes_to_its_end() -> None:
    """Each process gets a little further."""
    world = World(background, Server.works, is_async=False)
    for _ in range(50):
        try:
            assert world.lived(Process(5)) == "Found."
        except Killed:
            continue
        break
    else:
        pytest.fail("it does not get further")
    assert len(world.server.paid) == 1
