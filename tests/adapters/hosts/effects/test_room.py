"""What an engine takes at once is bounded: what has happened travels in parts."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from detent import (
    Agent,
    ChatMessage,
    Limits,
    MemoryJournal,
    ScriptedChatGenerator,
    Tool,
    ToolCall,
    tool,
)
from detent.adapters.hosts.effects.bounds import Bound
from detent.adapters.hosts.effects.history import Json, size_of
from detent.approvals import Deny
from detent.journals import Runs
from detent.machine import Failed, Run
from detent.models import ChatReply, Usage
from detent.ports.journal import JournalUnavailableError
from tests.adapters.hosts.effects.played import Stage

ROOM = 4_000
SMALL = 1_500
"""More than what an event has about it, and less than half of the room."""


@tool
def fetch(size: int) -> str:
    """Give a page."""
    return "x" * size


def reader(sizes: list[int], turns: int, **options: Any) -> Agent[Any, Any]:
    """Fetches pages of these sizes, beside each other, again and again."""
    calls = [ToolCall("fetch", {"size": size}) for size in sizes]
    reply = ChatMessage.from_assistant("y" * SMALL, tool_calls=calls)
    script = ScriptedChatGenerator(*[reply] * turns, "Done.")
    return Agent(chat_generator=script, tools=[fetch], **options)


def largest(jobs: list[Json]) -> int:
    """How many bytes of events went with a job that had more than one."""
    return max(size_of(job["events"]) for job in jobs if len(job["events"]) > 1)


@pytest.mark.parametrize("sizes", [[SMALL] * 12, [3 * ROOM, 10, 3 * ROOM, SMALL]])
def test_what_adds_up_is_written_in_parts(sizes: list[int]) -> None:
    """Each job has as much as it may, or one event; the run is the same, and so is a replay."""

    async def main() -> None:
        async with asyncio.timeout(20):
            stage = Stage(reader(sizes, 2), MemoryJournal())
            stage.engine.room = ROOM
            given = await stage.given()
            inside = stage.inside(given)
            assert await inside.follow() is None
            assert largest(stage.engine.jobs) <= ROOM + len(sizes)
            assert Runs(stage.journal, stage.parts["it"].spec).at("r") == inside.run
            assert inside.run.turn == 3
            other, engine = await stage.again(given)
            assert other.run == inside.run
            assert engine.jobs == stage.engine.jobs

    asyncio.run(main())


def test_jobs_that_begin_together_do_not_each_carry_what_is_large() -> None:
    """A reply that fits into one of them is written first, where twenty would carry it."""

    async def main() -> None:
        async with asyncio.timeout(20):
            stage = Stage(reader([1] * 20, 1), MemoryJournal())
            stage.engine.room = ROOM
            assert await stage.inside(await stage.given()).follow() is None
            tools = [job for job in stage.engine.jobs if (job["effect"] or "").startswith("tool/")]
            assert len(tools) == 20
            assert sum(size_of(job["events"]) for job in tools) <= ROOM

    asyncio.run(main())


def test_another_history_is_given_what_is_in_the_journal() -> None:
    """All of it is written by then, also where the run has a limit of time, which is a wait."""

    async def main() -> None:
        async with asyncio.timeout(20):
            agent = reader([SMALL], 3, limits=Limits(max_seconds=9_999))
            stage = Stage(agent, MemoryJournal())
            stage.engine.room, stage.engine.endless = ROOM, ("limit",)
            stage.engine.length_max = 2
            rest: Json | None = await stage.given()
            histories = 0
            while rest is not None:
                rest = await stage.inside(rest).follow()
                histories += 1
                if rest is not None:
                    assert rest["events"] == []
                    assert rest["length"] == len(list(stage.journal.read("r")))
                stage.engine.length_max += 3
            assert histories > 2
            assert Runs(stage.journal, stage.parts["it"].spec).at("r").outcome is not None

    asyncio.run(main())


class Away:
    """A journal that takes nothing behind so many entries, for so many tries."""

    outage_s = 0.0

    def __init__(self, position: int, tries: int) -> None:
        self._journal, self._position, self._tries = MemoryJournal(), position, tries

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def append(self, *given: Any) -> None:
        """As the journal does, once it is back."""
        run_id, entries, *_ = given
        if entries[0].position >= self._position and self._tries:
            self._tries -= 1
            raise JournalUnavailableError(f"away from run {run_id}")
        self._journal.append(*given)


@pytest.mark.parametrize("position", range(1, 6))
def test_what_is_unwritten_does_not_go_with_each_try(position: int) -> None:
    """The engine tries the job again that only writes; an outage adds nothing to its history."""

    async def main(tries: int) -> int:
        async with asyncio.timeout(20):
            stage = Stage(reader([SMALL] * 2, 2), cast(Any, Away(position, tries)))
            stage.engine.room, stage.engine.is_patient = 3 * ROOM, True
            given = await stage.given()
            inside = stage.inside(given)
            assert await inside.follow() is None
            assert Runs(stage.journal, stage.parts["it"].spec).at("r") == inside.run
            other, engine = await stage.again(given)
            assert other.run == inside.run
            assert engine.jobs == stage.engine.jobs
            return sum(size_of(job["events"]) for job in stage.engine.jobs)

    carried = asyncio.run(main(0))
    assert asyncio.run(main(40)) <= 2 * carried + ROOM


@tool
def fail(size: int) -> str:
    """Say at length what is the matter."""
    raise ValueError("x" * size)


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (reader([3 * ROOM], 1), "the tool ran to its end"),
        (
            Agent(
                chat_generator=ScriptedChatGenerator(ToolCall("fail", {"size": 3 * ROOM}), "Done."),
                tools=[fail],
            ),
            "the tool has failed",
        ),
    ],
)
def test_what_a_tool_gives_that_is_too_large_is_said_to_be(
    agent: Agent[Any, Any], said: str
) -> None:
    """The model reads what has become of the call, and of which size it was; nothing runs again."""

    async def main() -> None:
        async with asyncio.timeout(20):
            stage = Stage(agent, MemoryJournal())
            stage.engine.outside.bound = Bound("The engine", ROOM)
            inside = stage.inside(await stage.given())
            assert await inside.follow() is None
            (answer,) = [one for x in inside.run.state.messages for one in x.tool_call_results]
            assert answer.error
            assert said in answer.text
            assert "The engine takes 4,000 of one step at most" in answer.text
            started = [job for job in stage.engine.jobs if (job["effect"] or "").startswith("tool")]
            assert len(started) == 1
            assert max(size_of(job["events"]) for job in stage.engine.jobs) <= ROOM

    asyncio.run(main())


def test_an_answer_that_is_too_large_is_counted() -> None:
    """It was paid for, though the run cannot have it."""

    async def main() -> None:
        async with asyncio.timeout(20):
            reply = ChatReply(ChatMessage.from_assistant("x" * 3 * ROOM), usage=Usage(7, 9_000))
            limits = Limits(max_cost=9.0, price=lambda reply: 2.5)
            agent = Agent(chat_generator=ScriptedChatGenerator(reply), limits=limits)
            stage = Stage(agent, MemoryJournal())
            stage.engine.outside.bound = Bound("The engine", ROOM)
            inside = stage.inside(await stage.given())
            assert await inside.follow() is None
            assert isinstance(inside.run.outcome, Failed)
            assert (inside.run.usage, inside.run.cost) == (Usage(7, 9_000), 2.5)
            assert Runs(stage.journal, stage.parts["it"].spec).at("r") == inside.run

    asyncio.run(main())


def test_a_verdict_that_is_too_large_is_a_fault() -> None:
    """No call is judged by it, and whoever looks at the health is told."""

    def talkative(call: ToolCall, tool: Tool, run: Run[Any]) -> Deny:
        return Deny("x" * 3 * ROOM)

    async def main() -> None:
        async with asyncio.timeout(20):
            rules = {"fetch": talkative}
            stage = Stage(reader([1], 1, confirmation_strategies=rules), MemoryJournal())
            stage.engine.outside.bound = Bound("The engine", ROOM)
            following = asyncio.create_task(stage.inside(await stage.given()).follow())
            while not stage.engine.outside.faults.texts():  # noqa: ASYNC110 - in this loop
                await asyncio.sleep(0)
            following.cancel()
            assert stage.engine.outside.faults.texts() == {"r": "StepTooLargeError"}

    asyncio.run(main())
